"""Finding positions, and the largest or smallest few."""

from __future__ import annotations

from typing import NamedTuple

import engine
from engine import _C
from engine._C import Tensor
from engine.routines.arguments import Axes, check_tensor, exactly_ndim


class ValuesIndices(NamedTuple):
    """Elements, and where along the axis they were."""

    values: Tensor
    indices: Tensor


def searchsorted(
    x1: Tensor, x2: Tensor | float, /, *, side: str = "left", sorter: Tensor | None = None
) -> Tensor:
    """Where the elements of x2 would be inserted into the sorted vector x1: the first place that
    keeps the order for side "left", the last for "right". int64, of x2's shape.

    Args:
        sorter: positions that sort x1, if it is not sorted.

    >>> engine.searchsorted(engine.asarray([1, 3, 5]), engine.asarray([3, 6]))
    Tensor([1, 3], dtype=int64)
    """
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side is {side!r}; expected 'left' or 'right'")
    check_tensor("searchsorted", x1)
    if sorter is not None:
        x1 = engine.take(x1, sorter)
    wanted = x2 if isinstance(x2, Tensor) else engine.asarray(x2, dtype=x1.dtype)
    return _C._searchsorted(x1, wanted, side == "right")


def bucketize(x: Tensor, boundaries: Tensor, *, right: bool = False) -> Tensor:
    """The number of the bucket each element of x falls into: bucket i holds boundaries[i - 1] < x
    <= boundaries[i], or with right=True boundaries[i - 1] <= x < boundaries[i].

    >>> engine.bucketize(engine.asarray([1.0, 2.5]), engine.asarray([1.0, 2.0]))
    Tensor([0, 2], dtype=int64)
    """
    return searchsorted(boundaries, x, side="right" if right else "left")


def digitize(x: Tensor, bins: Tensor, *, right: bool = False) -> Tensor:
    """numpy's digitize: bin i holds bins[i - 1] <= x < bins[i], or with right=True bins[i - 1] < x
    <= bins[i]. bins rise or fall.

    >>> engine.digitize(engine.asarray([1.0, 2.5]), engine.asarray([1.0, 2.0]))
    Tensor([1, 2], dtype=int64)
    """
    check_tensor("digitize", x, bins)
    exactly_ndim("digitize", bins, 1)
    if bins.shape[0] > 1 and bool(bins[0] > bins[-1]):
        found = searchsorted(engine.flip(bins), x, side="left" if right else "right")
        return bins.shape[0] - found
    return searchsorted(bins, x, side="left" if right else "right")


def count_nonzero(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """How many elements are not zero, along the axes named or all. int64.

    >>> engine.count_nonzero(engine.asarray([0, 1, 2]))
    Tensor(2, dtype=int64)
    """
    check_tensor("count_nonzero", x)
    return engine.sum(x != 0, axis=axis, keepdims=keepdims, dtype=engine.int64)


def argwhere(x: Tensor, /) -> Tensor:
    """Positions of the nonzero elements, a row each: (n, ndim), int64.

    >>> engine.argwhere(engine.asarray([0, 5]))
    Tensor([[1]], dtype=int64)
    """
    check_tensor("argwhere", x)
    if x.ndim == 0:
        return engine.zeros((int(bool(x != 0)), 0), dtype=engine.int64)
    return engine.stack(list(engine.nonzero(x)), axis=1)


def topk(x: Tensor, k: int, axis: int = -1, *, largest: bool = True) -> ValuesIndices:
    """(values, indices) of the k largest or smallest elements along an axis, best first; of equal
    ones the first. NaN counts as the largest.

    Raises ValueError if the axis holds fewer than k.

    >>> engine.topk(engine.asarray([1, 3, 2]), 2).values
    Tensor([3, 2], dtype=int64)
    """
    check_tensor("topk", x)
    return ValuesIndices(*_C._topk(x, k, axis, largest))


def kthvalue(x: Tensor, k: int, axis: int = -1, *, keepdims: bool = False) -> ValuesIndices:
    """(value, index) of the k-th smallest element along an axis, counting from 1.

    >>> engine.kthvalue(engine.asarray([1, 3, 2]), 2).values
    Tensor(2, dtype=int64)
    """
    check_tensor("kthvalue", x)
    if k < 1:
        raise ValueError(f"kthvalue: k counts from 1, got {k}")
    values, indices = _C._topk(x, k, axis, False)
    last = engine.narrow(values, axis, k - 1, 1), engine.narrow(indices, axis, k - 1, 1)
    return ValuesIndices(*(t if keepdims else engine.squeeze(t, axis) for t in last))


def sort_with_indices(x: Tensor, axis: int = -1, *, descending: bool = False) -> ValuesIndices:
    """(values, indices): the elements in order along an axis, and the positions they had. Stable;
    NaN counts as the largest.

    >>> engine.sort_with_indices(engine.asarray([3, 1])).indices
    Tensor([1, 0], dtype=int64)
    """
    check_tensor("sort_with_indices", x)
    return ValuesIndices(*_C._sort_with_indices(x, axis, descending))
