"""What the layers of losses share."""

from __future__ import annotations

from collections.abc import Sequence

from engine.nn.functional.loss import REDUCTIONS
from engine.nn.functional.sizes import check_one_of
from engine.nn.module import Module


class Loss(Module):
    """A layer whose result is reduced: ValueError for a reduction that is none of those allowed."""

    def __init__(self, reduction: str, allowed: Sequence[str] = REDUCTIONS) -> None:
        super().__init__()
        check_one_of(type(self).__name__, "reduction", reduction, allowed)
        self.reduction = reduction

    def extra_repr(self) -> str:
        return f"reduction={self.reduction!r}"
