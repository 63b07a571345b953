"""Cutting tensors apart and putting them together."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

import engine
from engine._C import Tensor
from engine.routines.arguments import at_least_ndim, check_tensor, exactly_ndim, one_axis
from engine.routines.manipulation import atleast_1d, atleast_2d, atleast_3d, meshgrid, narrow


def _cut(x: Tensor, sizes: Sequence[int], axis: int) -> tuple[Tensor, ...]:
    starts = itertools.accumulate(sizes, initial=0)
    return tuple(narrow(x, axis, start, n) for start, n in zip(starts, sizes, strict=False))


def split(x: Tensor, size: int | Sequence[int], axis: int = 0) -> tuple[Tensor, ...]:
    """Views of pieces along an axis: of `size` places each, the last one smaller if need be; or
    of the sizes given, which must add up to the axis.

    >>> [t.shape for t in engine.split(engine.zeros(5), 2)]
    [(2,), (2,), (1,)]
    """
    at_least_ndim("split", x, 1)
    a = one_axis("split", axis, x.ndim)
    n = x.shape[a]
    if isinstance(size, int):
        if size < 1:
            raise ValueError(f"split: pieces need at least one place, got {size}")
        sizes = [min(size, n - i) for i in range(0, n, size)] or [0]
    else:
        sizes = list(size)
        if sum(sizes) != n or any(s < 0 for s in sizes):
            raise ValueError(f"split: sizes {tuple(sizes)} do not fill axis {a} of size {n}")
    return _cut(x, sizes, a)


def chunk(x: Tensor, chunks: int, axis: int = 0) -> tuple[Tensor, ...]:
    """Views of at most `chunks` pieces along an axis, all but the last of equal size.

    >>> [t.shape for t in engine.chunk(engine.zeros(5), 3)]
    [(2,), (2,), (1,)]
    """
    at_least_ndim("chunk", x, 1)
    if chunks < 1:
        raise ValueError(f"chunk: expected at least one piece, got {chunks}")
    n = x.shape[one_axis("chunk", axis, x.ndim)]
    return split(x, max(1, -(-n // chunks)), axis)


def array_split(
    x: Tensor, indices_or_sections: int | Sequence[int], axis: int = 0
) -> tuple[Tensor, ...]:
    """Views of pieces along an axis: a number of them, their sizes as equal as may be; or cut at
    the positions given.

    >>> [t.shape for t in engine.array_split(engine.zeros(5), 3)]
    [(2,), (2,), (1,)]
    """
    at_least_ndim("array_split", x, 1)
    a = one_axis("array_split", axis, x.ndim)
    n = x.shape[a]
    if isinstance(indices_or_sections, int):
        k = indices_or_sections
        if k < 1:
            raise ValueError(f"array_split: expected at least one piece, got {k}")
        return _cut(x, [n // k + (i < n % k) for i in range(k)], a)
    cuts = [slice(p).indices(n)[1] for p in indices_or_sections]
    starts, ends = [0, *cuts], [*cuts, n]
    return tuple(narrow(x, a, s, max(0, e - s)) for s, e in zip(starts, ends, strict=True))


def _check_some(name: str, arrays: Sequence[Tensor]) -> list[Tensor]:
    tensors = list(arrays)
    if not tensors:
        raise ValueError(f"{name}: expected at least one tensor, got none")
    check_tensor(name, *tensors)
    return tensors


def hstack(arrays: Sequence[Tensor], /) -> Tensor:
    """Joined along axis 1; vectors along their only axis.

    >>> engine.hstack([engine.zeros(2), engine.zeros(3)]).shape
    (5,)
    """
    tensors = [atleast_1d(t) for t in _check_some("hstack", arrays)]
    return engine.concat(tensors, axis=0 if tensors[0].ndim == 1 else 1)


def vstack(arrays: Sequence[Tensor], /) -> Tensor:
    """Joined along axis 0; vectors are rows.

    >>> engine.vstack([engine.zeros(3), engine.zeros(3)]).shape
    (2, 3)
    """
    return engine.concat([atleast_2d(t) for t in _check_some("vstack", arrays)], axis=0)


def dstack(arrays: Sequence[Tensor], /) -> Tensor:
    """Joined along axis 2, which vectors and matrices are given.

    >>> engine.dstack([engine.zeros((2, 3)), engine.zeros((2, 3))]).shape
    (2, 3, 2)
    """
    return engine.concat([atleast_3d(t) for t in _check_some("dstack", arrays)], axis=2)


def column_stack(arrays: Sequence[Tensor], /) -> Tensor:
    """Joined along axis 1; vectors are columns.

    >>> engine.column_stack([engine.zeros(3), engine.zeros(3)]).shape
    (3, 2)
    """
    tensors = _check_some("column_stack", arrays)
    columns = [engine.reshape(t, (-1, 1)) if t.ndim < 2 else t for t in tensors]
    return engine.concat(columns, axis=1)


def block_diag(*arrays: Tensor) -> Tensor:
    """Matrices along the diagonal of one, zeros elsewhere. A vector counts as a row.

    >>> engine.block_diag(engine.ones((2, 2)), engine.ones((1, 3))).shape
    (3, 5)
    """
    blocks = [atleast_2d(t) for t in _check_some("block_diag", arrays)]
    for t in blocks:
        exactly_ndim("block_diag", t, 2)
    width = sum(t.shape[1] for t in blocks)
    rows, left = [], 0
    for t in blocks:
        h, w = t.shape
        before = engine.zeros((h, left), dtype=t.dtype, device=t.device)
        after = engine.zeros((h, width - left - w), dtype=t.dtype, device=t.device)
        rows.append(engine.concat([before, t, after], axis=1))
        left += w
    return engine.concat(rows, axis=0)


def cartesian_prod(*arrays: Tensor) -> Tensor:
    """Every choice of one element from each 1-d tensor, a row each, the last varying fastest; for
    a single tensor itself.

    >>> engine.cartesian_prod(engine.asarray([1, 2]), engine.asarray([3, 4])).shape
    (4, 2)
    """
    tensors = _check_some("cartesian_prod", arrays)
    if len(tensors) == 1:
        exactly_ndim("cartesian_prod", tensors[0], 1)
        return tensors[0]
    grid = meshgrid(*tensors, indexing="ij")
    return engine.stack([engine.reshape(t, (-1,)) for t in grid], axis=1)


def combinations(x: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """Every choice of r elements of a 1-d tensor, a row each, in the order of itertools.

    >>> engine.combinations(engine.asarray([1, 2, 3])).shape
    (3, 2)
    """
    exactly_ndim("combinations", x, 1)
    if r < 0:
        raise ValueError(f"combinations: cannot choose {r} elements")
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = np.array(list(choose(range(x.shape[0]), r)), np.int64).reshape(-1, r)
    return x[engine.asarray(rows)]
