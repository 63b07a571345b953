"""How tensors are kept between forward and backward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine import _C
from engine._C import Tensor
from engine.mode import Mode


class saved_tensors_hooks(Mode):  # noqa: N801 - the field's name for it
    """Inside, whatever an operation saves for its backward is kept as `pack(tensor)`.

    Leaves that require gradients are kept as they are: they live anyway.

    Args:
        pack: gets a tensor without history; returns anything: a copy in half precision, a path.
        unpack: gets that back in the backward pass; returns a tensor of the same shape and dtype.

    >>> x = engine.ones(2)
    >>> x.requires_grad = True
    >>> with engine.autograd.saved_tensors_hooks(lambda t: t.numpy().copy(), engine.asarray):
    ...     y = engine.exp(x * 2.0)
    """

    def __init__(self, pack: Callable[[Tensor], Any], unpack: Callable[[Any], Tensor]) -> None:
        super().__init__()
        self._functions = (pack, unpack)

    def _switch(self) -> Any:
        return _C._set_saved_hooks(self._functions)

    def _put_back(self, before: Any) -> None:
        _C._set_saved_hooks(before)
