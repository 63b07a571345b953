"""Padding."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import engine
from engine import Tensor
from engine.nn.functional.beside import beside_input
from engine.nn.functional.sizes import check_one_of, is_channels_last

# What numpy calls the ways of filling from the picture itself.
MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@beside_input
def pad(x: Tensor, pad: Sequence[int], mode: str = "constant", value: float = 0.0) -> Tensor:
    """x with more elements (or, constant only, fewer) at the ends of its last axes.

    Args:
        x: any dtype; the modes that read x want (N, C, ...) or (C, ...).
        pad: (before, after) of the last axis, then of the one before it, and so on. Negative
            numbers cut, in the constant mode.
        mode: "constant" fills with value; "reflect" mirrors without the edge; "replicate" repeats
            the edge; "circular" goes on at the other end.
        value: for the constant mode.

    Raises:
        ValueError: an odd count of numbers, more than x has axes for, an unknown mode, or a
            reflection or wrap wider than the axis has elements for.

    >>> pad(engine.asarray([[1.0, 2.0, 3.0]]), (1, 2), "reflect").tolist()
    [[2.0, 1.0, 2.0, 3.0, 2.0, 1.0]]
    """
    check_one_of("pad", "mode", mode, ("constant", *MODES))
    widths = [int(p) for p in pad]
    if len(widths) % 2 or len(widths) > 2 * x.ndim:
        raise ValueError(
            f"pad: {len(widths)} numbers for x of shape {x.shape}; expected (before, after) for "
            f"each of the last axes, at most {2 * x.ndim} numbers"
        )
    axes = [(x.ndim - 1 - k, widths[2 * k], widths[2 * k + 1]) for k in range(len(widths) // 2)]
    axes = [(axis, before, after) for axis, before, after in axes if before or after]
    if mode == "constant":
        return _constant(x, axes, value)
    for axis, before, after in axes:
        size = x.shape[axis]
        limit = {"reflect": size - 1, "replicate": max(before, after), "circular": size}[mode]
        if size == 0 or min(before, after) < 0 or max(before, after) > limit:
            raise ValueError(
                f"pad: ({before}, {after}) for axis {axis} of shape {x.shape} in mode {mode!r}; "
                f"expected 0 to {max(limit, 0)} and a non-empty axis"
            )
        source = np.pad(np.arange(size), (before, after), mode=MODES[mode])  # type: ignore[call-overload]
        x = engine.take(x, engine.asarray(source), axis=axis)
    return x


def _constant(x: Tensor, axes: list[tuple[int, int, int]], value: float) -> Tensor:
    if is_channels_last(x):  # the result as well
        place = (0, 3, 1, 2)  # of N, C, H, W in N, H, W, C
        rows = engine.permute_dims(x, (0, 2, 3, 1))
        padded = _constant(rows, [(place[axis], a, b) for axis, a, b in axes], value)
        return engine.permute_dims(padded, (0, 3, 1, 2))
    shape = list(x.shape)
    cut, inside = [slice(None)] * x.ndim, [slice(None)] * x.ndim
    for axis, before, after in axes:
        size = shape[axis]
        shape[axis] = size + before + after
        if shape[axis] < 0 or -before > size or -after > size:
            raise ValueError(
                f"pad: ({before}, {after}) cuts more than axis {axis} of shape {x.shape} has"
            )
        cut[axis] = slice(max(-before, 0), size - max(-after, 0))
        inside[axis] = slice(max(before, 0), shape[axis] - max(after, 0))
    if any(min(before, after) < 0 for _, before, after in axes):
        x = x[tuple(cut)]
    if all(max(before, after) <= 0 for _, before, after in axes):
        return x
    out = engine.full(tuple(shape), value, dtype=x.dtype)
    out[tuple(inside)] = x
    return out
