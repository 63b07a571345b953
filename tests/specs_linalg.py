"""Op specs of linear algebra and Fourier transforms."""

from __future__ import annotations

import numpy as np

from tests.op_specs import FLOAT32_64, Op, real, s

BOTH = FLOAT32_64
DOUBLE = ("float64",)


def well(*shape: int) -> np.ndarray:
    """Square matrices far from singular, their eigenvalues and singular values apart."""
    n = shape[-1]
    return real(*shape, low=-0.4, high=0.4) + np.diag(np.arange(1.0, n + 1))


def symmetric(*shape: int) -> np.ndarray:
    x = well(*shape)
    return (x + np.swapaxes(x, -1, -2)) / 2


def positive(*shape: int) -> np.ndarray:
    x = well(*shape)
    return x @ np.swapaxes(x, -1, -2)


def tall(m: int, n: int, *batch: int) -> np.ndarray:
    """Singular values near 1, 2, 3, ...: apart, so that finite steps do not exchange them."""
    x = real(*batch, m, n, low=-0.2, high=0.2)
    for i in range(min(m, n)):
        x[..., i, i] += i + 1
    return x


NOT_SQUARE = ((np.ones((2, 3)),), ValueError, r"square matrices, got shape \(2, 3\)")
VECTOR = ((np.ones(3),), ValueError, "2 dimensions")
INTEGERS = ((np.ones((2, 2), np.int64),), TypeError, "floating-point dtype, got int64")
SINGULAR = ((np.ones((2, 2)),), ValueError, "singular")


def _symmetric_part(function):
    return lambda x, *args, **kwargs: function((x + np.swapaxes(x, -1, -2)) / 2, *args, **kwargs)


def _matrix_exp(x):
    y, term = np.eye(x.shape[-1]) + 0 * x, np.eye(x.shape[-1]) + 0 * x
    for k in range(1, 60):
        term = term @ x / k
        y = y + term
    return y


def _vector_norm(x, axis=None, keepdims=False, ord=2):
    return np.linalg.vector_norm(x, axis=axis, keepdims=keepdims, ord=ord)


def _triangular(a, b, upper=False):
    return np.linalg.solve(np.triu(a) if upper else np.tril(a), b)


def _cholesky_solve(b, factor, upper=False):
    factor = np.triu(factor).T if upper else np.tril(factor)
    return np.linalg.solve(factor @ factor.T, b)


FACTORISATIONS = [
    Op("linalg.cholesky", _symmetric_part(np.linalg.cholesky),
       [s(positive(3, 3)), s(positive(2, 4, 4), upper=True), s(np.zeros((0, 2, 2)))], BOTH,
       errors=[NOT_SQUARE, VECTOR, INTEGERS, ((-np.eye(2),), ValueError, "positive definite")]),
    Op("linalg.eigh", _symmetric_part(np.linalg.eigh),
       [s(symmetric(3, 3)), s(symmetric(2, 4, 4)), s(np.zeros((2, 0, 0)))], DOUBLE,
       errors=[NOT_SQUARE, INTEGERS]),
    Op("linalg.eigvalsh", _symmetric_part(np.linalg.eigvalsh),
       [s(symmetric(3, 3)), s(symmetric(2, 4, 4))], BOTH, errors=[NOT_SQUARE]),
    Op("linalg.qr", np.linalg.qr, [s(tall(4, 3)), s(tall(3, 3, 2)), s(tall(2, 4)),
                                   s(tall(3, 5), mode="complete"), s(np.zeros((3, 0)))], DOUBLE,
       errors=[VECTOR, INTEGERS]),
    Op("linalg.qr", np.linalg.qr, [s(tall(4, 2), mode="complete")], DOUBLE, grad=False),
    Op("linalg.svd", np.linalg.svd, [s(tall(3, 3)), s(tall(4, 2), full_matrices=False),
                                     s(tall(2, 4, 2), full_matrices=False)], DOUBLE,
       errors=[VECTOR, INTEGERS]),
    Op("linalg.svd", np.linalg.svd, [s(tall(4, 2)), s(tall(2, 4, 2))], DOUBLE, grad=False),
    Op("linalg.svdvals", np.linalg.svdvals, [s(tall(4, 3)), s(tall(2, 3, 2)), s(np.zeros((0, 2)))],
       BOTH, errors=[VECTOR]),
]  # fmt: skip


def _lu(x):
    """Doolittle's algorithm, a matrix at a time."""
    if x.ndim > 2:
        return tuple(np.stack(t) for t in zip(*(_lu(m) for m in x), strict=True))
    m, n = x.shape
    k = min(m, n)
    order, a = list(range(m)), x.copy()
    for j in range(k):
        best = max(range(j, m), key=lambda i: abs(a[i, j]))
        a[[j, best]], order[j], order[best] = a[[best, j]], order[best], order[j]
        for i in range(j + 1, m):
            a[i, j] /= a[j, j]
            a[i, j + 1 :] -= a[i, j] * a[j, j + 1 :]
    return np.eye(m)[:, order], (np.tril(a, -1) + np.eye(m, n))[:, :k], np.triu(a)[:k]


FACTORISATIONS += [
    Op("linalg.lu", _lu, [s(well(3, 3)), s(well(2, 3, 3)), s(tall(4, 2)), s(tall(2, 4)),
                          s(well(3, 3)[::-1].copy())], BOTH, errors=[VECTOR, INTEGERS]),
]  # fmt: skip

SOLVING = [
    Op("linalg.inv", np.linalg.inv, [s(well(3, 3)), s(well(2, 2, 4, 4)), s(np.zeros((0, 3, 3)))],
       BOTH, errors=[NOT_SQUARE, INTEGERS, SINGULAR]),
    Op("linalg.solve", np.linalg.solve,
       [s(well(3, 3), real(3)), s(well(2, 3, 3), real(3, 2)), s(well(3, 3), real(2, 3, 2)),
        s(well(2, 3, 3), real(3)), s(well(3, 3), real(3, 0))], BOTH,
       errors=[((np.eye(2), np.ones(3)), ValueError, "do not fit"),
               ((np.ones((2, 2)), np.ones(2)), ValueError, "singular"),
               ((np.ones((2, 2, 2)), np.ones((3, 2, 2))), ValueError, "do not broadcast")]),
    Op("linalg.solve_triangular", _triangular,
       [s(well(3, 3), real(3)), s(well(3, 3), real(3, 2), upper=True)], BOTH),
    Op("linalg.cholesky_solve", _cholesky_solve,
       [s(real(3), well(3, 3)), s(real(3, 2), well(3, 3), upper=True)], BOTH),
    Op("linalg.det", np.linalg.det, [s(well(3, 3)), s(well(2, 4, 4)), s(np.zeros((0, 0)))], BOTH,
       errors=[NOT_SQUARE, INTEGERS]),
    Op("linalg.det", np.linalg.det, [s(np.diag([2.0, 0.0, 3.0])), s(np.zeros((2, 2)))], DOUBLE),
    Op("linalg.slogdet", np.linalg.slogdet, [s(well(3, 3)), s(well(2, 4, 4) * -1)], BOTH,
       errors=[NOT_SQUARE]),
    Op("linalg.pinv", np.linalg.pinv, [s(tall(4, 2)), s(tall(2, 4, 2)), s(tall(3, 3))], BOTH,
       errors=[VECTOR]),
    Op("linalg.lstsq", lambda a, b: np.linalg.pinv(a) @ b,
       [s(tall(4, 2), real(4)), s(tall(2, 3), real(2, 2))], BOTH,
       errors=[((np.ones((2, 2)), np.ones(3)), ValueError, "do not fit")]),
]  # fmt: skip

A = real(2, 3, 4)
MATRICES = [
    Op("linalg.cross", lambda a, b, axis=-1: np.linalg.cross(a, b, axis=axis),
       [s(real(3), real(3)), s(real(2, 3), real(3)), s(real(3, 4), real(3, 4), axis=0)], BOTH,
       errors=[((np.ones(2), np.ones(2)), ValueError, "vectors of 3")]),
    Op("linalg.vector_norm", _vector_norm,
       [s(A), s(A, axis=1), s(A, axis=(0, 2), keepdims=True), s(np.zeros(3)),
        *(s(real(3, 4), axis=1, ord=o) for o in (1, 3, 0.5, np.inf, -np.inf, -1))], BOTH,
       errors=[((np.ones(2, np.int64),), TypeError, "int64")]),
    Op("linalg.vector_norm", _vector_norm, [s(A, axis=1, ord=0)], BOTH, grad=False),
    Op("linalg.matrix_norm", lambda x, keepdims=False, ord="fro": np.linalg.matrix_norm(
        x, keepdims=keepdims, ord=ord),
       [s(A), *(s(tall(3, 2), ord=o) for o in ("nuc", 1, -1, 2, -2, np.inf, -np.inf)),
        s(A, keepdims=True), s(tall(3, 2), ord="nuc", keepdims=True)], BOTH, errors=[VECTOR]),
    Op("linalg.norm", lambda x, axis=None, keepdims=False, ord=None: np.linalg.norm(
        x, ord, axis, keepdims),
       [s(A), s(A, axis=1), s(A, axis=1, ord=1), s(A, axis=(0, 2), ord="fro", keepdims=True),
        s(real(3, 2), ord=1)], BOTH),
    Op("linalg.matrix_power", np.linalg.matrix_power,
       [s(well(3, 3), n) for n in (0, 1, 2, 5, -1, -3)], BOTH,
       errors=[((np.ones((2, 3)), 2), ValueError, "square")]),
    Op("linalg.matrix_rank", lambda x: np.linalg.matrix_rank(x),
       [s(np.ones((3, 3))), s(well(2, 3, 3)), s(np.zeros((2, 3)))], BOTH, grad=False),
    Op("linalg.cond", lambda x, ord=None: np.linalg.cond(x, ord),
       [s(tall(3, 3)), s(tall(3, 3), ord=1), s(tall(3, 3), ord="fro")], BOTH),
    Op("linalg.multi_dot", np.linalg.multi_dot,
       [s([real(3, 4), real(4, 2), real(2, 5)]), s([real(3), real(3, 4), real(4, 2), real(2)])],
       BOTH),
    Op("linalg.matrix_exp", _matrix_exp, [s(well(3, 3)), s(real(2, 3, 3)), s(np.zeros((2, 2)))],
       BOTH, errors=[NOT_SQUARE]),
]  # fmt: skip

SHIFTS = [
    Op("fft.fftshift", lambda x, axes=None: np.fft.fftshift(x, axes),
       [s(A), s(A, axes=1), s(A, axes=(0, 2))], BOTH),
    Op("fft.ifftshift", lambda x, axes=None: np.fft.ifftshift(x, axes),
       [s(A), s(A, axes=1), s(A, axes=(0, 2))], BOTH),
    Op("fft.fftfreq", lambda n, d=1.0: np.fft.fftfreq(n, d), [s(4), s(5, d=0.5)], ("float32",),
       grad=False, errors=[((0,), ValueError, "at least one")]),
    Op("fft.rfftfreq", lambda n, d=1.0: np.fft.rfftfreq(n, d), [s(4), s(5, d=0.5)], ("float32",),
       grad=False, errors=[((0,), ValueError, "at least one")]),
]  # fmt: skip

OPS = [*FACTORISATIONS, *SOLVING, *MATRICES, *SHIFTS]
OTHERWISE_TESTED: dict[str, set[str]] = {
    "tests/engine/test_fft.py": {
        "fft.fft", "fft.ifft", "fft.fftn", "fft.ifftn", "fft.rfft", "fft.irfft", "fft.rfftn",
        "fft.irfftn", "fft.hfft", "fft.ihfft",
    },
    "tests/engine/test_linalg.py": {"linalg.eig", "linalg.eigvals"},
}  # fmt: skip
