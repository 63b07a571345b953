"""Shapes, joins and choices with the signatures of the array API standard.

The work is native; these are functions of Python so that help() and inspect show their arguments.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine import _C
from engine._C import Tensor


def permute_dims(x: Tensor, /, axes: Sequence[int]) -> Tensor:
    """The axes of ``x`` in another order, as a view. Raises ValueError unless each is named once.

    >>> engine.permute_dims(engine.zeros((2, 3)), (1, 0)).shape
    (3, 2)
    """
    return _C.permute_dims(x, axes)


def expand_dims(x: Tensor, /, axis: int = 0) -> Tensor:
    """``x`` with a new axis of size 1, as a view. Raises IndexError for a place beyond the axes.

    >>> engine.expand_dims(engine.zeros((2, 3)), axis=1).shape
    (2, 1, 3)
    """
    return _C.expand_dims(x, axis)


def squeeze(x: Tensor, /, axis: int | Sequence[int] | None = None) -> Tensor:
    """``x`` without the axes named, or without every axis of size 1, as a view. Raises ValueError
    for an axis of another size.

    >>> engine.squeeze(engine.zeros((1, 3, 1)), axis=0).shape
    (3, 1)
    """
    return _C.squeeze(x, axis)


def concat(arrays: Sequence[Tensor], /, axis: int | None = 0) -> Tensor:
    """Tensors joined along an axis they have, or flattened first if it is None, in the promoted
    dtype; gradients go to each. Raises ValueError where shapes differ along another axis.

    >>> engine.concat([engine.zeros((2, 3)), engine.ones((1, 3))]).shape
    (3, 3)
    """
    return _C.concat(arrays, axis)


def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Tensor:
    """The elements of ``x`` at integer positions along an axis, which a 1-d tensor need not name;
    gradients of repeated ones add up. Raises IndexError for a position out of range.

    >>> engine.take(engine.asarray([5, 6, 7]), engine.asarray([2, 0])).tolist()
    [7, 5]
    """
    return _C.take(x, indices, axis=axis)


def where(condition: Tensor, x1: Tensor | complex, x2: Tensor | complex, /) -> Tensor:
    """``x1`` where the bool tensor ``condition`` holds, else ``x2``; all three broadcast, and one
    of ``x1``, ``x2`` may be a Python number. Raises TypeError for a condition of another dtype.

    >>> engine.where(engine.asarray([True, False]), engine.asarray([1, 2]), 0).tolist()
    [1, 0]
    """
    return _C.where(condition, x1, x2)
