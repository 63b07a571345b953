"""Op specs of the routines that compute: scans, statistics, special functions, products."""

from __future__ import annotations

import math
import warnings

import numpy as np

from tests.op_specs import (
    FLOAT32_64,
    INTS,
    Op,
    apart,
    binary,
    mixed,
    real,
    reduction,
    s,
    unary,
    whole,
)

BOTH = FLOAT32_64
NAN = math.nan


def holed(*shape: int) -> np.ndarray:
    """Values with NaN among them, none in the first place."""
    x = apart(*shape)
    flat = x.reshape(-1)
    flat[2::3] = NAN
    return x


def _scan(name, reference, values=real, errors=(), extra=()):
    samples = [s(values(3, 4, 5)), s(values(3, 4, 5), 1), s(values(4, 70), 0), s(values(0, 3), 0),
               s(values(300)), *extra]  # fmt: skip
    return Op(name, reference, samples, BOTH, errors=[
        ((np.ones((2, 3)), 2), IndexError, "axis 2"),
        ((np.array(1.0),), ValueError, "1 dimension"), *errors])  # fmt: skip


def _cumextreme(name, ufunc, better):
    def reference(x, axis=-1):
        values = ufunc.accumulate(x, axis)
        rows, out = np.moveaxis(x, axis, -1), np.zeros(np.moveaxis(x, axis, -1).shape, np.int64)
        for at in np.ndindex(*rows.shape[:-1]):
            best = 0
            for i, v in enumerate(rows[at]):
                best = i if better(v, rows[at][best]) else best
                out[at][i] = best
        return values, np.moveaxis(out, -1, axis)

    return [_scan(name, reference, apart),
            Op(name, reference, [s(mixed(3, 9))], (*BOTH, *INTS, "bool"), grad=False)]  # fmt: skip


def _logcumsumexp(x, axis=-1):
    return np.logaddexp.accumulate(x, axis)


def _linear_scan(a, b, axis=-1):
    a, b = np.broadcast_arrays(a, b)
    a, y = np.moveaxis(a, axis, -1), np.moveaxis(b, axis, -1).copy()
    for i in range(1, y.shape[-1]):
        y[..., i] += a[..., i] * y[..., i - 1]
    return np.moveaxis(y, -1, axis)


def _zeros_among(*shape):
    x = real(*shape)
    x.reshape(-1)[::4] = 0
    return x


def _cumulative(function, value):
    def reference(x, axis=None, include_initial=False):
        axis = 0 if axis is None else axis
        y = function(x, axis=axis)
        if not include_initial:
            return y
        shape = list(y.shape)
        shape[axis] = 1
        return np.concatenate([np.full(shape, value, y.dtype), y], axis)

    return reference


SCANS = [
    _scan("cumsum", lambda x, axis=-1: np.cumsum(x, axis)),
    _scan("cumprod", lambda x, axis=-1: np.cumprod(x, axis),
          lambda *shape: real(*shape, low=0.7, high=1.3),
          extra=[s(_zeros_among(4, 7)), s(np.zeros((2, 3)))]),
    Op("cumsum", lambda x, axis=-1: np.cumsum(x, axis), [s(mixed(3, 5), 0)], (*INTS, "bool"),
       grad=False),
    Op("cumprod", lambda x, axis=-1: np.cumprod(x, axis), [s(mixed(3, 5), 0)], (*INTS, "bool"),
       grad=False),
    *_cumextreme("cummax", np.maximum, lambda v, best: v >= best),
    *_cumextreme("cummin", np.minimum, lambda v, best: v <= best),
    _scan("logcumsumexp", _logcumsumexp, extra=[s(np.array([-800.0, 700.0, 10.0]))]),
    Op("linear_scan", _linear_scan,
       [s(real(3, 5), real(3, 5)), s(real(5), real(3, 5)), s(real(3, 1), real(3, 4), 0)], BOTH,
       errors=[((np.ones(2), np.ones(3)), ValueError, "broadcast")]),
    Op("cumulative_sum", _cumulative(np.cumsum, 0),
       [s(real(5)), s(real(3, 4), axis=1), s(real(3, 4), axis=0, include_initial=True),
        s(real(0), include_initial=True)], BOTH,
       errors=[((np.ones((2, 2)),), ValueError, "name one")]),
    Op("cumulative_prod", _cumulative(np.cumprod, 1),
       [s(real(5)), s(real(3, 4), axis=1), s(real(3, 4), axis=0, include_initial=True)], BOTH,
       errors=[((np.ones((2, 2)),), ValueError, "name one")]),
    Op("diff", lambda x, axis=-1, n=1: np.diff(x, n, axis),
       [s(real(3, 4)), s(real(3, 4), axis=0, n=2), s(real(3), n=4), s(real(0))], BOTH),
]  # fmt: skip


def _quantile(x, q, axis=None, keepdims=False, method="linear"):
    return np.quantile(x, q, axis=axis, keepdims=keepdims, method=method)


def _np_var(function):
    return _quiet(
        lambda x, axis=None, correction=0.0, keepdims=False: function(
            x, axis=axis, ddof=correction, keepdims=keepdims
        )
    )


def _average(x, axis=None, weights=None, keepdims=False):
    return np.average(x, axis=axis, weights=weights, keepdims=keepdims)


def _logsumexp(x, axis=None, keepdims=False):
    axes = tuple(range(x.ndim)) if axis is None else axis
    top = np.max(x, axis=axes, keepdims=True)
    top = np.where(np.isfinite(top), top, 0)
    y = np.log(np.sum(np.exp(x - top), axis=axes, keepdims=True)) + top
    return y if keepdims else np.squeeze(y, axes)


def _quiet(function):
    """Without numpy's warnings of slices that hold NaN alone."""

    def called(*args, **kwargs):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(*args, **kwargs)

    return called


def _plain(function):
    return _quiet(lambda x, axis=None, keepdims=False: function(x, axis=axis, keepdims=keepdims))


X = apart(3, 4, 5)
AXES = [s(X), s(X, axis=1), s(X, axis=(0, 2), keepdims=True)]
HOLED = [s(holed(3, 4)), s(holed(3, 4), axis=1), s(holed(3, 4), axis=0, keepdims=True)]

STATISTICS = [
    Op("logsumexp", _logsumexp, [s(X), s(X, axis=1), s(X, axis=-1, keepdims=True)], BOTH),
    Op("logsumexp", _logsumexp, [s(np.array([900.0, 901.0])), s(np.full(3, -np.inf)),
                                 s(np.array([-np.inf, 0.0]))], BOTH, grad=False),
    reduction("amax", _plain(np.max), values=apart, empty=False, dtypes=BOTH),
    reduction("amin", _plain(np.min), values=apart, empty=False, dtypes=BOTH),
    Op("aminmax", lambda x, **k: (np.min(x, **k), np.max(x, **k)), AXES, BOTH),
    Op("ptp", _plain(np.ptp), AXES, BOTH),
    Op("average", _average, [*AXES, s(real(3, 4), weights=None)], BOTH),
    Op("std_mean", lambda x, **k: (_np_var(np.std)(x, **k),
                                   np.mean(x, k.get("axis"), keepdims=k.get("keepdims", False))),
       [*AXES, s(X, axis=1, correction=1.0)], BOTH),
    Op("var_mean", lambda x, **k: (_np_var(np.var)(x, **k),
                                   np.mean(x, k.get("axis"), keepdims=k.get("keepdims", False))),
       [*AXES, s(X, axis=1, correction=1.0)], BOTH),
    Op("quantile", _quantile, [
        s(X, 0.3), s(X, 0.5, axis=1), s(X, 0.9, axis=(0, 2), keepdims=True),
        *(s(apart(7), 0.4, method=m) for m in ("lower", "higher", "midpoint", "nearest"))], BOTH,
       errors=[((np.ones(2), 1.5), ValueError, "1.5"), ((np.ones(0), 0.5), ValueError, "no elem")]),
    Op("quantile", _quantile, [s(X, np.array([0.0, 0.25, 1.0]), axis=1), s(holed(4), 0.5)], BOTH,
       grad=False),
    Op("nanquantile", _quiet(np.nanquantile),
       [s(holed(9), 0.3), s(holed(3, 4), 0.6, axis=1), s(holed(4, 3), 0.5, axis=0, keepdims=True)],
       BOTH, grad=False),
    Op("nanquantile", _quantile, [s(X, 0.3, axis=1)], BOTH),
    Op("median", _plain(np.median), [*AXES, s(apart(5))], BOTH),
    Op("nanmedian", _plain(np.nanmedian), HOLED, BOTH, grad=False),
    Op("nanmedian", _plain(np.nanmedian), [s(X, axis=1)], BOTH),
    Op("nansum", _plain(np.nansum), HOLED, BOTH, grad=False),
    Op("nansum", _plain(np.nansum), AXES, BOTH),
    Op("nanprod", _plain(np.nanprod), HOLED, BOTH, grad=False),
    Op("nanprod", _plain(np.nanprod), [s(real(3, 4), axis=1)], BOTH),
    Op("nanmean", _plain(np.nanmean), HOLED, BOTH, grad=False),
    Op("nanmean", _plain(np.nanmean), AXES, BOTH),
    Op("nanvar", _np_var(np.nanvar), [*HOLED, s(holed(3, 9), axis=1, correction=1.0)], BOTH,
       grad=False),
    Op("nanvar", _np_var(np.nanvar), AXES, BOTH),
    Op("nanstd", _np_var(np.nanstd), HOLED, BOTH, grad=False),
    Op("nanstd", _np_var(np.nanstd), AXES, BOTH),
    Op("nanmax", _plain(np.nanmax), [*HOLED, s(np.array([NAN, NAN]))], BOTH, grad=False),
    Op("nanmax", _plain(np.nanmax), AXES, BOTH),
    Op("nanmin", _plain(np.nanmin), [*HOLED, s(np.array([NAN, NAN]))], BOTH, grad=False),
    Op("nanmin", _plain(np.nanmin), AXES, BOTH),
    Op("histogram", lambda x, bins=10, range=None, density=False: np.histogram(
        x, bins, range, density=density),
       [s(apart(50)), s(apart(50), 7, range=(-1.0, 1.5)), s(apart(50), 5, density=True),
        s(mixed(30), np.array([0.0, 1.0, 1.5, 2.0])), s(np.full(3, 2.0), 2)],
       ("float64",), grad=False, errors=[((np.ones(3), 0), ValueError, "one bin")]),
    Op("cov", lambda x, correction=1.0: np.cov(x, ddof=correction),
       [s(real(3, 6)), s(real(5)), s(real(2, 4), correction=0.0)], BOTH,
       errors=[((np.ones((2, 2, 2)),), ValueError, "2 dimensions")]),
    Op("corrcoef", np.corrcoef, [s(real(3, 6)), s(real(5))], BOTH),
]  # fmt: skip


# ---- special functions --------------------------------------------------------------------------


def _elementwise(function):
    return lambda x: np.vectorize(function, otypes=[np.float64])(x)


def _digamma(x):
    """From far out, where the logarithm is near, back by the recurrence."""
    if x <= 0:
        return _digamma(1 - x) - math.pi / math.tan(math.pi * x)
    n = 3000
    y = x + n
    return math.log(y) - 0.5 / y - 1 / (12 * y * y) - math.fsum(1 / (x + k) for k in range(n))


def _polygamma(order, x):
    def one(v):
        n = 3000
        p = order + 1
        y = v + n
        tail = y ** (1 - p) / (p - 1) + y**-p / 2 + p * y ** (-p - 1) / 12
        total = math.fsum((v + k) ** -p for k in range(n)) + tail
        return (-1) ** (order + 1) * math.factorial(order) * total

    return np.vectorize(one, otypes=[np.float64])(x)


def _erfinv(x):
    low, high = -6.0, 6.0
    for _ in range(200):
        middle = (low + high) / 2
        if math.erf(middle) < x:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _bessel(order):
    angle = (np.arange(200) + 0.5) * math.pi / 200

    def one(x):
        return float(np.mean(np.exp(x * np.cos(angle)) * np.cos(order * angle)))

    return _elementwise(one)


def _multigammaln(x, p):
    return p * (p - 1) / 4 * math.log(math.pi) + sum(_elementwise(math.lgamma)(x - j / 2)
                                                     for j in range(p))  # fmt: skip


def _nan_to_num(x, nan=0.0, posinf=None, neginf=None):
    return np.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)


odd = np.array([NAN, np.inf, -np.inf, 0.0, 1.0, -2.0])

SPECIAL = [
    unary("exp2", np.exp2),
    unary("erfc", _elementwise(math.erfc)),
    unary("erfinv", _elementwise(_erfinv), low=-0.95, high=0.95, dtypes=BOTH),
    unary("lgamma", _elementwise(math.lgamma), low=0.3, high=5.0, dtypes=BOTH),
    unary("digamma", _elementwise(_digamma), low=0.3, high=5.0, dtypes=BOTH),
    Op("digamma", _elementwise(_digamma), [s(np.array([-0.3, -1.7, -2.5, 30.0]))], ("float64",)),
    Op("polygamma", lambda n, x: _polygamma(n, x),
       [s(1, real(5, low=0.3, high=4.0)), s(2, real(5, low=0.3, high=4.0)),
        s(4, real(3, low=0.5, high=4.0))], BOTH,
       errors=[((-1, np.ones(2)), ValueError, "-1")]),
    unary("i0", _bessel(0), dtypes=BOTH),
    unary("i1", _bessel(1), dtypes=BOTH),
    Op("i0", _bessel(0), [s(np.array([29.9, 30.1, -35.0]))], BOTH, grad=False),
    Op("i1", _bessel(1), [s(np.array([29.9, 30.1, -35.0]))], BOTH, grad=False),
    unary("sinc", np.sinc, dtypes=BOTH),
    Op("sinc", np.sinc, [s(np.array([0.0, 1e-3, 0.0159, 0.016]))], ("float64",)),
    unary("logit", lambda x: np.log(x / (1 - x)), low=0.1, high=0.9),
    binary("xlogy", lambda a, b: np.where(a == 0, 0, a * np.log(b)), low=0.1),
    Op("xlogy", lambda a, b: np.where(a == 0, 0, a * np.log(b)), [s(np.zeros(2), mixed(2))], BOTH,
       grad=False),
    binary("gcd", np.gcd, dtypes=INTS, grad=False, values=whole(0, 30)),
    binary("lcm", np.lcm, dtypes=INTS, grad=False, values=whole(0, 11)),
    Op("lerp", lambda a, b, w: a + w * (b - a), [s(real(3, 4), real(4), 0.3),
                                                 s(real(3), real(3), real(3))], BOTH),
    Op("addcmul", lambda x, a, b, value=1: x + value * a * b,
       [s(real(3), real(3), real(3)), s(real(2, 3), real(3), real(2, 1), value=2.0)], BOTH),
    Op("addcdiv", lambda x, a, b, value=1: x + value * a / b,
       [s(real(3), real(3), real(3, low=0.5)), s(real(2, 3), real(3), real(2, 1, low=0.5),
                                                 value=2.0)], BOTH),
    unary("deg2rad", np.deg2rad, dtypes=BOTH, grad=True),
    unary("rad2deg", np.rad2deg, dtypes=BOTH, grad=True),
    Op("heaviside", np.heaviside, [s(apart(3, 4), real(4))], BOTH),
    Op("heaviside", np.heaviside, [s(np.array([0.0, NAN, -0.0]), 0.5)], BOTH, grad=False),
    unary("frac", lambda x: x - np.trunc(x), values=apart, dtypes=BOTH),
    Op("float_power", np.float_power, [s(real(3, low=0.3), real(3)), s(real(3, low=0.3), 2)],
       ("float64",)),
    binary("fmax", np.fmax, values=apart, dtypes=BOTH),
    binary("fmin", np.fmin, values=apart, dtypes=BOTH),
    Op("fmax", np.fmax, [s(odd, odd[::-1].copy())], BOTH, grad=False),
    Op("fmin", np.fmin, [s(odd, odd[::-1].copy())], BOTH, grad=False),
    Op("nan_to_num", _nan_to_num, [s(odd, posinf=9.0, neginf=-9.0), s(odd, nan=1.0, posinf=2.0,
                                                                      neginf=0.0)], BOTH,
       grad=False),
    Op("nan_to_num", _nan_to_num, [s(odd)], ("float64",), grad=False),
    Op("nan_to_num", _nan_to_num, [s(real(3))], BOTH),
    Op("isclose", lambda a, b, **k: np.isclose(a, b, **k),
       [s(odd, odd), s(odd, odd, equal_nan=True), s(real(3), real(3), atol=1.0)], BOTH,
       grad=False),
    unary("ndtr", lambda x: 0.5 * _elementwise(math.erfc)(-x / math.sqrt(2)), dtypes=BOTH),
    unary("ndtri", lambda x: math.sqrt(2) * _elementwise(_erfinv)(2 * x - 1), low=0.05, high=0.95,
          dtypes=BOTH),
    binary("xlog1py", lambda a, b: np.where(a == 0, 0, a * np.log1p(b)), low=-0.7, dtypes=BOTH),
    unary("entr", lambda x: -x * np.log(x), low=0.1, dtypes=BOTH),
    Op("entr", lambda x: np.where(x < 0, -np.inf, 0), [s(np.array([-1.0, 0.0]))], BOTH,
       grad=False),
    Op("multigammaln", _multigammaln, [s(real(3, low=2.0, high=5.0), 3),
                                       s(real(3, low=2.0, high=5.0), 1)], BOTH,
       errors=[((np.ones(2), 0), ValueError, "at least 1")]),
    binary("betaln", lambda a, b: _elementwise(math.lgamma)(a) + _elementwise(math.lgamma)(b)
           - _elementwise(math.lgamma)(a + b), low=0.4, high=4.0, dtypes=BOTH),
    binary("logaddexp2", np.logaddexp2, dtypes=BOTH),
]  # fmt: skip


# ---- products and sampled functions -------------------------------------------------------------


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

OPS = [*SCANS, *STATISTICS, *SPECIAL, *PRODUCTS]
OTHERWISE_TESTED: dict[str, set[str]] = {
    "tests/engine/test_routines.py": {"allclose", "array_equal", "broadcast_shapes"},
}
