"""Elementwise functions made of the native ones."""

from __future__ import annotations

from math import log, pi

import engine
from engine._C import Tensor
from engine.routines.arguments import as_floating, check_floating, check_tensor, is_floating


def lerp(x1: Tensor, x2: Tensor, weight: Tensor | float, /) -> Tensor:
    """x1 + weight * (x2 - x1); weight is a number or a tensor that broadcasts.

    >>> engine.lerp(engine.asarray([0.0]), engine.asarray([4.0]), 0.25)
    Tensor([1.], dtype=float32)
    """
    check_tensor("lerp", x1, x2)
    return x1 + (x2 - x1) * weight


def addcmul(x: Tensor, x1: Tensor, x2: Tensor, /, *, value: float = 1) -> Tensor:
    """x + value * x1 * x2.

    >>> engine.addcmul(engine.ones(1), engine.ones(1), engine.ones(1), value=2)
    Tensor([3.], dtype=float32)
    """
    check_tensor("addcmul", x, x1, x2)
    return x + (x1 * x2 if value == 1 else x1 * x2 * value)


def addcdiv(x: Tensor, x1: Tensor, x2: Tensor, /, *, value: float = 1) -> Tensor:
    """x + value * x1 / x2.

    >>> engine.addcdiv(engine.ones(1), engine.ones(1), engine.full(1, 2.0))
    Tensor([1.5], dtype=float32)
    """
    check_tensor("addcdiv", x, x1, x2)
    return x + (x1 / x2 if value == 1 else x1 / x2 * value)


def deg2rad(x: Tensor, /) -> Tensor:
    """Degrees to radians.

    >>> engine.deg2rad(engine.asarray([0.0]))
    Tensor([0.], dtype=float32)
    """
    check_tensor("deg2rad", x)
    return as_floating(x) * (pi / 180)


def rad2deg(x: Tensor, /) -> Tensor:
    """Radians to degrees.

    >>> engine.rad2deg(engine.asarray([0.0]))
    Tensor([0.], dtype=float32)
    """
    check_tensor("rad2deg", x)
    return as_floating(x) * (180 / pi)


def heaviside(x1: Tensor, x2: Tensor | float, /) -> Tensor:
    """0 where x1 is negative, 1 where it is positive, x2 where it is 0; NaN stays NaN.

    >>> engine.heaviside(engine.asarray([-1.0, 0.0, 2.0]), 0.5)
    Tensor([0. , 0.5, 1. ], dtype=float32)
    """
    check_tensor("heaviside", x1)
    step = (x1 > 0).astype(x1.dtype)
    if is_floating(x1.dtype):
        step = engine.where(engine.isnan(x1), x1.detach(), step)
    return engine.where(x1 == 0, x2, step)


def frac(x: Tensor, /) -> Tensor:
    """x - trunc(x): what follows the point, with x's sign.

    >>> engine.frac(engine.asarray([-1.5]))
    Tensor([-0.5], dtype=float32)
    """
    check_tensor("frac", x)
    return x - engine.trunc(x)


def float_power(x1: Tensor, x2: Tensor | float, /) -> Tensor:
    """x1 to the power x2, in float64.

    >>> engine.float_power(engine.asarray([2]), -1)
    Tensor([0.5], dtype=float64)
    """
    check_tensor("float_power", x1)
    exponent = x2.astype(engine.float64) if isinstance(x2, Tensor) else float(x2)
    return engine.pow(x1.astype(engine.float64), exponent)


def fmax(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The larger one; the other if one is NaN. Equal ones share the gradient.

    >>> engine.fmax(engine.asarray([float("nan")]), engine.asarray([1.0]))
    Tensor([1.], dtype=float32)
    """
    check_tensor("fmax", x1, x2)
    larger = engine.maximum(x1, x2)
    return engine.where(engine.isnan(x1), x2, engine.where(engine.isnan(x2), x1, larger))


def fmin(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The smaller one; the other if one is NaN. Equal ones share the gradient.

    >>> engine.fmin(engine.asarray([float("nan")]), engine.asarray([1.0]))
    Tensor([1.], dtype=float32)
    """
    check_tensor("fmin", x1, x2)
    smaller = engine.minimum(x1, x2)
    return engine.where(engine.isnan(x1), x2, engine.where(engine.isnan(x2), x1, smaller))


_LARGEST = {
    "float64": 1.7976931348623157e308, "float32": 3.4028234663852886e38, "float16": 65504.0,
    "bfloat16": 3.3895313892515355e38,
}  # fmt: skip


def nan_to_num(
    x: Tensor, /, *, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Tensor:
    """x with NaN and infinities replaced, by default by 0 and the dtype's largest numbers.

    >>> engine.nan_to_num(engine.asarray([float("nan"), 1.0]))
    Tensor([0., 1.], dtype=float32)
    """
    check_tensor("nan_to_num", x)
    if not is_floating(x.dtype):
        return x.clone()
    top = _LARGEST[str(x.dtype)]
    y = engine.where(engine.isnan(x), nan, x)
    y = engine.where(x == engine.inf, top if posinf is None else posinf, y)
    return engine.where(x == -engine.inf, -top if neginf is None else neginf, y)


def isclose(
    x1: Tensor, x2: Tensor, /, *, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Tensor:
    """Whether |x1 - x2| <= atol + rtol * |x2|; infinities are close to themselves alone.

    >>> engine.isclose(engine.asarray([1.0]), engine.asarray([1.000001]))
    Tensor([ True], dtype=bool)
    """
    check_tensor("isclose", x1, x2)
    a, b = as_floating(x1.detach()), as_floating(x2.detach())
    near = engine.abs(a - b) <= atol + rtol * engine.abs(b)
    close = engine.logical_or(a == b, engine.logical_and(near, engine.isfinite(b)))
    if equal_nan:
        close = engine.logical_or(close, engine.logical_and(engine.isnan(a), engine.isnan(b)))
    return close


def allclose(
    x1: Tensor, x2: Tensor, /, *, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> bool:
    """Whether isclose holds everywhere; a Python bool.

    >>> engine.allclose(engine.ones(2), engine.ones(2))
    True
    """
    return bool(engine.all(isclose(x1, x2, rtol=rtol, atol=atol, equal_nan=equal_nan)))


def array_equal(x1: Tensor, x2: Tensor, /, *, equal_nan: bool = False) -> bool:
    """Whether both have one shape and the same elements; a Python bool.

    >>> engine.array_equal(engine.ones(2), engine.ones(3))
    False
    """
    check_tensor("array_equal", x1, x2)
    if x1.shape != x2.shape:
        return False
    same = x1 == x2
    if equal_nan and is_floating(x1.dtype) and is_floating(x2.dtype):
        same = engine.logical_or(same, engine.logical_and(engine.isnan(x1), engine.isnan(x2)))
    return bool(engine.all(same))


def ndtr(x: Tensor, /) -> Tensor:
    """The normal distribution's cumulative function: erfc(-x / sqrt(2)) / 2.

    >>> engine.ndtr(engine.asarray([0.0]))
    Tensor([0.5], dtype=float32)
    """
    check_tensor("ndtr", x)
    return engine.erfc(as_floating(x) * -(0.5**0.5)) * 0.5


def ndtri(x: Tensor, /) -> Tensor:
    """The inverse of ndtr, for x in [0, 1]: sqrt(2) erfinv(2 x - 1).

    >>> engine.ndtri(engine.asarray([0.5]))
    Tensor([0.], dtype=float32)
    """
    check_tensor("ndtri", x)
    return engine.erfinv(as_floating(x) * 2.0 - 1.0) * 2**0.5


def xlog1py(x1: Tensor, x2: Tensor, /) -> Tensor:
    """x1 * log(1 + x2), 0 where x1 is 0.

    >>> engine.xlog1py(engine.asarray([0.0]), engine.asarray([-1.0]))
    Tensor([0.], dtype=float32)
    """
    check_tensor("xlog1py", x1, x2)
    zero = engine.logical_and(x1 == 0, engine.logical_not(engine.isnan(x2)))
    inside = engine.where(zero, 0.0, as_floating(x2))
    return x1 * engine.log1p(inside)


def entr(x: Tensor, /) -> Tensor:
    """-x log(x), the terms of an entropy: 0 at 0, -inf below.

    >>> engine.entr(engine.asarray([1.0])) + 0.0
    Tensor([0.], dtype=float32)
    """
    check_floating("entr", x)
    return engine.where(x < 0, -engine.inf, -engine.xlogy(x, engine.where(x < 0, 1.0, x)))


def multigammaln(x: Tensor, p: int, /) -> Tensor:
    """Logarithm of the multivariate gamma function of dimension p (A. James, "Distributions of
    matrix variates and latent roots derived from normal samples", 1964), for x > (p - 1) / 2.

    >>> engine.multigammaln(engine.asarray([2.0]), 1)
    Tensor([0.], dtype=float32)
    """
    check_floating("multigammaln", x)
    if p < 1:
        raise ValueError(f"multigammaln: expected a dimension of at least 1, got {p}")
    y = engine.lgamma(x)
    for j in range(1, p):
        y = y + engine.lgamma(x - j / 2)
    return y + p * (p - 1) / 4 * log(pi) if p > 1 else y


def betaln(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Logarithm of the beta function: lgamma(x1) + lgamma(x2) - lgamma(x1 + x2).

    >>> engine.betaln(engine.ones(1), engine.ones(1))
    Tensor([0.], dtype=float32)
    """
    check_tensor("betaln", x1, x2)
    return engine.lgamma(x1) + engine.lgamma(x2) - engine.lgamma(x1 + x2)


def logaddexp2(x1: Tensor, x2: Tensor, /) -> Tensor:
    """log2(2^x1 + 2^x2), without overflow.

    >>> engine.logaddexp2(engine.zeros(1), engine.zeros(1))
    Tensor([1.], dtype=float32)
    """
    check_tensor("logaddexp2", x1, x2)
    ln2 = log(2)
    return engine.logaddexp(as_floating(x1) * ln2, as_floating(x2) * ln2) * (1 / ln2)
