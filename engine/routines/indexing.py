"""Picking and placing elements by position or mask."""

from __future__ import annotations

import numpy as np

import engine
from engine._C import Tensor
from engine.routines.arguments import check_tensor, exactly_ndim, one_axis


def _spread(name: str, x: Tensor, indices: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    """x and indices, each broadcast to the other off the axis."""
    check_tensor(name, x, indices)
    if x.ndim != indices.ndim:
        raise ValueError(
            f"{name}: indices of shape {indices.shape} and a tensor of shape {x.shape} differ in "
            "their number of dimensions"
        )
    a = one_axis(name, axis, x.ndim)
    rest_x, rest_i = list(x.shape), list(indices.shape)
    rest_x[a] = rest_i[a] = 1
    try:
        rest = list(np.broadcast_shapes(rest_x, rest_i))
    except ValueError:
        raise ValueError(
            f"{name}: indices of shape {indices.shape} and a tensor of shape {x.shape} do not "
            f"broadcast outside axis {a}"
        ) from None
    wide_x, wide_i = list(rest), list(rest)
    wide_x[a], wide_i[a] = x.shape[a], indices.shape[a]
    return engine.broadcast_to(x, wide_x), engine.broadcast_to(indices, wide_i)


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """Elements of x at positions of their own in each row along an axis: y[i, j] =
    x[i, indices[i, j]] for axis 1. x and indices broadcast outside the axis.

    Raises IndexError for a position out of range, TypeError unless indices are integers.

    >>> x = engine.asarray([[3, 1, 2]])
    >>> engine.take_along_axis(x, engine.argsort(x))
    Tensor([[1, 2, 3]], dtype=int64)
    """
    wide, at = _spread("take_along_axis", x, indices, axis)
    return engine.gather(wide, axis, at)


def put_along_axis(x: Tensor, indices: Tensor, values: Tensor, /, *, axis: int = -1) -> Tensor:
    """A copy of x with values put where take_along_axis would pick: y[i, indices[i, j]] =
    values[i, j] for axis 1. values is a tensor that broadcasts to indices, or a number; of equal
    positions the last one stays.

    >>> engine.put_along_axis(engine.zeros((1, 3)), engine.asarray([[2]]), 5.0)
    Tensor([[0., 0., 5.]], dtype=float32)
    """
    wide, at = _spread("put_along_axis", x, indices, axis)
    if isinstance(values, Tensor):
        values = engine.broadcast_to(values, at.shape)
    return engine.scatter(wide, axis, at, values)


def _rows(name: str, x: Tensor, axis: int, index: Tensor) -> tuple[int, Tensor]:
    """The axis, and a vector of positions along it spread over all others."""
    check_tensor(name, x, index)
    exactly_ndim(name, index, 1)
    a = one_axis(name, axis, x.ndim)
    shape = list(x.shape)
    shape[a] = index.shape[0]
    at = engine.reshape(index, [-1 if d == a else 1 for d in range(x.ndim)])
    return a, engine.broadcast_to(at, shape)


def index_select(x: Tensor, axis: int, index: Tensor) -> Tensor:
    """The slices of x at the positions of a vector along an axis.

    >>> engine.index_select(engine.asarray([[1, 2], [3, 4]]), 0, engine.asarray([1, 1])).shape
    (2, 2)
    """
    check_tensor("index_select", x, index)
    exactly_ndim("index_select", index, 1)
    return engine.take(x, index, axis=axis)


def _source(name: str, source: Tensor, shape: tuple[int, ...]) -> Tensor:
    check_tensor(name, source)
    if source.shape != shape:
        raise ValueError(f"{name}: expected a source of shape {shape}, got {source.shape}")
    return source


def index_add(x: Tensor, axis: int, index: Tensor, source: Tensor, *, alpha: float = 1) -> Tensor:
    """A copy of x with alpha * source added to its slices at the positions of a vector; equal
    positions add up, in order.

    >>> engine.index_add(engine.zeros(2), 0, engine.asarray([1, 1]), engine.ones(2))
    Tensor([0., 2.], dtype=float32)
    """
    a, at = _rows("index_add", x, axis, index)
    source = _source("index_add", source, at.shape)
    return engine.scatter_add(x, a, at, source if alpha == 1 else source * alpha)


def index_copy(x: Tensor, axis: int, index: Tensor, source: Tensor) -> Tensor:
    """A copy of x with the slices at the positions of a vector replaced; of equal positions the
    last one stays.

    >>> engine.index_copy(engine.zeros(2), 0, engine.asarray([1]), engine.ones(1))
    Tensor([0., 1.], dtype=float32)
    """
    a, at = _rows("index_copy", x, axis, index)
    return engine.scatter(x, a, at, _source("index_copy", source, at.shape))


def index_fill(x: Tensor, axis: int, index: Tensor, value: float) -> Tensor:
    """A copy of x with one value in the slices at the positions of a vector.

    >>> engine.index_fill(engine.zeros(2), 0, engine.asarray([1]), 3.0)
    Tensor([0., 3.], dtype=float32)
    """
    a, at = _rows("index_fill", x, axis, index)
    return engine.scatter(x, a, at, value)


def masked_fill(x: Tensor, mask: Tensor, value: float | Tensor) -> Tensor:
    """x with `value`, a number or a 0-d tensor, where mask holds. mask is bool and broadcasts
    with x.

    >>> engine.masked_fill(engine.asarray([1.0, 2.0]), engine.asarray([True, False]), 0.0)
    Tensor([0., 2.], dtype=float32)
    """
    check_tensor("masked_fill", x, mask)
    if isinstance(value, Tensor):
        if value.ndim:
            raise ValueError(f"masked_fill: expected a single value, got shape {value.shape}")
        value = value.astype(x.dtype)
    return engine.where(mask, value, x)


def masked_select(x: Tensor, mask: Tensor) -> Tensor:
    """The elements of x where mask holds, in reading order, as a vector. x and mask broadcast.

    >>> engine.masked_select(engine.asarray([1, 2]), engine.asarray([False, True]))
    Tensor([2], dtype=int64)
    """
    check_tensor("masked_select", x, mask)
    if mask.dtype != engine.bool:
        raise TypeError(f"masked_select: the mask must be bool, got {mask.dtype}")
    x, mask = engine.broadcast_arrays(x, mask)
    return x[mask]
