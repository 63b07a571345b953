"""Op specs of contractions, distances and sampled functions."""

from __future__ import annotations

import numpy as np

from tests.op_specs import FLOAT32_64, Op, real, s

BOTH = FLOAT32_64


def _cdist(x, y, p=2.0):
    apart_by = np.abs(x[..., :, None, :] - y[..., None, :, :])
    return np.linalg.norm(apart_by, p, -1)


def _scaled(product):
    return lambda x, a, b, alpha=1, beta=1: beta * x + alpha * product(a, b)


A, B = real(3, 4), real(4, 2)
PRODUCTS = [
    Op("tensordot", lambda a, b, axes=2: np.tensordot(a, b, axes),
       [s(real(2, 3, 4), real(3, 4, 2)), s(A, B, axes=1), s(A, B, axes=0),
        s(real(2, 3, 4), real(4, 2, 3), axes=((0, 1), (1, 2))), s(real(0, 2), real(2, 3), axes=1)],
       BOTH, errors=[((np.ones((2, 3)), np.ones((3, 2))), ValueError, "do not fit")]),
    Op("vecdot", lambda a, b, axis=-1: np.vecdot(a, b, axis=axis),
       [s(real(3, 4), real(4)), s(real(3, 4), real(3, 4), axis=0), s(real(0), real(0))], BOTH,
       errors=[((np.ones(2), np.ones(3)), ValueError, "size 2")]),
    Op("outer", np.outer, [s(real(3), real(2, 2))], BOTH),
    Op("inner", np.inner, [s(real(2, 3), real(4, 3)), s(real(), real(3))], BOTH),
    Op("dot", np.dot, [s(A, B), s(real(3), real(3)), s(real(), real(3)), s(A, real(2, 4, 3))],
       BOTH),
    Op("mv", np.matmul, [s(A, real(4))], BOTH,
       errors=[((np.ones(2), np.ones(2)), ValueError, "2 dimensions")]),
    Op("mm", np.matmul, [s(A, B)], BOTH,
       errors=[((np.ones(2), np.ones((2, 2))), ValueError, "2 dimensions")]),
    Op("bmm", np.matmul, [s(real(2, 3, 4), real(2, 4, 2))], BOTH,
       errors=[((np.ones((1, 2, 2)), np.ones((2, 2, 2))), ValueError, "1 and 2 matrices")]),
    Op("addmm", _scaled(np.matmul), [s(real(2), A, B), s(real(3, 2), A, B, alpha=2.0, beta=0.5)],
       BOTH),
    Op("addmv", _scaled(np.matmul), [s(real(3), A, real(4))], BOTH),
    Op("baddbmm", _scaled(np.matmul), [s(real(2), real(2, 3, 4), real(2, 4, 2))], BOTH),
    Op("kron", np.kron, [s(real(2, 3), real(3, 2)), s(real(2), real(2, 3))], BOTH),
    Op("einsum", lambda eq, *a: np.einsum(eq, *a), [
        s("ij,jk->ik", A, B), s("bij,bjk->bik", real(2, 3, 4), real(2, 4, 2)), s("ii", real(3, 3)),
        s("ii->i", real(3, 3)), s("ij->ji", A), s("ij->", A), s("i,j->ij", real(3), real(2)),
        s("...i,...i->...", real(2, 3, 4), real(3, 4)), s("ij,jk,kl->il", A, B, real(2, 3)),
        s("ij,ij->i", A, A + 1), s("iji->j", real(2, 3, 2)), s("ij,kj", A, real(5, 4)),
        s("b...,b->...", real(2, 3), real(2)), s("ij,jk->ik", real(0, 4), B)], BOTH,
       errors=[(("ij,jk", np.ones((2, 3))), ValueError, "2 terms for 1"),
               (("ij", np.ones(2)), ValueError, "does not fit"),
               (("i,i", np.ones(2), np.ones(3)), ValueError, "sizes"),
               (("i->j", np.ones(2)), ValueError, "invents")]),
    Op("cdist", _cdist, [s(real(3, 4), real(2, 4)), s(real(2, 3, 2), real(2, 5, 2), p=1.0),
                         s(real(3, 4), real(2, 4), p=3.0), s(real(3, 4), real(2, 4), p=np.inf)],
       BOTH, errors=[((np.ones((2, 3)), np.ones((2, 4))), ValueError, "3 and 4")]),
    Op("pairwise_distance", lambda x, y, p=2.0, eps=1e-6, keepdims=False: np.linalg.norm(
        x - y + eps, p, -1, keepdims), [s(real(3, 4), real(3, 4)), s(real(3, 4), real(4), p=1.0,
                                                                     keepdims=True)], BOTH),
    Op("interp", np.interp, [s(np.array([-1.0, 0.1, 0.6, 1.7, 9.0]), np.array([0.0, 0.5, 1.0, 2.0]),
                               real(4)),
                             s(real(2, 3), np.array([0.0, 0.7]), real(2), left=5.0, right=6.0)],
       BOTH, errors=[((np.ones(2), np.ones(2), np.ones(3)), ValueError, "do not fit")]),
    Op("trapezoid", lambda y, x=None, dx=1.0, axis=-1: np.trapezoid(y, x, dx, axis),
       [s(real(3, 4)), s(real(3, 4), real(4)), s(real(3, 4), dx=0.5, axis=0), s(real(2, 1))], BOTH),
    Op("cumulative_trapezoid", lambda y, x=None, dx=1.0, axis=-1: np.cumsum(
        (np.take(y, range(1, y.shape[axis]), axis) + np.take(y, range(y.shape[axis] - 1), axis))
        / 2 * (dx if x is None else np.diff(x)), axis),
       [s(real(3, 4)), s(real(3, 4), real(4)), s(real(3, 4), dx=0.5, axis=0)], BOTH),
    Op("convolve", lambda a, b, mode="full": np.convolve(a, b, mode),
       [s(real(5), real(3)), *(s(real(5), real(4), mode=m) for m in ("same", "valid")),
        *(s(real(3), real(6), mode=m) for m in ("same", "valid", "full"))], BOTH,
       errors=[((np.ones((2, 2)), np.ones(2)), ValueError, "1 dimension")]),
    Op("correlate", lambda a, b, mode="valid": np.correlate(a, b, mode),
       [s(real(5), real(3)), *(s(real(5), real(4), mode=m) for m in ("same", "full"))], BOTH,
       errors=[((np.ones((2, 2)), np.ones(2)), ValueError, "1 dimension")]),
    Op("unwrap", lambda x, axis=-1, period=2 * np.pi: np.unwrap(x, axis=axis, period=period),
       [s(np.cumsum(real(3, 9), 1) % 6.28 - 3), s(real(4, 3) * 4, axis=0, period=3.0)], BOTH),
    Op("logspace", lambda a, b, n=50, base=10.0, endpoint=True: np.logspace(
        a, b, n, endpoint, base), [s(0, 2, 5), s(-1, 3, 4, base=2.0, endpoint=False)],
       ("float32",), grad=False),
    Op("geomspace", lambda a, b, n=50, endpoint=True: np.geomspace(a, b, n, endpoint),
       [s(1, 100, 5), s(-2, -64, 4, endpoint=False)], ("float32",), grad=False,
       errors=[((-1, 1), ValueError, "one sign")]),
]  # fmt: skip

OPS = PRODUCTS
OTHERWISE_TESTED: dict[str, set[str]] = {}
