"""Windows as columns, and channels as pixels."""

from __future__ import annotations

import engine
from engine import _C, Tensor
from engine.nn.functional.sizes import IntOrPair, ints, with_batch


def unfold(
    x: Tensor,
    kernel_size: IntOrPair,
    dilation: IntOrPair = 1,
    padding: IntOrPair = 0,
    stride: IntOrPair = 1,
) -> Tensor:
    """Every window of x (N, C, H, W) as a column: (N, C * kh * kw, windows), windows by rows.

    Zeros stand for what lies in the padding.

    Raises:
        ValueError: a window that does not fit.

    >>> unfold(engine.ones((1, 3, 4, 4)), 2, stride=2).shape
    (1, 12, 4)
    """
    x, single = with_batch("unfold", x, 2)
    y = _C._unfold(
        x,
        ints(kernel_size, 2, "kernel_size"),
        ints(dilation, 2, "dilation"),
        ints(padding, 2, "padding"),
        ints(stride, 2, "stride"),
    )
    return engine.squeeze(y, 0) if single else y


def fold(
    x: Tensor,
    output_size: IntOrPair,
    kernel_size: IntOrPair,
    dilation: IntOrPair = 1,
    padding: IntOrPair = 0,
    stride: IntOrPair = 1,
) -> Tensor:
    """Adds columns (N, C * kh * kw, windows) up to pictures (N, C, *output_size): unfold's
    transpose.

    Raises:
        ValueError: not as many columns as output_size has windows.

    >>> fold(engine.ones((1, 12, 4)), (4, 4), 2, stride=2).shape
    (1, 3, 4, 4)
    """
    single = x.ndim == 2
    y = _C._fold(
        engine.expand_dims(x, axis=0) if single else x,
        ints(output_size, 2, "output_size"),
        ints(kernel_size, 2, "kernel_size"),
        ints(dilation, 2, "dilation"),
        ints(padding, 2, "padding"),
        ints(stride, 2, "stride"),
    )
    return engine.squeeze(y, 0) if single else y


def pixel_shuffle(x: Tensor, upscale_factor: int) -> Tensor:
    """(..., C r^2, H, W) -> (..., C, H r, W r): channels become pixels (Shi et al.,
    arXiv:1609.05158).

    Raises:
        ValueError: channels that are no multiple of r^2.

    >>> pixel_shuffle(engine.ones((1, 8, 3, 3)), 2).shape
    (1, 2, 6, 6)
    """
    r = upscale_factor
    if x.ndim < 3 or r < 1 or x.shape[-3] % (r * r):
        raise ValueError(
            f"pixel_shuffle: x has shape {x.shape}, expected (..., C, H, W) with C a multiple of "
            f"upscale_factor^2 = {r * r}"
        )
    *batch, c, h, w = x.shape
    b = len(batch)
    parts = x.reshape((*batch, c // (r * r), r, r, h, w))
    order = (*range(b), b, b + 3, b + 1, b + 4, b + 2)
    return engine.permute_dims(parts, order).reshape((*batch, c // (r * r), h * r, w * r))


def pixel_unshuffle(x: Tensor, downscale_factor: int) -> Tensor:
    """(..., C, H r, W r) -> (..., C r^2, H, W): undoes pixel_shuffle.

    Raises:
        ValueError: rows or columns that are no multiple of r.

    >>> pixel_unshuffle(engine.ones((1, 2, 6, 6)), 2).shape
    (1, 8, 3, 3)
    """
    r = downscale_factor
    if x.ndim < 3 or r < 1 or x.shape[-2] % r or x.shape[-1] % r:
        raise ValueError(
            f"pixel_unshuffle: x has shape {x.shape}, expected (..., C, H, W) with H and W "
            f"multiples of downscale_factor = {r}"
        )
    *batch, c, h, w = x.shape
    b = len(batch)
    parts = x.reshape((*batch, c, h // r, r, w // r, r))
    order = (*range(b), b, b + 2, b + 4, b + 1, b + 3)
    return engine.permute_dims(parts, order).reshape((*batch, c * r * r, h // r, w // r))


def channel_shuffle(x: Tensor, groups: int) -> Tensor:
    """The channels of x (N, C, ...) dealt out among groups (Zhang et al., arXiv:1707.01083).

    Raises:
        ValueError: channels that are no multiple of groups.

    >>> channel_shuffle(engine.asarray([[[0.0], [1.0], [2.0], [3.0]]]), 2).flatten().tolist()
    [0.0, 2.0, 1.0, 3.0]
    """
    if x.ndim < 2 or groups < 1 or x.shape[1] % groups:
        raise ValueError(
            f"channel_shuffle: x has shape {x.shape}, expected (N, C, ...) with C a multiple of "
            f"groups = {groups}"
        )
    n, c, *rest = x.shape
    parts = x.reshape((n, groups, c // groups, *rest))
    return engine.swapaxes(parts, 1, 2).reshape(x.shape)
