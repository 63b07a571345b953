"""Linear equations, inverses, and the factorisations behind them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import engine
from engine._C import Tensor
from engine.autograd import Function
from engine.routines.arguments import is_complex
from engine.routines.lapack import adjoint, call, diag_matrix, matrices, real, square, tensor


class QR(NamedTuple):
    Q: Tensor
    R: Tensor


class SlogDet(NamedTuple):
    sign: Tensor
    logabsdet: Tensor


class _Inv(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = tensor(call("inv", np.linalg.inv, x))
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (y,) = ctx.saved_tensors
        yh = adjoint(y)
        return -engine.matmul(yh, engine.matmul(g, yh))


def inv(x: Tensor, /) -> Tensor:
    """Inverses of square matrices (..., n, n). Raises ValueError for a singular one.

    >>> engine.linalg.inv(engine.asarray([[2.0]]))
    Tensor([[0.5]], dtype=float32)
    """
    return _Inv.apply(square("inv", x)).astype(x.dtype)


class _Solve(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        x = tensor(call("solve", np.linalg.solve, a, b))
        ctx.save_for_backward(a, x)
        return x

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, Tensor]:
        a, x = ctx.saved_tensors
        gb = _Solve.apply(adjoint(a), g)
        return -engine.matmul(gb, adjoint(x)), gb


def _with_batch(name: str, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    try:
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        raise ValueError(
            f"{name}: batches of shapes {a.shape[:-2]} and {b.shape[:-2]} do not broadcast"
        ) from None
    return (
        engine.broadcast_to(a, (*batch, *a.shape[-2:])),
        engine.broadcast_to(b, (*batch, *b.shape[-2:])),
    )


def _sides(name: str, x1: Tensor, x2: Tensor) -> tuple[Tensor, Tensor, Any]:
    """Both with 2 dimensions at least and one dtype, and the dtype of the result."""
    if not isinstance(x2, Tensor):
        raise TypeError(f"{name}: expected an engine.Tensor, got {type(x2).__name__}")
    a = square(name, x1)
    dtype = engine.promote_types(x1.dtype, x2.dtype)
    b = engine.expand_dims(x2, -1) if x2.ndim == 1 else x2
    b = matrices(name, b)
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(f"{name}: matrices {x1.shape} and right-hand sides {x2.shape} do not fit")
    common = engine.promote_types(a.dtype, b.dtype)
    return *_with_batch(name, a.astype(common), b.astype(common)), dtype


def solve(x1: Tensor, x2: Tensor, /) -> Tensor:
    """x with x1 x = x2, for square matrices x1 (..., n, n) and x2 (n,) or (..., n, k). Raises
    ValueError for a singular matrix.

    >>> engine.linalg.solve(engine.asarray([[2.0]]), engine.asarray([4.0]))
    Tensor([2.], dtype=float32)
    """
    a, b, dtype = _sides("solve", x1, x2)
    y = _Solve.apply(a, b).astype(dtype)
    return engine.squeeze(y, -1) if x2.ndim == 1 else y


def solve_triangular(x1: Tensor, x2: Tensor, /, *, upper: bool = False) -> Tensor:
    """x with x1 x = x2, where only the lower (or upper) triangle of x1 is read.

    >>> engine.linalg.solve_triangular(engine.eye(2), engine.ones(2))
    Tensor([1., 1.], dtype=float32)
    """
    square("solve_triangular", x1)
    return solve(engine.triu(x1) if upper else engine.tril(x1), x2)


class _Cholesky(Function):
    """dA = L^-H phi(L^H dL) L^-1, symmetrised; phi takes the lower triangle, half the diagonal
    (I. Murray, arXiv:1602.07527)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        factor = tensor(call("cholesky", np.linalg.cholesky, x))
        ctx.save_for_backward(factor)
        return factor

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (factor,) = ctx.saved_tensors
        lh = adjoint(factor)
        product = engine.tril(engine.matmul(lh, g))
        half = engine.diagonal(product, 0, -2, -1) * 0.5
        phi = product - diag_matrix(half)
        left = engine.linalg.solve(lh, phi)
        full = adjoint(engine.linalg.solve(lh, adjoint(left)))
        return (full + adjoint(full)) * 0.5


def cholesky(x: Tensor, /, *, upper: bool = False) -> Tensor:
    """The lower triangular L with x = L L^H, or the upper U with x = U^H U, of positive definite
    matrices. Of a matrix that is not symmetric (Hermitian) the mean with its adjoint counts.

    Raises ValueError if x is not positive definite.

    >>> engine.linalg.cholesky(engine.asarray([[4.0]]))
    Tensor([[2.]], dtype=float32)
    """
    wide = square("cholesky", x)
    factor = _Cholesky.apply((wide + adjoint(wide)) / 2.0).astype(x.dtype)
    return adjoint(factor) if upper else factor


def cholesky_solve(x2: Tensor, factor: Tensor, /, *, upper: bool = False) -> Tensor:
    """x with A x = x2, from a Cholesky factor of A.

    >>> engine.linalg.cholesky_solve(engine.ones(2), engine.eye(2))
    Tensor([1., 1.], dtype=float32)
    """
    if upper:
        factor = adjoint(square("cholesky_solve", factor))
    half = solve_triangular(factor, x2)
    return solve_triangular(adjoint(factor), half, upper=True)


class _SlogDet(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> tuple[Tensor, Tensor]:
        sign, log = (tensor(a) for a in call("slogdet", np.linalg.slogdet, x))
        ctx.save_for_backward(x, sign)
        return sign, log

    @staticmethod
    def backward(ctx: Any, gs: Tensor, gl: Tensor) -> Tensor:
        x, sign = ctx.saved_tensors
        factor = gl
        if is_complex(x.dtype):
            turn = engine.imag(engine.conj(gs) * sign)
            factor = gl - turn * engine.asarray(1j, dtype=x.dtype)
        return engine.reshape(factor, (*factor.shape, 1, 1)) * adjoint(inv(x))


def slogdet(x: Tensor, /) -> SlogDet:
    """(sign, logabsdet) with det = sign * exp(logabsdet), for square matrices: no overflow where
    the determinant has one.

    >>> engine.linalg.slogdet(engine.eye(2)).logabsdet
    Tensor(0., dtype=float32)
    """
    sign, log = _SlogDet.apply(square("slogdet", x))
    return SlogDet(sign.astype(x.dtype), log.astype(real(x).dtype))


def _cofactors(x: Tensor) -> Tensor:
    """The gradient of det: det times the transposed inverse, which exists without an inverse. With
    x = U S V: det(U) det(V) U cof(S) V, cof(S)[i] the product of the other singular values."""
    u, s, vh = engine.linalg.svd(x, full_matrices=False)
    n = s.shape[-1]
    others = [engine.prod(engine.concat([s[..., :i], s[..., i + 1 :]], axis=-1), axis=-1)
              for i in range(n)]  # fmt: skip
    turned = det(u) * det(vh)
    middle = diag_matrix(engine.stack(others, axis=-1))
    product = engine.matmul(u, engine.matmul(middle, vh))
    turned = engine.conj(turned) if is_complex(turned.dtype) else turned
    return product * engine.reshape(turned, (*turned.shape, 1, 1))


class _Det(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = tensor(call("det", np.linalg.det, x))
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        x, y = ctx.saved_tensors
        wide = engine.reshape(g, (*g.shape, 1, 1))
        if bool(engine.any(y == 0)):
            return wide * _cofactors(x)
        y = engine.conj(y) if is_complex(y.dtype) else y
        return wide * engine.reshape(y, (*y.shape, 1, 1)) * adjoint(inv(x))


def det(x: Tensor, /) -> Tensor:
    """Determinants of square matrices (..., n, n).

    >>> engine.linalg.det(engine.asarray([[2.0, 0.0], [0.0, 3.0]]))
    Tensor(6., dtype=float32)
    """
    return _Det.apply(square("det", x)).astype(x.dtype)


class _QR(Function):
    """For at least as many rows as columns: dA = (dQ + Q copyltu(R dR^H - dQ^H Q)) R^-H (Roberts
    and Roberts, arXiv:2009.10071)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> tuple[Tensor, Tensor]:
        q, r = (tensor(a) for a in call("qr", np.linalg.qr, x))
        ctx.save_for_backward(q, r)
        return q, r

    @staticmethod
    def backward(ctx: Any, gq: Tensor, gr: Tensor) -> Tensor:
        q, r = ctx.saved_tensors
        inner = engine.matmul(r, adjoint(gr)) - engine.matmul(adjoint(gq), q)
        lower = engine.tril(inner, k=-1)
        middle = real(engine.diagonal(inner, 0, -2, -1)).astype(inner.dtype)
        mirrored = lower + adjoint(lower) + diag_matrix(middle)
        # X R^-H is the adjoint of R^-1 X^H.
        return adjoint(engine.linalg.solve(r, adjoint(gq + engine.matmul(q, mirrored))))


def qr(x: Tensor, /, *, mode: str = "reduced") -> QR:
    """(Q, R) with x = Q R for matrices (..., m, n), k = min(m, n): Q (..., m, k) with orthonormal
    columns and R (..., k, n) upper triangular; Q (..., m, m), R (..., m, n) for mode "complete",
    whose columns of Q beyond n have no gradient.

    The gradient needs the first k columns to be independent.

    >>> engine.linalg.qr(engine.ones((3, 2))).R.shape
    (2, 2)
    """
    if mode not in ("reduced", "complete"):
        raise ValueError(f"qr: mode is {mode!r}; expected 'reduced' or 'complete'")
    wide = matrices("qr", x)
    m, n = wide.shape[-2:]
    q, r = _QR.apply(wide[..., :, :m])
    if m < n:
        r = engine.concat([r, engine.matmul(adjoint(q), wide[..., :, m:])], axis=-1)
    elif mode == "complete" and m > n:
        full = tensor(call("qr", np.linalg.qr, wide, mode="complete")[0][..., n:])
        q = engine.concat([q, full], axis=-1)
        r = engine.concat([r, engine.zeros((*wide.shape[:-2], m - n, n), dtype=r.dtype)], axis=-2)
    return QR(q.astype(x.dtype), r.astype(x.dtype))


class _Pinv(Function):
    """Golub and Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares
    problems whose variables separate", 1973."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, rtol: Any) -> Tensor:
        p = tensor(call("pinv", np.linalg.pinv, x, **({} if rtol is None else {"rcond": rtol})))
        ctx.save_for_backward(x, p)
        return p

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None]:
        x, p = ctx.saved_tensors
        ph, gh = adjoint(p), adjoint(g)
        first = engine.matmul(ph, engine.matmul(g, ph))
        second = engine.matmul(gh, engine.matmul(p, ph))
        second = second - engine.matmul(x, engine.matmul(p, second))
        third = engine.matmul(ph, engine.matmul(p, gh))
        third = third - engine.matmul(engine.matmul(third, p), x)
        return second + third - first, None


def pinv(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """The Moore-Penrose inverse of matrices (..., m, n): (..., n, m). Singular values up to rtol
    times the largest count as 0.

    Args:
        rtol: max(m, n) times the dtype's precision by default.

    >>> engine.linalg.pinv(engine.ones((2, 1))).shape
    (1, 2)
    """
    wide = matrices("pinv", x)
    limit = rtol.detach().numpy() if isinstance(rtol, Tensor) else rtol
    if limit is None:
        limit = max(wide.shape[-2:]) * float(np.finfo(real(wide).detach().numpy().dtype).eps)
    return _Pinv.apply(wide, limit).astype(x.dtype)


def lstsq(x1: Tensor, x2: Tensor, /, *, rtol: float | None = None) -> Tensor:
    """The shortest x that makes |x1 x - x2| smallest, for x1 (..., m, n) and x2 (m,) or
    (..., m, k).

    >>> engine.linalg.lstsq(engine.ones((2, 1)), engine.asarray([1.0, 3.0])).shape
    (1,)
    """
    a = matrices("lstsq", x1)
    b = engine.expand_dims(x2, -1) if x2.ndim == 1 else x2
    if a.shape[-2] != b.shape[-2]:
        raise ValueError(f"lstsq: matrices {x1.shape} and right-hand sides {x2.shape} do not fit")
    y = engine.matmul(pinv(a, rtol=rtol), b).astype(engine.promote_types(x1.dtype, x2.dtype))
    return engine.squeeze(y, -1) if x2.ndim == 1 else y
