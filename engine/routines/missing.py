"""Reductions that leave NaN out."""

from __future__ import annotations

import engine
from engine._C import Tensor
from engine.routines.arguments import Axes, check_tensor, is_floating


def _filled(name: str, x: Tensor, value: float) -> Tensor:
    check_tensor(name, x)
    return engine.where(engine.isnan(x), value, x) if is_floating(x.dtype) else x


def _count(x: Tensor, axis: Axes, keepdims: bool) -> Tensor:
    here = engine.logical_not(engine.isnan(x.detach()))
    return engine.sum(here.astype(x.dtype), axis=axis, keepdims=keepdims)


def nansum(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Sum of the elements that are not NaN over the axes named, or all.

    >>> engine.nansum(engine.asarray([1.0, float("nan")]))
    Tensor(1., dtype=float32)
    """
    return engine.sum(_filled("nansum", x, 0.0), axis=axis, keepdims=keepdims)


def nanprod(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Product of the elements that are not NaN over the axes named, or all.

    >>> engine.nanprod(engine.asarray([2.0, float("nan")]))
    Tensor(2., dtype=float32)
    """
    return engine.prod(_filled("nanprod", x, 1.0), axis=axis, keepdims=keepdims)


def nanmean(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Mean of the elements that are not NaN over the axes named, or all; NaN where there is none.

    >>> engine.nanmean(engine.asarray([1.0, float("nan"), 3.0]))
    Tensor(2., dtype=float32)
    """
    total = nansum(x, axis=axis, keepdims=keepdims)
    return total / _count(x, axis, keepdims)


def nanvar(
    x: Tensor, /, *, axis: Axes = None, correction: float = 0.0, keepdims: bool = False
) -> Tensor:
    """Variance of the elements that are not NaN over the axes named, or all, divided by their
    number less the correction.

    >>> engine.nanvar(engine.asarray([1.0, float("nan"), 3.0]))
    Tensor(1., dtype=float32)
    """
    check_tensor("nanvar", x)
    centre = nanmean(x, axis=axis, keepdims=True)
    apart = engine.where(engine.isnan(x), 0.0, x) - centre
    apart = engine.where(engine.isnan(x), 0.0, apart)
    total = engine.sum(apart * apart, axis=axis, keepdims=keepdims)
    return total / (_count(x, axis, keepdims) - correction)


def nanstd(
    x: Tensor, /, *, axis: Axes = None, correction: float = 0.0, keepdims: bool = False
) -> Tensor:
    """Square root of nanvar.

    >>> engine.nanstd(engine.asarray([1.0, float("nan"), 3.0]))
    Tensor(1., dtype=float32)
    """
    return engine.sqrt(nanvar(x, axis=axis, correction=correction, keepdims=keepdims))


def _extreme(name: str, x: Tensor, axis: Axes, keepdims: bool, worst: float) -> Tensor:
    reduce = engine.max if worst < 0 else engine.min
    y = reduce(_filled(name, x, worst), axis=axis, keepdims=keepdims)
    if not is_floating(x.dtype):
        return y
    none = engine.all(engine.isnan(x), axis=axis, keepdims=keepdims)
    return engine.where(none, engine.nan, y)


def nanmax(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Largest element that is not NaN over the axes named, or all; NaN where there is none.

    >>> engine.nanmax(engine.asarray([1.0, float("nan")]))
    Tensor(1., dtype=float32)
    """
    return _extreme("nanmax", x, axis, keepdims, -engine.inf)


def nanmin(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Smallest element that is not NaN over the axes named, or all; NaN where there is none.

    >>> engine.nanmin(engine.asarray([1.0, float("nan")]))
    Tensor(1., dtype=float32)
    """
    return _extreme("nanmin", x, axis, keepdims, engine.inf)
