"""Reading pictures at given places."""

from __future__ import annotations

import itertools

import engine
from engine import Tensor
from engine.nn.functional.beside import beside_input
from engine.nn.functional.sizes import check_float, check_one_of


@beside_input
def grid_sample(
    x: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool = False,
) -> Tensor:
    """x (N, C, H, W) read at grid (N, H', W', 2): (N, C, H', W'), channels-last (Jaderberg et al.,
    arXiv:1506.02025). For volumes, x (N, C, D, H, W) and grid (N, D', H', W', 3).

    Args:
        grid: (column, row) or (column, row, depth) of each place, from -1 to 1.
        mode: "bilinear" (in volumes trilinear), "nearest", or "bicubic" (not in volumes).
        padding_mode: what lies outside: "zeros", the "border", or the "reflection".
        align_corners: whether -1 and 1 are the centres of the corner pixels, instead of the
            corners.

    Raises:
        ValueError: shapes or modes that do not fit.

    >>> grid_sample(engine.ones((1, 3, 4, 4)), engine.zeros((1, 2, 2, 2))).shape
    (1, 3, 2, 2)
    """
    check_float("grid_sample", x)
    check_float("grid_sample", grid, "grid")
    check_one_of("grid_sample", "mode", mode, ("bilinear", "nearest", "bicubic"))
    check_one_of("grid_sample", "padding_mode", padding_mode, ("zeros", "border", "reflection"))
    axes = x.ndim - 2
    if (
        axes not in (2, 3)
        or grid.shape[:1] != x.shape[:1]
        or (grid.ndim != x.ndim or grid.shape[-1] != axes or min(x.shape[2:]) < 1)
    ):
        raise ValueError(
            f"grid_sample: x has shape {x.shape}, grid {grid.shape}; expected (N, C, H, W) and "
            "(N, H', W', 2), or (N, C, D, H, W) and (N, D', H', W', 3)"
        )
    if mode == "bicubic" and axes == 3:
        raise ValueError("grid_sample: 'bicubic' is for (N, C, H, W), not for volumes")
    sizes = x.shape[2:]  # rows before columns, and grid the other way round
    places = []
    for axis, size in enumerate(sizes):
        at = grid[..., axes - 1 - axis]
        at = (at + 1.0) * ((size - 1) / 2) if align_corners else ((at + 1.0) * size - 1.0) * 0.5
        if mode != "bicubic":
            at = _inside(at, size, padding_mode, align_corners)
        places.append(at)
    n = x.shape[0]
    sample = engine.arange(n).reshape((n, *(1,) * axes))

    def read(indices: tuple[Tensor, ...]) -> Tensor:
        """(N, ..., C) at whole positions."""
        known = None
        if padding_mode == "zeros":
            for at, size in zip(indices, sizes, strict=True):
                here = (at >= 0) & (at <= size - 1)
                known = here if known is None else known & here
        held = tuple(
            engine.clip(at, 0.0, float(size - 1)).astype(engine.int64)
            for at, size in zip(indices, sizes, strict=True)
        )
        key = (sample, slice(None), *held)
        values = x[key]
        if known is None:
            return values
        return values * engine.expand_dims(known.astype(x.dtype), axis=-1)

    if mode == "nearest":
        y = read(tuple(engine.round(at.detach()) for at in places))
    else:
        starts = [engine.floor(at.detach()) for at in places]
        parts = [at - start for at, start in zip(places, starts, strict=True)]
        if mode == "bicubic":
            weights = [_cubic(t) for t in parts]
            taps = [[start + float(k) for k in (-1, 0, 1, 2)] for start in starts]
            taps = [
                [_inside(at, size, padding_mode, align_corners) for at in line]
                for line, size in zip(taps, sizes, strict=True)
            ]
        else:
            weights = [[1.0 - t, t] for t in parts]
            taps = [[start, start + 1.0] for start in starts]
        y = None
        for corner in itertools.product(range(len(taps[0])), repeat=axes):
            share = weights[0][corner[0]]
            for axis in range(1, axes):
                share = share * weights[axis][corner[axis]]
            values = read(tuple(taps[axis][corner[axis]] for axis in range(axes)))
            part = values * engine.expand_dims(share, axis=-1)
            y = part if y is None else y + part
    assert y is not None
    return engine.permute_dims(y, (0, axes + 1, *range(1, axes + 1)))


def _inside(at: Tensor, size: int, padding_mode: str, align_corners: bool) -> Tensor:
    """Positions moved into the picture, as the padding mode says."""
    if padding_mode == "reflection":
        low, span = (0.0, float(size - 1)) if align_corners else (-0.5, float(size))
        if span == 0:
            return at * 0.0
        away = engine.abs(at - low)
        turns = engine.floor(away.detach() / span)
        rest = away - turns * span
        at = engine.where(turns % 2.0 == 0, rest + low, span - rest + low)
    if padding_mode != "zeros":
        at = engine.clip(at, 0.0, float(size - 1))
    return at


def _cubic(t: Tensor) -> list[Tensor]:
    """Weights of the elements at -1, 0, 1 and 2 for a place at t in [0, 1) (Keys, 1981)."""
    a = -0.75

    def near(d: Tensor) -> Tensor:
        return ((a + 2) * d - (a + 3)) * d * d + 1.0

    def far(d: Tensor) -> Tensor:
        return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a

    return [far(t + 1.0), near(t), near(1.0 - t), far(2.0 - t)]
