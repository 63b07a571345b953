"""Parameters: the tensors that training changes."""

from __future__ import annotations

import math
from collections.abc import Iterable
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


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All elements of the parameters, one after the other, as one axis; differentiable.

    Raises:
        ValueError: there are no parameters.

    >>> parameters_to_vector([Parameter(engine.ones((2, 3))), Parameter(engine.ones(4))]).shape
    (10,)
    """
    parts = [parameter.reshape((-1,)) for parameter in parameters]
    if not parts:
        raise ValueError("parameters_to_vector: expected one parameter or more")
    return engine.concat(parts)


def vector_to_parameters(vector: Tensor, parameters: Iterable[Tensor]) -> None:
    """Writes the elements of a vector into the parameters: undoes parameters_to_vector.

    Raises:
        ValueError: not as many elements as the parameters have.

    >>> weight = Parameter(engine.zeros((1, 2)))
    >>> vector_to_parameters(engine.asarray([3.0, 4.0]), [weight])
    >>> weight.tolist()
    [[3.0, 4.0]]
    """
    targets = list(parameters)
    total = sum(math.prod(target.shape) for target in targets)
    if vector.shape != (total,):
        raise ValueError(
            f"vector_to_parameters: the vector has shape {vector.shape}, expected ({total},)"
        )
    with engine.no_grad():
        start = 0
        for target in targets:
            end = start + math.prod(target.shape)
            target.copy_(vector.detach()[start:end].reshape(target.shape))
            start = end
