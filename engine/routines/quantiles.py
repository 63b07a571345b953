"""Quantiles, medians and histograms."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import engine
from engine._C import Tensor
from engine.routines.arguments import (
    Axes,
    as_floating,
    check_tensor,
    exactly_ndim,
    is_floating,
    many_axes,
)


class Histogram(NamedTuple):
    counts: Tensor
    edges: Tensor


_FRACTIONS = {
    "linear": lambda f: f,
    "lower": lambda f: engine.zeros_like(f),
    "higher": lambda f: (f > 0).astype(f.dtype),
    "midpoint": lambda f: engine.where(f > 0, 0.5, engine.zeros_like(f)),
    "nearest": lambda f: engine.round(f),
}


def _quantile(
    name: str, x: Tensor, q: Tensor | float, axis: Axes, keepdims: bool, method: str, skip: bool
) -> Tensor:
    check_tensor(name, x)
    x = as_floating(x)
    if method not in _FRACTIONS:
        raise ValueError(f"{name}: method is {method!r}; expected one of {', '.join(_FRACTIONS)}")
    levels = np.asarray(q.tolist() if isinstance(q, Tensor) else q, np.float64)
    share = engine.asarray(levels, device=x.device)
    if levels.ndim > 1 or not ((levels >= 0) & (levels <= 1)).all():
        raise ValueError(f"{name}: expected q in [0, 1], a number or a vector, got {levels}")
    axes = many_axes(name, axis, x.ndim)
    rest = [a for a in range(x.ndim) if a not in axes]
    kept = [1 if a in axes else n for a, n in enumerate(x.shape)]
    rows = engine.reshape(
        engine.permute_dims(x, (*rest, *axes)), ([x.shape[a] for a in rest] + [-1])
        if x.size else [x.shape[a] for a in rest] + [int(np.prod([x.shape[a] for a in axes]))]
    )  # fmt: skip
    n = rows.shape[-1]
    if n == 0:
        raise ValueError(f"{name}: a tensor of shape {x.shape} has no elements along the axes")
    ordered = engine.sort(rows)
    bad = engine.sum(engine.isnan(rows.detach()), axis=-1, keepdims=True)  # (..., 1)
    valid = (
        (n - bad).astype(engine.float64)
        if skip
        else engine.full(bad.shape, float(n), device=bad.device).astype(engine.float64)
    )
    place = engine.clip(valid - 1, 0, None) * engine.reshape(share, (-1,))  # (..., q)
    low = engine.floor(place)
    fraction = _FRACTIONS[method](place - low).astype(x.dtype)
    below = engine.take_along_axis(ordered, low.astype(engine.int64), axis=-1)
    above = engine.take_along_axis(
        ordered, engine.minimum(low + 1, float(n - 1)).astype(engine.int64), axis=-1
    )
    # Where nothing of `above` is wanted it may be an infinity or NaN.
    step = engine.where(fraction == 0, engine.zeros((), dtype=x.dtype), above - below)
    y = below + step * fraction
    if not skip:
        y = engine.where(bad > 0, ordered[..., -1:], y)
    y = engine.moveaxis(y, -1, 0)
    shape = kept if keepdims else [x.shape[a] for a in rest]
    return engine.reshape(y, (*levels.shape, *shape))


def quantile(
    x: Tensor, q: Tensor | float, /, *, axis: Axes = None, keepdims: bool = False,
    method: str = "linear",
) -> Tensor:  # fmt: skip
    """The values below which a share q of the elements lies, over the axes named, or all. NaN if
    there is one. Several q give a first axis of their own.

    Args:
        q: in [0, 1]: a number, or a vector.
        method: between two elements "linear", "lower", "higher", "midpoint" or "nearest"
            (Hyndman and Fan, "Sample quantiles in statistical packages", 1996, type 7).

    >>> engine.quantile(engine.asarray([1.0, 2.0, 4.0]), 0.75)
    Tensor(3., dtype=float32)
    """
    return _quantile("quantile", x, q, axis, keepdims, method, skip=False)


def nanquantile(
    x: Tensor, q: Tensor | float, /, *, axis: Axes = None, keepdims: bool = False,
    method: str = "linear",
) -> Tensor:  # fmt: skip
    """quantile of the elements that are not NaN; NaN where there is none.

    >>> engine.nanquantile(engine.asarray([1.0, float("nan"), 3.0]), 0.5)
    Tensor(2., dtype=float32)
    """
    return _quantile("nanquantile", x, q, axis, keepdims, method, skip=True)


def median(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The middle element, or the mean of the two middle ones, over the axes named, or all. NaN if
    there is one.

    >>> engine.median(engine.asarray([1.0, 9.0, 2.0]))
    Tensor(2., dtype=float32)
    """
    return _quantile("median", x, 0.5, axis, keepdims, "linear", skip=False)


def nanmedian(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """median of the elements that are not NaN; NaN where there is none.

    >>> engine.nanmedian(engine.asarray([1.0, float("nan"), 3.0]))
    Tensor(2., dtype=float32)
    """
    return _quantile("nanmedian", x, 0.5, axis, keepdims, "linear", skip=True)


def _edges(x: np.ndarray, bins: int, limits: tuple[float, float] | None) -> np.ndarray:
    if bins < 1:
        raise ValueError(f"histogram: expected at least one bin, got {bins}")
    if limits is None:
        low, high = (float(x.min()), float(x.max())) if x.size else (0.0, 1.0)
    else:
        low, high = limits
    if not (np.isfinite(low) and np.isfinite(high) and low <= high):
        raise ValueError(f"histogram: the range from {low} to {high} is none")
    if low == high:
        low, high = low - 0.5, high + 0.5
    return np.linspace(low, high, bins + 1)


def histogram(
    x: Tensor, /, bins: int | Tensor = 10, *, range: tuple[float, float] | None = None,
    weights: Tensor | None = None, density: bool = False,
) -> Histogram:  # fmt: skip
    """(counts, edges): how many elements fall into each bin, edges[i] <= x < edges[i + 1], the last
    bin closed on both sides. Elements outside are not counted.

    Args:
        bins: a number of equal bins over `range` (the elements' own by default), or rising edges.
        weights: of x's shape; their sums instead of counts.
        density: divided by total and width, so that the integral is 1; float64.

    >>> engine.histogram(engine.asarray([1.0, 2.0, 2.5]), 2).counts
    Tensor([1, 2], dtype=int64)
    """
    check_tensor("histogram", x)
    flat = engine.reshape(x.detach(), (-1,))
    if isinstance(bins, Tensor):
        exactly_ndim("histogram", bins, 1)
        edges = bins.detach()
    else:
        edges = engine.asarray(_edges(flat.numpy(), bins, range))
        edges = edges.astype(x.dtype) if is_floating(x.dtype) else edges
    n = edges.shape[0] - 1
    at = engine.searchsorted(edges, flat, side="right") - 1
    at = engine.where(flat == edges[-1], n - 1, at)
    inside = engine.logical_and(at >= 0, at < n)
    if weights is None:
        counts = engine.bincount(at[inside], minlength=n)
    else:
        kept = engine.reshape(weights, (-1,))[inside]
        counts = engine.bincount(at[inside], kept, minlength=n)
    if density:
        wide = counts.astype(engine.float64)
        counts = wide / (engine.sum(wide) * engine.diff(edges).astype(engine.float64))
    return Histogram(counts, edges)
