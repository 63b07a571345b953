"""Triangles and diagonals."""

from __future__ import annotations

import numpy as np

import engine
from engine._C import Tensor, dtype
from engine.routines.arguments import at_least_ndim, check_tensor, exactly_ndim, one_axis
from engine.routines.manipulation import moveaxis


def _keep(x: Tensor, mask: np.ndarray) -> Tensor:
    return engine.where(engine.asarray(mask, device=x.device), x, engine.zeros((), dtype=x.dtype))


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Matrices with zeros above diagonal k. Raises ValueError below 2 dimensions.

    >>> engine.tril(engine.asarray([[1, 2], [3, 4]]))
    Tensor([[1, 0],
            [3, 4]], dtype=int64)
    """
    at_least_ndim("tril", x, 2)
    return _keep(x, np.tri(x.shape[-2], x.shape[-1], k, dtype=bool))


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Matrices with zeros below diagonal k. Raises ValueError below 2 dimensions.

    >>> engine.triu(engine.asarray([[1, 2], [3, 4]]))
    Tensor([[1, 2],
            [0, 4]], dtype=int64)
    """
    at_least_ndim("triu", x, 2)
    return _keep(x, ~np.tri(x.shape[-2], x.shape[-1], k - 1, dtype=bool))


def tril_indices(rows: int, columns: int | None = None, k: int = 0) -> Tensor:
    """Positions on and below diagonal k of a matrix: (2, n), rows above columns, int64.

    >>> engine.tril_indices(2)
    Tensor([[0, 1, 1],
            [0, 0, 1]], dtype=int64)
    """
    return engine.asarray(np.array(np.tril_indices(rows, k, columns), np.int64))


def triu_indices(rows: int, columns: int | None = None, k: int = 0) -> Tensor:
    """Positions on and above diagonal k of a matrix: (2, n), rows above columns, int64.

    >>> engine.triu_indices(2)
    Tensor([[0, 0, 1],
            [0, 1, 1]], dtype=int64)
    """
    return engine.asarray(np.array(np.triu_indices(rows, k, columns), np.int64))


def diag_embed(x: Tensor, /, *, offset: int = 0, axis1: int = -2, axis2: int = -1) -> Tensor:
    """The last axis as a diagonal of two new axes, zeros beside it.

    >>> engine.diag_embed(engine.asarray([1, 2]))
    Tensor([[1, 0],
            [0, 2]], dtype=int64)
    """
    at_least_ndim("diag_embed", x, 1)
    first = one_axis("diag_embed", axis1, x.ndim + 1)
    second = one_axis("diag_embed", axis2, x.ndim + 1)
    if first == second:
        raise ValueError(f"diag_embed: axis {first} is named twice")
    n = x.shape[-1]
    size = n + abs(offset)
    row, column = max(0, -offset), max(0, offset)
    at = np.full(size, n)  # the element each row holds, n for none
    at[row : row + n] = np.arange(n)
    padded = engine.concat(
        [x, engine.zeros((*x.shape[:-1], 1), dtype=x.dtype, device=x.device)], axis=-1
    )
    rows = engine.expand_dims(engine.take(padded, engine.asarray(at, device=x.device), axis=-1), -1)
    places = engine.arange(size, device=x.device)
    columns = places - engine.expand_dims(places, -1)
    square = engine.where(columns == column - row, rows, engine.zeros((), dtype=x.dtype))
    return moveaxis(square, (-2, -1), (first, second))


def diag(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Diagonal k of a matrix, as a view; or a matrix with a vector as its diagonal k.

    Raises ValueError for other numbers of dimensions.

    >>> engine.diag(engine.asarray([[1, 2], [3, 4]]))
    Tensor([1, 4], dtype=int64)
    """
    check_tensor("diag", x)
    if x.ndim == 1:
        return diag_embed(x, offset=k)
    exactly_ndim("diag", x, 2)
    return engine.diagonal(x, k)


def diagflat(x: Tensor, /, *, k: int = 0) -> Tensor:
    """A matrix with the flattened elements of x as its diagonal k.

    >>> engine.diagflat(engine.ones((2, 2))).shape
    (4, 4)
    """
    check_tensor("diagflat", x)
    return diag_embed(engine.reshape(x, (-1,)), offset=k)


def trace(x: Tensor, /, *, offset: int = 0, dtype: dtype | None = None) -> Tensor:
    """Sum of a diagonal of the last two axes. Small integers give int64 or uint64.

    Raises ValueError below 2 dimensions.

    >>> engine.trace(engine.asarray([[1, 2], [3, 4]]))
    Tensor(5, dtype=int64)
    """
    at_least_ndim("trace", x, 2)
    return engine.sum(engine.diagonal(x, offset, -2, -1), axis=-1, dtype=dtype)


def vander(x: Tensor, /, n: int | None = None, *, increasing: bool = False) -> Tensor:
    """The Vandermonde matrix of a vector: its powers n - 1 ... 0 as columns, or 0 ... n - 1.

    >>> engine.vander(engine.asarray([2, 3]), 3)
    Tensor([[4, 2, 1],
            [9, 3, 1]], dtype=int64)
    """
    exactly_ndim("vander", x, 1)
    count = x.shape[0] if n is None else n
    if count < 0:
        raise ValueError(f"vander: expected at least 0 columns, got {n}")
    if count == 0:
        return engine.zeros((x.shape[0], 0), dtype=x.dtype, device=x.device)
    powers = [engine.ones_like(x)]
    for _ in range(count - 1):
        powers.append(powers[-1] * x)
    return engine.stack(powers if increasing else powers[::-1], axis=1)
