"""Pictures of another size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

import engine
from engine import _C, Tensor
from engine.nn.functional.adaptive_pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
)
from engine.nn.functional.beside import beside_input
from engine.nn.functional.sizes import check_one_of, is_channels_last

# The axes each mode is for; None for any.
MODES = {
    "nearest": None,
    "nearest-exact": None,
    "area": None,
    "linear": 1,
    "bilinear": 2,
    "bicubic": 2,
    "trilinear": 3,
}


@beside_input
def interpolate(
    x: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """x (N, C, L), (N, C, H, W) or (N, C, D, H, W) at another size.

    The linear and cubic modes are linear in x along one axis at a time, so each is a product with
    a matrix of weights (size, old size).

    Args:
        size: of the axes after the channels.
        scale_factor: instead of size: size = floor(old size * scale_factor).
        mode: "nearest" (floor of the position), "nearest-exact" (nearest centre), "linear",
            "bilinear", "trilinear", "bicubic" (Keys, 1981, a = -0.75, or -0.5 with antialias), or
            "area" (means over windows that cover x evenly).
        align_corners: whether the centres of the corner pixels stay, instead of the corners; linear
            and cubic modes only.
        recompute_scale_factor: whether the size, rounded down, decides the scale.
        antialias: whether windows grow when pictures shrink; "bilinear" and "bicubic" only.

    Raises:
        ValueError: a mode that does not fit x, neither or both of size and scale_factor.

    >>> interpolate(engine.asarray([[[1.0, 3.0]]]), 4, mode="linear").tolist()
    [[[1.0, 1.5, 2.5, 3.0]]]
    """
    check_one_of("interpolate", "mode", mode, tuple(MODES))
    axes = x.ndim - 2
    if axes not in (1, 2, 3) or MODES[mode] not in (None, axes):
        raise ValueError(
            f"interpolate: x has shape {x.shape} and mode is {mode!r}; expected (N, C, L) for "
            "'linear', (N, C, H, W) for 'bilinear' and 'bicubic', (N, C, D, H, W) for 'trilinear', "
            "any of them for the other modes"
        )
    if antialias and mode not in ("bilinear", "bicubic"):
        raise ValueError(f"interpolate: antialias with mode {mode!r}; it is for 'bilinear' and "
                         "'bicubic'")  # fmt: skip
    if align_corners is not None and MODES[mode] is None:
        raise ValueError(f"interpolate: align_corners with mode {mode!r}; it is for the linear and "
                         "cubic modes")  # fmt: skip
    old = x.shape[2:]
    new, scales = _sizes(old, size, scale_factor, bool(recompute_scale_factor))
    if mode == "area":
        pool = {1: adaptive_avg_pool1d, 2: adaptive_avg_pool2d, 3: adaptive_avg_pool3d}[axes]
        return pool(x, new)
    if mode.startswith("nearest"):
        for k, (n, m, scale) in enumerate(zip(old, new, scales, strict=True)):
            at = _nearest(n, m, scale, mode == "nearest-exact")
            x = engine.take(x, engine.asarray(at), axis=2 + k)
        return x
    kind = "cubic" if mode == "bicubic" else "linear"
    last = is_channels_last(x)
    y = engine.permute_dims(x, (0, 2, 3, 1)) if last else x
    for k, (n, m, scale) in enumerate(zip(old, new, scales, strict=True)):
        weights = _weights(kind, n, m, scale, bool(align_corners), antialias)
        y = _along(y, engine.asarray(weights).astype(x.dtype), (1 if last else 2) + k)
    return engine.permute_dims(y, (0, 3, 1, 2)) if last else y


def _sizes(
    old: Sequence[int],
    size: int | Sequence[int] | None,
    scale_factor: float | Sequence[float] | None,
    recompute: bool,
) -> tuple[tuple[int, ...], tuple[float | None, ...]]:
    """The new sizes, and old / new where it is not just their quotient."""
    if (size is None) == (scale_factor is None):
        raise ValueError("interpolate: expected one of size and scale_factor")
    value = size if scale_factor is None else scale_factor
    many = (value,) * len(old) if isinstance(value, int | float) else tuple(value or ())
    if len(many) != len(old):
        raise ValueError(
            f"interpolate: {len(many)} numbers for the size of {len(old)} axes, {tuple(old)}"
        )
    scales: tuple[float | None, ...] = (None,) * len(old)
    if scale_factor is None:
        new = tuple(int(v) for v in many)
    else:
        new = tuple(math.floor(n * float(v)) for n, v in zip(old, many, strict=True))
        if not recompute:
            scales = tuple(1 / float(v) for v in many)
    if min(*new, *old) < 1:
        raise ValueError(f"interpolate: from {tuple(old)} to {new}; expected sizes of 1 or more")
    return new, scales


def _nearest(n: int, m: int, scale: float | None, exact: bool) -> np.ndarray:
    # In float32, as everybody who trained with these pictures had it: positions on the border
    # between two pixels fall on one side by rounding.
    step = np.float32(n / m if scale is None else scale)
    at = (np.arange(m, dtype=np.float32) + np.float32(0.5 if exact else 0)) * step
    return np.minimum(np.floor(at).astype(np.int64), n - 1)


def _cubic(t: np.ndarray, a: float) -> np.ndarray:
    t = np.abs(t)
    near = ((a + 2) * t - (a + 3)) * t * t + 1
    far = ((a * t - 5 * a) * t + 8 * a) * t - 4 * a
    return np.where(t <= 1, near, np.where(t < 2, far, 0.0))


@lru_cache(maxsize=64)
def _weights(
    kind: str, n: int, m: int, scale: float | None, align_corners: bool, antialias: bool
) -> np.ndarray:
    """(m, n): how much of each old element is in each new one."""
    if align_corners:
        step = (n - 1) / (m - 1) if m > 1 else 0.0
    else:
        step = n / m if scale is None else scale
    i = np.arange(m, dtype=np.float64)
    if antialias:
        reach = 1.0 if kind == "linear" else 2.0
        stretch = max(step, 1.0)
        centre = step * (i + 0.5)
        first = np.maximum((centre - reach * stretch + 0.5).astype(np.int64), 0)
        end = np.minimum((centre + reach * stretch + 0.5).astype(np.int64), n)
        j = np.arange(n)
        t = (j + 0.5 - centre[:, None]) / stretch
        w = np.maximum(1 - np.abs(t), 0) if kind == "linear" else _cubic(t, -0.5)
        w = np.where((j >= first[:, None]) & (j < end[:, None]), w, 0.0)
        return w / w.sum(1, keepdims=True)
    at = step * i if align_corners else step * (i + 0.5) - 0.5
    if kind == "linear":
        at = np.maximum(at, 0.0)
    start = np.floor(at)
    taps = np.arange(2) if kind == "linear" else np.arange(-1, 3)
    t = taps - (at - start)[:, None]
    values = 1 - np.abs(t) if kind == "linear" else _cubic(t, -0.75)
    columns = np.clip(start.astype(np.int64)[:, None] + taps, 0, n - 1)
    w = np.zeros((m, n))
    np.add.at(w, (np.arange(m)[:, None], columns), values)
    return w


def _along(x: Tensor, weights: Tensor, axis: int) -> Tensor:
    """Each line of x along an axis, multiplied by weights (new, old)."""
    before, after = x.shape[:axis], x.shape[axis + 1 :]
    m, n = weights.shape
    if not after:
        return _C.linear(x, weights)
    y = weights @ x.reshape((math.prod(before), n, math.prod(after)))
    return y.reshape((*before, m, *after))


@beside_input
def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool = False) -> Tensor:
    """Where grid_sample should look for an affine map of the picture.

    Args:
        theta: (N, 2, 3), or (N, 3, 4) for volumes: from positions in the result to those in x,
            both from -1 to 1.
        size: (N, C, H, W), or (N, C, D, H, W), of the result.
        align_corners: whether -1 and 1 are the centres of the corner pixels, instead of the
            corners.

    Returns:
        (N, H, W, 2) of (column, row), or (N, D, H, W, 3) of (column, row, depth).

    Raises:
        ValueError: shapes that do not fit.

    >>> affine_grid(engine.asarray([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]), (1, 1, 2, 2)).shape
    (1, 2, 2, 2)
    """
    axes = len(size) - 2
    if axes not in (2, 3) or theta.shape != (size[0], axes, axes + 1):
        raise ValueError(
            f"affine_grid: theta has shape {theta.shape} for size {tuple(size)}; expected "
            "(N, 2, 3) for (N, C, H, W) or (N, 3, 4) for (N, C, D, H, W)"
        )

    def places(count: int) -> np.ndarray:
        even = np.linspace(-1, 1, count) if count > 1 else np.zeros(count)
        return even if align_corners else even * ((count - 1) / count)

    mesh = np.meshgrid(*(places(n) for n in size[2:]), indexing="ij")
    base = np.stack([*reversed(mesh), np.ones_like(mesh[0])], axis=-1).reshape(1, -1, axes + 1)
    grid = engine.asarray(base).astype(theta.dtype) @ engine.swapaxes(theta, 1, 2)
    return grid.reshape((size[0], *size[2:], axes))
