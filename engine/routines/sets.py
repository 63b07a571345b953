"""Distinct elements."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import engine
from engine import _C
from engine._C import Tensor
from engine.routines.arguments import check_tensor, is_complex


class UniqueAll(NamedTuple):
    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    values: Tensor
    inverse_indices: Tensor


class _Groups(NamedTuple):
    flat: Tensor
    order: Tensor  # positions in order of value
    first: Tensor  # whether an element of that order differs from the one before


def _groups(name: str, x: Tensor) -> _Groups:
    check_tensor(name, x)
    flat = engine.reshape(x, (-1,))
    if is_complex(x.dtype):
        order = engine.asarray(np.argsort(flat.detach().numpy(), kind="stable"))
    else:
        order = engine.argsort(flat)
    ordered = flat.detach()[order]
    n = flat.shape[0]
    start = engine.ones(min(n, 1), dtype=engine.bool, device=x.device)
    return _Groups(flat, order, engine.concat([start, ordered[1:] != ordered[:-1]]))


def _values(g: _Groups) -> tuple[Tensor, Tensor]:
    """The first occurrences, and their positions."""
    at = g.order[g.first]
    return g.flat[at], at


def _inverse(g: _Groups, shape: tuple[int, ...]) -> Tensor:
    number = engine.cumsum(g.first, 0, dtype=engine.int64) - 1
    at = engine.scatter(engine.zeros_like(number), 0, g.order, number)
    return engine.reshape(at, shape)


def _counts(g: _Groups) -> Tensor:
    starts = engine.nonzero(g.first)[0]
    n = engine.full(1, g.flat.shape[0], dtype=engine.int64, device=g.flat.device)
    return engine.concat([starts[1:], n])[: starts.shape[0]] - starts


def unique_all(x: Tensor, /) -> UniqueAll:
    """(values, indices, inverse_indices, counts): the distinct elements in order, where each is
    first found in the flattened x, which of them each element of x is, and how often they occur.
    Every NaN counts as distinct.

    >>> engine.unique_all(engine.asarray([2, 1, 2])).counts
    Tensor([1, 2], dtype=int64)
    """
    g = _groups("unique_all", x)
    return UniqueAll(*_values(g), _inverse(g, x.shape), _counts(g))


def unique_counts(x: Tensor, /) -> UniqueCounts:
    """(values, counts): the distinct elements in order, and how often they occur.

    >>> engine.unique_counts(engine.asarray([2, 1, 2])).values
    Tensor([1, 2], dtype=int64)
    """
    g = _groups("unique_counts", x)
    return UniqueCounts(_values(g)[0], _counts(g))


def unique_inverse(x: Tensor, /) -> UniqueInverse:
    """(values, inverse_indices): the distinct elements in order, and which of them each element
    of x is.

    >>> engine.unique_inverse(engine.asarray([2, 1, 2])).inverse_indices
    Tensor([1, 0, 1], dtype=int64)
    """
    g = _groups("unique_inverse", x)
    return UniqueInverse(_values(g)[0], _inverse(g, x.shape))


def unique_values(x: Tensor, /) -> Tensor:
    """The distinct elements in order, as a vector. Every NaN counts as distinct.

    >>> engine.unique_values(engine.asarray([2, 1, 2]))
    Tensor([1, 2], dtype=int64)
    """
    return _values(_groups("unique_values", x))[0]


def unique_consecutive(x: Tensor, /) -> UniqueAll:
    """As unique_all, but only neighbours of the flattened x are compared: each run of equal
    elements counts as one.

    >>> engine.unique_consecutive(engine.asarray([1, 1, 2, 1])).values
    Tensor([1, 2, 1], dtype=int64)
    """
    check_tensor("unique_consecutive", x)
    flat = engine.reshape(x, (-1,))
    plain = flat.detach()
    n = flat.shape[0]
    start = engine.ones(min(n, 1), dtype=engine.bool, device=x.device)
    places = engine.arange(n, device=x.device)
    g = _Groups(flat, places, engine.concat([start, plain[1:] != plain[:-1]]))
    return UniqueAll(*_values(g), _inverse(g, x.shape), _counts(g))


def isin(x1: Tensor, x2: Tensor, /, *, invert: bool = False) -> Tensor:
    """Whether each element of x1 is an element of x2; bool, of x1's shape. NaN is in nothing.

    >>> engine.isin(engine.asarray([1, 2]), engine.asarray([2, 3]))
    Tensor([False,  True], dtype=bool)
    """
    check_tensor("isin", x1, x2)
    common = engine.promote_types(x1.dtype, x2.dtype)
    x1, x2 = x1.astype(common), x2.astype(common)
    members = engine.sort(engine.reshape(x2.detach(), (-1,)))
    n = members.shape[0]
    if n == 0:
        found = engine.zeros(x1.shape, dtype=engine.bool, device=x1.device)
    else:
        at = engine.searchsorted(members, x1.detach())
        found = engine.take(members, engine.reshape(engine.clip(at, 0, n - 1), (-1,)))
        found = engine.reshape(found, x1.shape) == x1.detach()
    return engine.logical_not(found) if invert else found


def bincount(x: Tensor, /, weights: Tensor | None = None, *, minlength: int = 0) -> Tensor:
    """How often each of 0, 1, ... occurs in a vector of integers that are not negative; int64. With
    weights the sum of each number's weights, in their dtype and differentiable in them.

    >>> engine.bincount(engine.asarray([0, 2, 2]))
    Tensor([1, 0, 2], dtype=int64)
    """
    counts = _C._bincount(x, minlength)
    if weights is None:
        return counts
    check_tensor("bincount", weights)
    if weights.shape != x.shape:
        raise ValueError(f"bincount: weights of shape {weights.shape} for x of shape {x.shape}")
    return engine.scatter_add(
        engine.zeros(counts.shape, dtype=weights.dtype, device=x.device), 0, x, weights
    )
