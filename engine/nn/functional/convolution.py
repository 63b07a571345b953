"""Convolutions and their transposes, in one, two and three dimensions.

Those of one dimension are two-dimensional ones over a picture of one row; those of three, sums of
two-dimensional ones over the depth of the window.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import engine
from engine import _C, Tensor
from engine.nn.functional.padding import pad
from engine.nn.functional.sizes import IntOrPair, IntOrTriple, check_one_of, ints, with_batch


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x W^T + b: x (..., in), weight (out, in), bias (out,) -> (..., out).

    >>> linear(engine.ones((2, 3)), engine.ones((4, 3))).shape
    (2, 4)
    """
    return _C.linear(x, weight, bias)


def bilinear(x1: Tensor, x2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """y_k = x1^T W_k x2 + b_k: x1 (..., I), x2 (..., J), weight (K, I, J), bias (K,) -> (..., K).

    Raises:
        ValueError: sizes that do not fit.

    >>> bilinear(engine.ones((2, 3)), engine.ones((2, 4)), engine.ones((5, 3, 4))).shape
    (2, 5)
    """
    fits = weight.ndim == 3 and x1.ndim > 0 and x1.ndim == x2.ndim
    if not fits or (x1.shape[:-1], *weight.shape[1:]) != (
        x2.shape[:-1],
        x1.shape[-1],
        x2.shape[-1],
    ):
        raise ValueError(
            f"bilinear: x1 {x1.shape}, x2 {x2.shape} and weight {weight.shape}; expected (..., I), "
            "(..., J) and (K, I, J)"
        )
    k, i, j = weight.shape
    first = x1.reshape((-1, i)) @ engine.permute_dims(weight, (1, 0, 2)).reshape((i, k * j))
    y = (first.reshape((-1, k, j)) @ x2.reshape((-1, j, 1))).reshape((*x1.shape[:-1], k))
    return y if bias is None else y + bias


def _same_or(
    op: str,
    x: Tensor,
    padding: str | int | Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
) -> tuple[Tensor, Any]:
    """x and the numbers that `padding` means; "same" may pad x itself, by one at the far end."""
    count = len(kernel)
    if not isinstance(padding, str):
        return x, ints(padding, count, "padding")
    check_one_of(op, "padding", padding, ("same", "valid"))
    if padding == "valid":
        return x, (0,) * count
    if any(s != 1 for s in stride):
        raise ValueError(f"{op}: padding='same' needs stride 1, got {tuple(stride)}")
    total = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
    if any(t % 2 for t in total):
        extra = [e for t in reversed(total) for e in (0, t % 2)]
        x = pad(x, extra)
    return x, tuple(t // 2 for t in total)


def _check_weight(op: str, weight: Tensor, axes: int) -> None:
    if weight.ndim != axes + 2:
        raise ValueError(
            f"{op}: weight has shape {weight.shape}, expected {axes + 2} axes: two of channels "
            f"and {axes} of the window"
        )


def conv1d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: str | int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation of x (N, in, L) with weight (out, in / groups, k); see conv2d.

    >>> conv1d(engine.ones((1, 3, 8)), engine.ones((4, 3, 3)), padding="same").shape
    (1, 4, 8)
    """
    _check_weight("conv1d", weight, 1)
    x, single = with_batch("conv1d", x, 1)
    s, d = ints(stride, 1, "stride"), ints(dilation, 1, "dilation")
    x, p = _same_or("conv1d", x, padding, weight.shape[2:], s, d)
    row = engine.expand_dims(x, axis=2)  # (N, C, 1, L)
    y = _C.conv2d(row, engine.expand_dims(weight, axis=2), bias, (1, *s), (0, *p), (1, *d), groups)
    y = engine.squeeze(y, 2)
    return engine.squeeze(y, 0) if single else y


def conv2d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: IntOrPair = 1,
    padding: str | IntOrPair = 0,
    dilation: IntOrPair = 1,
    groups: int = 1,
    *,
    residual: Tensor | None = None,
    relu: bool = False,
) -> Tensor:
    """act(x * weight + bias + residual), where * is the cross-correlation of x (N, in, H, W) with
    weight (out, in / groups, kh, kw) and act is ReLU or nothing.

    Args:
        padding: zeros at each end, or "same" (stride 1: the size stays) or "valid" (none).
        residual: of the result's shape, added in the same pass over memory; None for nothing.
        relu: whether act is ReLU.

    >>> conv2d(engine.ones((1, 3, 8, 8)), engine.ones((4, 3, 3, 3)), stride=2, padding=1).shape
    (1, 4, 4, 4)
    """
    s, d = ints(stride, 2, "stride"), ints(dilation, 2, "dilation")
    single = x.ndim == 3
    if single:
        x = engine.expand_dims(x, axis=0)
        residual = None if residual is None else engine.expand_dims(residual, axis=0)
    x, p = _same_or("conv2d", x, padding, weight.shape[2:], s, d) if isinstance(padding, str) else (
        x, ints(padding, 2, "padding"))  # fmt: skip
    y = _C.conv2d(x, weight, bias, s, p, d, groups, residual=residual, relu=relu)
    return engine.squeeze(y, 0) if single else y


def conv3d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: IntOrTriple = 1,
    padding: str | IntOrTriple = 0,
    dilation: IntOrTriple = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation of x (N, in, D, H, W) with weight (out, in / groups, kd, kh, kw).

    >>> conv3d(engine.ones((1, 2, 4, 8, 8)), engine.ones((4, 2, 3, 3, 3)), padding=1).shape
    (1, 4, 4, 8, 8)
    """
    _check_weight("conv3d", weight, 3)
    x, single = with_batch("conv3d", x, 3)
    s, d = ints(stride, 3, "stride"), ints(dilation, 3, "dilation")
    x, p = _same_or("conv3d", x, padding, weight.shape[2:], s, d)
    x = pad(x, (0, 0, 0, 0, p[0], p[0]))
    n, c, depth = x.shape[:3]
    out_depth = (depth - d[0] * (weight.shape[2] - 1) - 1) // s[0] + 1
    if out_depth < 1:
        raise ValueError(
            f"conv3d: a window of depth {weight.shape[2]} (dilation {d[0]}) does not fit x of "
            f"depth {depth}, padding included"
        )
    frames = engine.permute_dims(x, (0, 2, 1, 3, 4))  # (N, D, C, H, W)
    y = None
    for k in range(weight.shape[2]):
        start = k * d[0]
        read = frames[:, start : start + s[0] * (out_depth - 1) + 1 : s[0]]
        pictures = read.reshape((n * out_depth, c, *x.shape[3:]))
        part = _C.conv2d(
            pictures, weight[:, :, k], bias if k == 0 else None, s[1:], p[1:], d[1:], groups
        )
        y = part if y is None else y + part
    if y is None:
        raise ValueError(f"conv3d: the window is empty: weight of shape {weight.shape}")
    y = y.reshape((n, out_depth, *y.shape[1:]))
    y = engine.permute_dims(y, (0, 2, 1, 3, 4))  # (N, K, D', H', W')
    return engine.squeeze(y, 0) if single else y


def conv_transpose1d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    output_padding: int | Sequence[int] = 0,
    groups: int = 1,
    dilation: int | Sequence[int] = 1,
) -> Tensor:
    """Transpose of conv1d: x (N, in, L), weight (in, out / groups, k); see conv_transpose2d.

    >>> conv_transpose1d(engine.ones((1, 3, 8)), engine.ones((3, 4, 2)), stride=2).shape
    (1, 4, 16)
    """
    _check_weight("conv_transpose1d", weight, 1)
    x, single = with_batch("conv_transpose1d", x, 1)
    y = _C.conv_transpose2d(
        engine.expand_dims(x, axis=2),
        engine.expand_dims(weight, axis=2),
        bias,
        (1, *ints(stride, 1, "stride")),
        (0, *ints(padding, 1, "padding")),
        (0, *ints(output_padding, 1, "output_padding")),
        groups,
        (1, *ints(dilation, 1, "dilation")),
    )
    y = engine.squeeze(y, 2)
    return engine.squeeze(y, 0) if single else y


def conv_transpose2d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: IntOrPair = 1,
    padding: IntOrPair = 0,
    output_padding: IntOrPair = 0,
    groups: int = 1,
    dilation: IntOrPair = 1,
) -> Tensor:
    """What conv2d with that weight sends back to its input, as a layer that enlarges pictures
    (Zeiler et al., CVPR 2010): H' = (H - 1) s - 2 p + d (kh - 1) + output_padding + 1.

    Args:
        x: (N, in, H, W).
        weight: (in, out / groups, kh, kw).
        output_padding: rows and columns more at the far ends; below stride or dilation.

    >>> conv_transpose2d(engine.ones((1, 3, 4, 4)), engine.ones((3, 5, 2, 2)), stride=2).shape
    (1, 5, 8, 8)
    """
    single = x.ndim == 3
    y = _C.conv_transpose2d(
        engine.expand_dims(x, axis=0) if single else x,
        weight,
        bias,
        ints(stride, 2, "stride"),
        ints(padding, 2, "padding"),
        ints(output_padding, 2, "output_padding"),
        groups,
        ints(dilation, 2, "dilation"),
    )
    return engine.squeeze(y, 0) if single else y


def conv_transpose3d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: IntOrTriple = 1,
    padding: IntOrTriple = 0,
    output_padding: IntOrTriple = 0,
    groups: int = 1,
    dilation: IntOrTriple = 1,
) -> Tensor:
    """Transpose of conv3d: x (N, in, D, H, W), weight (in, out / groups, kd, kh, kw).

    >>> conv_transpose3d(engine.ones((1, 3, 2, 4, 4)), engine.ones((3, 5, 2, 2, 2)), stride=2).shape
    (1, 5, 4, 8, 8)
    """
    _check_weight("conv_transpose3d", weight, 3)
    x, single = with_batch("conv_transpose3d", x, 3)
    s, p = ints(stride, 3, "stride"), ints(padding, 3, "padding")
    more, d = ints(output_padding, 3, "output_padding"), ints(dilation, 3, "dilation")
    n, c, depth = x.shape[:3]
    kernel = weight.shape[2]
    size = (depth - 1) * s[0] - 2 * p[0] + d[0] * (kernel - 1) + more[0] + 1
    if size < 1 or depth < 1 or kernel < 1 or not 0 <= more[0] < max(s[0], d[0]):
        raise ValueError(
            f"conv_transpose3d: x {x.shape} and weight {weight.shape} with stride {s[0]}, padding "
            f"{p[0]}, dilation {d[0]} and output_padding {more[0]} along the depth would give "
            f"depth {size}; expected 1 or more, and output_padding below stride or dilation"
        )
    pictures = engine.permute_dims(x, (0, 2, 1, 3, 4)).reshape((n * depth, c, *x.shape[3:]))
    y = None
    for k in range(kernel):
        part = _C.conv_transpose2d(
            pictures, weight[:, :, k], None, s[1:], p[1:], more[1:], groups, d[1:]
        )
        part = part.reshape((n, depth, 1, *part.shape[1:]))
        # Frame i goes to depth i s - p + k d: zeros between frames, then around them.
        spread = pad(part, (0,) * 6 + (0, s[0] - 1))
        spread = spread.reshape((n, depth * s[0], *part.shape[3:]))
        before = k * d[0] - p[0]
        part = pad(spread, (0,) * 6 + (before, size - before - depth * s[0]))
        y = part if y is None else y + part
    assert y is not None
    if bias is not None:
        y = y + bias.reshape((-1, 1, 1))
    y = engine.permute_dims(y, (0, 2, 1, 3, 4))
    return engine.squeeze(y, 0) if single else y
