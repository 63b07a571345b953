"""Sums, means, orders of magnitude: functions that summarise a tensor along axes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import engine
from engine._C import Tensor, dtype
from engine.routines.arguments import (
    Axes,
    as_floating,
    check_floating,
    check_tensor,
    exactly_ndim,
    many_axes,
    one_axis,
)


class StdMean(NamedTuple):
    std: Tensor
    mean: Tensor


class VarMean(NamedTuple):
    var: Tensor
    mean: Tensor


class MinMax(NamedTuple):
    min: Tensor
    max: Tensor


def _scanned(name: str, x: Tensor, axis: int | None, to: dtype | None) -> tuple[Tensor, int]:
    check_tensor(name, x)
    if axis is None:
        if x.ndim > 1:
            raise ValueError(f"{name}: a tensor of shape {x.shape} has no single axis; name one")
        axis = 0
    if x.ndim == 0:
        x = engine.reshape(x, (1,))
    return (x if to is None else x.astype(to)), one_axis(name, axis, x.ndim)


def _with_initial(y: Tensor, axis: int, value: int) -> Tensor:
    shape = list(y.shape)
    shape[axis] = 1
    return engine.concat([engine.full(shape, value, dtype=y.dtype, device=y.device), y], axis=axis)


def cumulative_sum(
    x: Tensor, /, *, axis: int | None = None, dtype: dtype | None = None,
    include_initial: bool = False,
) -> Tensor:  # fmt: skip
    """Running sums along an axis, which a vector need not name. Small integers give int64 or
    uint64 unless a dtype is named.

    Args:
        include_initial: whether a 0 comes first, which makes the axis one longer.

    >>> engine.cumulative_sum(engine.asarray([1, 2, 3]))
    Tensor([1, 3, 6], dtype=int64)
    """
    x, a = _scanned("cumulative_sum", x, axis, dtype)
    y = engine.cumsum(x, a, dtype=dtype)
    return _with_initial(y, a, 0) if include_initial else y


def cumulative_prod(
    x: Tensor, /, *, axis: int | None = None, dtype: dtype | None = None,
    include_initial: bool = False,
) -> Tensor:  # fmt: skip
    """Running products along an axis, which a vector need not name. Small integers give int64 or
    uint64 unless a dtype is named.

    Args:
        include_initial: whether a 1 comes first, which makes the axis one longer.

    >>> engine.cumulative_prod(engine.asarray([1, 2, 3]))
    Tensor([1, 2, 6], dtype=int64)
    """
    x, a = _scanned("cumulative_prod", x, axis, dtype)
    y = engine.cumprod(x, a, dtype=dtype)
    return _with_initial(y, a, 1) if include_initial else y


def diff(
    x: Tensor, /, *, axis: int = -1, n: int = 1, prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """x[i + 1] - x[i] along an axis, n times over; bool gives exclusive or.

    Args:
        prepend, append: joined to x first.

    >>> engine.diff(engine.asarray([1, 4, 9]))
    Tensor([3, 5], dtype=int64)
    """
    check_tensor("diff", x)
    a = one_axis("diff", axis, x.ndim)
    if n < 0:
        raise ValueError(f"diff: n must not be negative, got {n}")
    parts = [t for t in (prepend, x, append) if t is not None]
    if len(parts) > 1:
        x = engine.concat(parts, axis=a)
    for _ in range(n):
        size = max(0, x.shape[a] - 1)
        after = engine.narrow(x, a, min(1, x.shape[a]), size)
        before = engine.narrow(x, a, 0, size)
        x = engine.not_equal(after, before) if x.dtype == engine.bool else after - before
    return x


def logsumexp(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """log(sum(exp(x))) over the axes named, or all, without overflow.

    >>> engine.logsumexp(engine.zeros(4)).shape
    ()
    """
    check_floating("logsumexp", x)
    axes = many_axes("logsumexp", axis, x.ndim)
    if any(x.shape[a] == 0 for a in axes):
        shape = [1 if a in axes else n for a, n in enumerate(x.shape)]
        top = engine.zeros(shape, dtype=x.dtype, device=x.device)
    else:
        top = engine.max(x.detach(), axis=axes, keepdims=True)
    top = engine.where(engine.isfinite(top), top, engine.zeros((), dtype=x.dtype))
    total = engine.sum(engine.exp(x - top), axis=axes, keepdims=True)
    # All -inf: the logarithm of 0, which must not meet the gradient.
    empty = total == 0
    y = engine.where(empty, -np.inf, engine.log(engine.where(empty, 1.0, total)) + top)
    return y if keepdims else engine.squeeze(y, axes)


def amax(x: Tensor, /, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """max under numpy's old name.

    >>> engine.amax(engine.asarray([1, 3]))
    Tensor(3, dtype=int64)
    """
    check_tensor("amax", x)
    return engine.max(x, axis=axis, keepdims=keepdims)


def amin(x: Tensor, /, axis: Axes = None, *, keepdims: bool = False) -> Tensor:
    """min under numpy's old name.

    >>> engine.amin(engine.asarray([1, 3]))
    Tensor(1, dtype=int64)
    """
    check_tensor("amin", x)
    return engine.min(x, axis=axis, keepdims=keepdims)


def aminmax(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> MinMax:
    """(min, max) over the axes named, or all.

    >>> engine.aminmax(engine.asarray([1, 3])).max
    Tensor(3, dtype=int64)
    """
    return MinMax(amin(x, axis=axis, keepdims=keepdims), amax(x, axis=axis, keepdims=keepdims))


def ptp(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Largest minus smallest element over the axes named, or all.

    >>> engine.ptp(engine.asarray([1, 3]))
    Tensor(2, dtype=int64)
    """
    low, high = aminmax(x, axis=axis, keepdims=keepdims)
    return high - low


def average(
    x: Tensor, /, *, axis: Axes = None, weights: Tensor | None = None, keepdims: bool = False
) -> Tensor:
    """The mean, or the mean with weights of x's shape (of one axis' size, if a single one is
    named).

    >>> engine.average(engine.asarray([1.0, 3.0]), weights=engine.asarray([3.0, 1.0]))
    Tensor(1.5, dtype=float32)
    """
    check_tensor("average", x)
    x = as_floating(x)
    if weights is None:
        return engine.mean(x, axis=axis, keepdims=keepdims)
    axes = many_axes("average", axis, x.ndim)
    if weights.shape != x.shape:
        if len(axes) != 1 or weights.shape != (x.shape[axes[0]],):
            raise ValueError(
                f"average: weights of shape {weights.shape} fit neither x of shape {x.shape} nor "
                f"axis {axis}"
            )
        weights = engine.reshape(weights, [-1 if d == axes[0] else 1 for d in range(x.ndim)])
    spread = engine.broadcast_to(weights, x.shape)
    total = engine.sum(x * spread, axis=axes, keepdims=keepdims)
    return total / engine.sum(spread, axis=axes, keepdims=keepdims)


def std_mean(
    x: Tensor, /, *, axis: Axes = None, correction: float = 0.0, keepdims: bool = False
) -> StdMean:
    """(std, mean) over the axes named, or all; std divides by n - correction.

    >>> engine.std_mean(engine.asarray([1.0, 3.0])).mean
    Tensor(2., dtype=float32)
    """
    check_floating("std_mean", x)
    spread = engine.std(x, axis=axis, correction=correction, keepdims=keepdims)
    return StdMean(spread, engine.mean(x, axis=axis, keepdims=keepdims))


def var_mean(
    x: Tensor, /, *, axis: Axes = None, correction: float = 0.0, keepdims: bool = False
) -> VarMean:
    """(var, mean) over the axes named, or all; var divides by n - correction.

    >>> engine.var_mean(engine.asarray([1.0, 3.0])).var
    Tensor(1., dtype=float32)
    """
    check_floating("var_mean", x)
    spread = engine.var(x, axis=axis, correction=correction, keepdims=keepdims)
    return VarMean(spread, engine.mean(x, axis=axis, keepdims=keepdims))


def cov(x: Tensor, /, *, correction: float = 1.0, weights: Tensor | None = None) -> Tensor:
    """Covariances of the rows of a matrix, each row a variable, each column an observation; a
    vector is one variable.

    Args:
        correction: the sum of products is divided by n - correction.
        weights: (columns,): how often each observation counts.

    >>> engine.cov(engine.asarray([[1.0, 2.0], [2.0, 4.0]])).shape
    (2, 2)
    """
    check_floating("cov", x)
    if x.ndim > 2:
        raise ValueError(f"cov: expected at most 2 dimensions, got shape {x.shape}")
    rows = engine.reshape(x, (1, -1)) if x.ndim < 2 else x
    if weights is None:
        n: float | Tensor = float(rows.shape[1])
        centred = rows - engine.mean(rows, axis=1, keepdims=True)
        scaled = centred
    else:
        exactly_ndim("cov", weights, 1)
        w = weights.astype(x.dtype)
        n = engine.sum(w)
        centred = rows - engine.sum(rows * w, axis=1, keepdims=True) / n
        scaled = centred * w
    products = engine.matmul(scaled, engine.swapaxes(centred, 0, 1)) / (n - correction)
    return products if x.ndim == 2 else engine.reshape(products, ())


def corrcoef(x: Tensor, /) -> Tensor:
    """Correlation coefficients of the rows of a matrix, in [-1, 1]; of a vector 1.

    >>> engine.corrcoef(engine.asarray([[1.0, 2.0], [2.0, 4.0]])).shape
    (2, 2)
    """
    c = cov(x)
    if c.ndim == 0:
        return c / c
    spread = engine.sqrt(engine.diagonal(c))
    scaled = c / engine.expand_dims(spread, 1) / engine.expand_dims(spread, 0)
    return engine.clip(scaled, -1.0, 1.0)
