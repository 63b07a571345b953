"""The LU factorisation."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import engine
from engine._C import Tensor
from engine.autograd import Function
from engine.routines.lapack import adjoint, matrices


class LU(NamedTuple):
    P: Tensor
    L: Tensor
    U: Tensor


def _eliminate(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian elimination with partial pivoting of a batch (b, m, n): factors in one array, and
    the order of the rows."""
    a = a.copy()
    b, m, n = a.shape
    order = np.tile(np.arange(m), (b, 1))
    batch = np.arange(b)
    for j in range(min(m, n)):
        pivot = j + np.abs(a[:, j:, j]).argmax(axis=1)
        for t in (a, order):
            t[batch, j], t[batch, pivot] = t[batch, pivot], t[batch, j].copy()
        top = a[:, j, j][:, None]
        # A column of zeros is eliminated already.
        factor = np.where(top == 0, 0, a[:, j + 1 :, j] / np.where(top == 0, 1, top))
        a[:, j + 1 :, j] = factor
        a[:, j + 1 :, j + 1 :] -= factor[:, :, None] * a[:, j, None, j + 1 :]
    return a, order


class _Factors(Function):
    """L and U of square matrices that need no exchange of rows: dA = L^-H (tril(L^H dL) + triu(dU
    U^H)) U^-H, without the diagonal of the first (F. de Hoog, R. Anderssen and M. Lukas,
    "Differentiation of matrix functionals using triangular factorization", 2011)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, packed: np.ndarray) -> tuple[Tensor, Tensor]:
        n = x.shape[-1]
        lower = engine.asarray(np.tril(packed, -1) + np.eye(n, dtype=packed.dtype))
        upper = engine.asarray(np.triu(packed))
        ctx.save_for_backward(lower, upper)
        return lower, upper

    @staticmethod
    def backward(ctx: Any, gl: Tensor, gu: Tensor) -> tuple[Tensor, None]:
        lower, upper = ctx.saved_tensors
        lh = adjoint(lower)
        inside = engine.tril(engine.matmul(lh, gl), k=-1)
        inside = inside + engine.triu(engine.matmul(gu, adjoint(upper)))
        left = engine.linalg.solve(lh, inside)
        return adjoint(engine.linalg.solve(upper, adjoint(left))), None


def lu(x: Tensor, /) -> LU:
    """(P, L, U) with x = P L U for matrices (..., m, n), k = min(m, n): P (..., m, m) permutes,
    L (..., m, k) lower triangular with ones on its diagonal, U (..., k, n) upper triangular.

    The gradient needs the first k columns, after the exchange of rows, to be independent.

    >>> engine.linalg.lu(engine.asarray([[0.0, 2.0], [1.0, 0.0]])).U
    Tensor([[1., 0.],
            [0., 2.]], dtype=float32)
    """
    wide = matrices("lu", x)
    *batch, m, n = wide.shape
    k = min(m, n)
    packed, order = _eliminate(wide.detach().numpy().reshape(-1, m, n))
    packed, order = packed.reshape(*batch, m, n), order.reshape(*batch, m)
    rows = engine.asarray(order)
    exchanged = engine.take_along_axis(wide, engine.expand_dims(rows, -1), axis=-2)
    square = np.ascontiguousarray(packed[..., :k, :k])
    lower, upper = _Factors.apply(exchanged[..., :k, :k], square)
    if n > k:
        rest = engine.linalg.solve_triangular(lower, exchanged[..., :, k:])
        upper = engine.concat([upper, rest], axis=-1)
    elif m > k:
        if wide.requires_grad and engine.is_grad_enabled():
            below = adjoint(engine.linalg.solve(adjoint(upper), adjoint(exchanged[..., k:, :])))
        else:  # which also knows matrices of less than full rank
            below = engine.asarray(np.ascontiguousarray(packed[..., k:, :]))
        lower = engine.concat([lower, below], axis=-2)
    p = (engine.expand_dims(engine.arange(m), -1) == engine.expand_dims(rows, -2)).astype(x.dtype)
    return LU(p, lower.astype(x.dtype), upper.astype(x.dtype))
