"""Parameters: the tensors that training changes."""

from __future__ import annotations

from typing import Any

import engine
from engine import Tensor


class Parameter(Tensor):
    """A tensor that a Module counts as its own: it is saved, moved and trained with it.

    Args:
        data: tensor, numpy array or nested list. A tensor's memory is shared, not copied.
        requires_grad: whether backward() fills `.grad`; floating-point dtypes only.

    >>> weight = Parameter(engine.zeros((2, 3)))
    >>> weight.requires_grad
    True
    """

    def __init__(self, data: Any, requires_grad: bool = True) -> None:
        super().__init__(data if isinstance(data, Tensor) else engine.asarray(data))
        self.requires_grad = requires_grad

    def __repr__(self) -> str:
        return super().__repr__().replace("Tensor(", "Parameter(", 1)

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        copied = type(self)(self.detach().clone(), self.requires_grad)
        memo[id(self)] = copied
        return copied
