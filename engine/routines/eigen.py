"""Eigenvalues and singular values."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import engine
from engine._C import Tensor
from engine.autograd import Function
from engine.routines.arguments import is_complex
from engine.routines.lapack import (
    adjoint,
    call,
    diag_matrix,
    differences,
    matrices,
    real,
    square,
    tensor,
)


class Eigen(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor


class SVD(NamedTuple):
    U: Tensor
    S: Tensor
    Vh: Tensor


class _Eigh(Function):
    """dA = V (diag(dw) + (V^H dV) * F) V^H, F[i, j] = 1 / (w[j] - w[i]) off the diagonal (M. Giles,
    "An extended collection of matrix derivative results", 2008, section 3.1)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> tuple[Tensor, Tensor]:
        w, v = (tensor(a) for a in call("eigh", np.linalg.eigh, x))
        ctx.save_for_backward(w, v)
        return w, v

    @staticmethod
    def backward(ctx: Any, gw: Tensor, gv: Tensor) -> Tensor:
        w, v = ctx.saved_tensors
        inside = diag_matrix(gw) + differences(w) * engine.matmul(adjoint(v), gv)
        return engine.matmul(v, engine.matmul(inside, adjoint(v)))


def _hermitian(name: str, x: Tensor) -> Tensor:
    x = square(name, x)
    return (x + adjoint(x)) / 2.0


def eigh(x: Tensor, /) -> Eigen:
    """(eigenvalues, eigenvectors) of symmetric or Hermitian matrices (..., n, n): rising values
    (..., n), and vectors of length 1 as columns. Of another matrix, the mean with its adjoint
    counts.

    Vectors have gradients where their eigenvalue is single. Raises ValueError if not square.

    >>> engine.linalg.eigh(engine.eye(2)).eigenvalues
    Tensor([1., 1.], dtype=float32)
    """
    w, v = _Eigh.apply(_hermitian("eigh", x))
    return Eigen(w.astype(real(x).dtype), v.astype(x.dtype))


def eigvalsh(x: Tensor, /) -> Tensor:
    """Rising eigenvalues of symmetric or Hermitian matrices (..., n, n): (..., n).

    >>> engine.linalg.eigvalsh(engine.eye(2))
    Tensor([1., 1.], dtype=float32)
    """
    return _Eigh.apply(_hermitian("eigvalsh", x))[0].astype(real(x).dtype)


class _Eig(Function):
    """dA = V^-H (diag(dw) + (V^H dV - V^H V diag(Re(V^H dV))) * conj(F)) V^H (Boeddeker et al.,
    "On the computation of complex-valued gradients", arXiv:1701.00392, 4.77)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> tuple[Tensor, Tensor]:
        w, v = (tensor(a) for a in call("eig", np.linalg.eig, x))
        ctx.save_for_backward(w, v)
        return w, v

    @staticmethod
    def backward(ctx: Any, gw: Tensor, gv: Tensor) -> Tensor:
        w, v = ctx.saved_tensors
        vh = adjoint(v)
        inner = engine.matmul(vh, gv)
        scale = engine.expand_dims(real(engine.diagonal(inner, 0, -2, -1)), -2)
        inner = inner - engine.matmul(vh, v) * scale
        inside = diag_matrix(gw) + engine.conj(differences(w)) * inner
        return engine.linalg.solve(vh, engine.matmul(inside, vh))


def eig(x: Tensor, /) -> Eigen:
    """(eigenvalues, eigenvectors) of square matrices (..., n, n): complex (..., n) and (..., n, n),
    vectors of length 1 as columns, in no particular order.

    Vectors have gradients where the loss does not depend on their phase and their eigenvalue is
    single.

    >>> engine.linalg.eig(engine.eye(2)).eigenvalues.shape
    (2,)
    """
    x = square("eig", x)
    wide = engine.complex128 if x.dtype in (engine.float64, engine.complex128) else engine.complex64
    return Eigen(*_Eig.apply(x.astype(wide)))


def eigvals(x: Tensor, /) -> Tensor:
    """Eigenvalues of square matrices (..., n, n): complex, in no particular order.

    >>> engine.linalg.eigvals(engine.eye(2)).shape
    (2,)
    """
    return eig(x).eigenvalues


class _Svd(Function):
    """The reduced factorisation (J. Townsend, "Differentiating the singular value decomposition",
    2016; for complex matrices Wan and Zhang, arXiv:1909.02659)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> tuple[Tensor, ...]:
        out = tuple(tensor(a) for a in call("svd", np.linalg.svd, x, full_matrices=False))
        ctx.save_for_backward(*out)
        return out

    @staticmethod
    def backward(ctx: Any, gu: Tensor, gs: Tensor, gvh: Tensor) -> Tensor:
        u, s, vh = ctx.saved_tensors
        v, gv, uh = adjoint(vh), adjoint(gvh), adjoint(u)
        row, column = engine.expand_dims(s, -2), engine.expand_dims(s, -1)
        f = differences(s * s)
        at_u, at_v = engine.matmul(uh, gu), engine.matmul(vh, gv)
        inside = (f * (at_u - adjoint(at_u))) * row + column * (f * (at_v - adjoint(at_v)))
        inside = inside + diag_matrix(gs)
        inverse = engine.where(s > 0, 1.0 / engine.where(s > 0, s, 1.0), engine.zeros_like(s))
        if is_complex(u.dtype):
            # What turns the phase of u and v together is no change; what turns them apart is.
            phase = engine.diagonal(at_u - adjoint(at_u), 0, -2, -1)
            inside = inside + diag_matrix(phase * (0.5 * inverse))
        g = engine.matmul(u, engine.matmul(inside, vh))
        across = engine.expand_dims(inverse, -2)
        if u.shape[-2] > s.shape[-1]:
            rest = gu - engine.matmul(u, at_u)
            g = g + engine.matmul(rest * across, vh)
        if v.shape[-2] > s.shape[-1]:
            rest = gv - engine.matmul(v, at_v)
            g = g + engine.matmul(u, adjoint(rest * across))
        return g


def svd(x: Tensor, /, *, full_matrices: bool = True) -> SVD:
    """(U, S, Vh) with x = U diag(S) Vh for matrices (..., m, n): U (..., m, m), S (..., k) falling
    with k = min(m, n), Vh (..., n, n); U (..., m, k) and Vh (..., k, n) if not full_matrices.

    Vectors have gradients where their singular value is single; those beyond k have none.

    >>> engine.linalg.svd(engine.ones((2, 3)), full_matrices=False).S.shape
    (2,)
    """
    wide = matrices("svd", x)
    u, s, vh = _Svd.apply(wide)
    m, n = wide.shape[-2:]
    if full_matrices and m != n:
        full = call("svd", np.linalg.svd, wide, full_matrices=True)
        if m > n:
            u = engine.concat([u, tensor(full[0][..., n:])], axis=-1)
        else:
            vh = engine.concat([vh, tensor(full[2][..., m:, :])], axis=-2)
    return SVD(u.astype(x.dtype), s.astype(real(x).dtype), vh.astype(x.dtype))


def svdvals(x: Tensor, /) -> Tensor:
    """Singular values of matrices (..., m, n), falling: (..., min(m, n)).

    >>> engine.linalg.svdvals(engine.ones((2, 3))).shape
    (2,)
    """
    return _Svd.apply(matrices("svdvals", x))[1].astype(real(x).dtype)
