"""Norms and distances of vectors."""

from __future__ import annotations

import math

import numpy as np

import engine
from engine import Tensor
from engine.nn.functional.beside import beside_input


def vector_norm(x: Tensor, p: float = 2.0, axis: int = -1, keepdims: bool = False) -> Tensor:
    """|x|_p along an axis; its gradient at 0 is 0.

    >>> vector_norm(engine.asarray([3.0, 4.0]))
    Tensor(5., dtype=float32)
    """
    if p == math.inf:
        return engine.abs(x).max(axis=axis, keepdims=keepdims)
    if p == 1:
        return engine.abs(x).sum(axis=axis, keepdims=keepdims)
    if p == 0:
        return (x != 0).astype(x.dtype).sum(axis=axis, keepdims=keepdims)
    power = engine.square(x) if p == 2 else _power(engine.abs(x), p)
    total = power.sum(axis=axis, keepdims=keepdims)
    # The root's slope at 0 is infinite: take it elsewhere, and 0 there.
    none = total == 0
    safe = engine.where(none, 1.0, total)
    return engine.where(none, 0.0, engine.sqrt(safe) if p == 2 else safe ** (1 / p))


def _power(x: Tensor, p: float) -> Tensor:
    none = x == 0
    return engine.where(none, 0.0, engine.where(none, 1.0, x) ** p)


def cosine_similarity(x1: Tensor, x2: Tensor, axis: int = 1, eps: float = 1e-8) -> Tensor:
    """x1 . x2 / (max(|x1|, eps) max(|x2|, eps)) along an axis, with broadcasting.

    >>> cosine_similarity(engine.asarray([[1.0, 0.0]]), engine.asarray([[2.0, 0.0]])).tolist()
    [1.0]
    """
    if x1.shape != x2.shape:
        shape = np.broadcast_shapes(x1.shape, x2.shape)
        x1, x2 = engine.broadcast_to(x1, shape), engine.broadcast_to(x2, shape)
    first = engine.maximum(vector_norm(x1, 2.0, axis, True), eps)
    second = engine.maximum(vector_norm(x2, 2.0, axis, True), eps)
    return ((x1 / first) * (x2 / second)).sum(axis=axis)


def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """|x1 - x2 + eps|_p along the last axis, with broadcasting.

    >>> pairwise_distance(engine.asarray([[0.0, 0.0]]), engine.asarray([[3.0, 4.0]])).shape
    (1,)
    """
    return vector_norm(x1 - x2 + eps, p, -1, keepdim)


@beside_input
def pdist(x: Tensor, p: float = 2.0) -> Tensor:
    """Distances |x_i - x_j|_p of all pairs i < j of the rows of x (N, D): (N (N - 1) / 2,).

    Raises:
        ValueError: x is not a matrix.

    >>> pdist(engine.asarray([[0.0, 0.0], [3.0, 4.0], [0.0, 0.0]])).tolist()
    [5.0, 0.0, 5.0]
    """
    if x.ndim != 2:
        raise ValueError(f"pdist: x has shape {x.shape}, expected (N, D)")
    i, j = (engine.asarray(k) for k in np.triu_indices(x.shape[0], 1))
    return vector_norm(engine.take(x, i, axis=0) - engine.take(x, j, axis=0), p)
