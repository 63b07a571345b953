"""Sampled functions: interpolation, integration, convolution; spaced samples."""

from __future__ import annotations

import math

import engine
from engine._C import Tensor, dtype
from engine.routines.arguments import (
    as_floating,
    check_floating,
    check_tensor,
    exactly_ndim,
    one_axis,
)


def interp(
    x: Tensor, xp: Tensor, fp: Tensor, /, *, left: float | None = None, right: float | None = None
) -> Tensor:
    """Piecewise linear interpolation at x through the points (xp, fp), xp rising: (x.shape).

    Args:
        left, right: values outside xp; the first and last of fp by default.

    >>> engine.interp(engine.asarray([1.5]), engine.asarray([1.0, 2.0]), engine.asarray([0.0, 4.0]))
    Tensor([2.], dtype=float32)
    """
    check_tensor("interp", x, xp, fp)
    exactly_ndim("interp", xp, 1)
    if fp.shape != xp.shape or xp.shape[0] == 0:
        raise ValueError(f"interp: points {xp.shape} and values {fp.shape} do not fit")
    x, xp, fp = as_floating(x), as_floating(xp), as_floating(fp)
    n = xp.shape[0]
    if n == 1:
        y = engine.broadcast_to(fp, (*x.shape, 1))[..., 0]
    else:
        at = engine.searchsorted(xp.detach(), x.detach(), side="right") - 1
        at = engine.clip(at, 0, n - 2)
        flat = engine.reshape(at, (-1,))
        x0, x1, f0, f1 = (
            engine.reshape(engine.take(t, i), x.shape)
            for t, i in ((xp, flat), (xp, flat + 1), (fp, flat), (fp, flat + 1))
        )
        y = f0 + (f1 - f0) * ((x - x0) / (x1 - x0))
    y = engine.where(x < xp[0], fp[0] if left is None else left, y)
    y = engine.where(x > xp[-1], fp[-1] if right is None else right, y)
    return engine.where(engine.isnan(x), x, y)


def _widths(name: str, y: Tensor, x: Tensor | None, dx: float, axis: int) -> tuple:
    check_tensor(name, y)
    y = as_floating(y)
    a = one_axis(name, axis, y.ndim)
    n = y.shape[a]
    mean = (engine.narrow(y, a, min(1, n), max(0, n - 1))
            + engine.narrow(y, a, 0, max(0, n - 1))) * 0.5  # fmt: skip
    if x is None:
        return a, mean * dx
    if x.shape == (n,):
        x = engine.reshape(x, [-1 if d == a else 1 for d in range(y.ndim)])
    elif x.shape != y.shape:
        raise ValueError(f"{name}: positions {x.shape} do not fit values {y.shape}")
    return a, mean * engine.diff(x, axis=a)


def trapezoid(y: Tensor, x: Tensor | None = None, /, *, dx: float = 1.0, axis: int = -1) -> Tensor:
    """The integral of samples y along an axis by the trapezoidal rule.

    Args:
        x: positions, of y's shape or a vector along the axis; dx apart by default.

    >>> engine.trapezoid(engine.asarray([1.0, 3.0]))
    Tensor(2., dtype=float32)
    """
    a, areas = _widths("trapezoid", y, x, dx, axis)
    return engine.sum(areas, axis=a)


def cumulative_trapezoid(
    y: Tensor, x: Tensor | None = None, /, *, dx: float = 1.0, axis: int = -1
) -> Tensor:
    """trapezoid up to each sample after the first.

    >>> engine.cumulative_trapezoid(engine.asarray([1.0, 3.0, 5.0]))
    Tensor([2., 6.], dtype=float32)
    """
    a, areas = _widths("cumulative_trapezoid", y, x, dx, axis)
    return engine.cumsum(areas, a)


def _trimmed(full: Tensor, n: int, m: int, mode: str, name: str) -> Tensor:
    if mode == "full":
        return full
    if mode == "same":
        length = max(n, m)
        return engine.narrow(full, 0, (min(n, m) - 1) // 2, length)
    if mode == "valid":
        return engine.narrow(full, 0, min(n, m) - 1, max(n, m) - min(n, m) + 1)
    raise ValueError(f"{name}: mode is {mode!r}; expected 'full', 'same' or 'valid'")


def _full(name: str, x1: Tensor, x2: Tensor) -> Tensor:
    """The full convolution as a product with a matrix of shifted windows."""
    exactly_ndim(name, x1, 1)
    exactly_ndim(name, x2, 1)
    if x1.shape[0] == 0 or x2.shape[0] == 0:
        raise ValueError(f"{name}: expected vectors that are not empty, got {x1.shape}, {x2.shape}")
    if x1.shape[0] < x2.shape[0]:
        x1, x2 = x2, x1
    n, m = x1.shape[0], x2.shape[0]
    edge = engine.zeros(m - 1, dtype=x1.dtype, device=x1.device)
    padded = engine.concat([edge, x1, edge])
    first = engine.arange(n + m - 1, device=x1.device)
    at = engine.expand_dims(first, 1) + engine.arange(m, device=x1.device)
    return engine.matmul(padded[at], engine.flip(x2))


def convolve(x1: Tensor, x2: Tensor, /, *, mode: str = "full") -> Tensor:
    """The convolution of two vectors of N and M values, sum over j of x1[j] x2[i - j]: N + M - 1
    values for mode "full", max(N, M) from the middle for "same", those where both overlap wholly
    for "valid".

    >>> engine.convolve(engine.asarray([1.0, 2.0]), engine.asarray([1.0, 1.0]))
    Tensor([1., 3., 2.], dtype=float32)
    """
    check_tensor("convolve", x1, x2)
    return _trimmed(_full("convolve", x1, x2), x1.shape[0], x2.shape[0], mode, "convolve")


def correlate(x1: Tensor, x2: Tensor, /, *, mode: str = "valid") -> Tensor:
    """The correlation of two vectors, sum over j of x1[i + j] x2[j]; modes as for convolve.

    >>> engine.correlate(engine.asarray([1.0, 2.0, 3.0]), engine.asarray([0.0, 1.0]))
    Tensor([2., 3.], dtype=float32)
    """
    check_tensor("correlate", x1, x2)
    n, m = x1.shape[0], x2.shape[0]
    full = _full("correlate", x1, engine.flip(x2))
    if mode == "same" and n < m:
        return engine.narrow(full, 0, n // 2, m)
    return _trimmed(full, n, m, mode, "correlate")


def unwrap(x: Tensor, /, *, axis: int = -1, period: float = 2 * math.pi) -> Tensor:
    """Angles along an axis with multiples of the period added, so that neighbours are at most half
    of it apart.

    >>> engine.unwrap(engine.asarray([0.0, 3.0, -3.0])).shape
    (3,)
    """
    check_floating("unwrap", x)
    a = one_axis("unwrap", axis, x.ndim)
    if x.shape[a] < 2:
        return x.clone()
    step = engine.diff(x.detach(), axis=a)
    half = period / 2
    wrapped = engine.remainder(step + half, period) - half
    wrapped = engine.where(engine.logical_and(wrapped == -half, step > 0), half, wrapped)
    fix = engine.where(engine.abs(step) < half, 0.0, wrapped - step)
    total = engine.cumsum(fix, a)
    first = engine.zeros_like(engine.narrow(x, a, 0, 1).detach())
    return x + engine.concat([first, total], axis=a)


def logspace(
    start: float, stop: float, num: int = 50, *, base: float = 10.0, dtype: dtype | None = None,
    endpoint: bool = True,
) -> Tensor:  # fmt: skip
    """base to the power of num evenly spaced exponents from start to stop.

    >>> engine.logspace(0, 2, 3)
    Tensor([  1.,  10., 100.], dtype=float32)
    """
    exponents = engine.linspace(start, stop, num, dtype=engine.float64, endpoint=endpoint)
    values = engine.pow(engine.full((), float(base), dtype=engine.float64), exponents)
    return values.astype(engine.float32 if dtype is None else dtype)


def geomspace(
    start: float, stop: float, num: int = 50, *, dtype: dtype | None = None, endpoint: bool = True
) -> Tensor:
    """num values from start to stop, each the same multiple of the one before. Both have one sign
    and are not 0.

    >>> engine.geomspace(1, 100, 3)
    Tensor([  1.,  10., 100.], dtype=float32)
    """
    if not start * stop > 0:
        raise ValueError(f"geomspace: start {start} and stop {stop} need one sign and no zero")

    steps = engine.linspace(0, math.log(stop / start), num, dtype=engine.float64, endpoint=endpoint)
    values = engine.exp(steps) * float(start)
    if num > 1 and endpoint:
        values[-1] = float(stop)
    return values.astype(engine.float32 if dtype is None else dtype)
