"""Convolution in one and three dimensions, and transposed convolution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import engine
from engine import Tensor
from engine.nn import functional as F
from engine.nn import init
from engine.nn.functional import ints
from engine.nn.functional.sizes import check_one_of
from engine.nn.module import Module
from engine.nn.parameter import Parameter

# One number for all axes, or one an axis.
Ints = int | Sequence[int]
PADDING = {"reflect": "reflect", "replicate": "replicate", "circular": "circular"}


class _Conv(Module):
    """What the convolutions share: sizes, and parameters that start uniform in
    +-1 / sqrt(fan-in)."""

    axes: ClassVar[int]
    transposed: ClassVar[bool] = False

    def _set_up(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Ints,
        stride: Ints,
        padding: str | Ints,
        dilation: Ints,
        groups: int,
        bias: bool,
    ) -> None:
        name = type(self).__name__
        if groups < 1 or in_channels < 1 or in_channels % groups or out_channels % groups:
            raise ValueError(
                f"{name}: in_channels={in_channels}, out_channels={out_channels}, groups={groups}; "
                "expected positive numbers, the channels multiples of groups"
            )
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = ints(kernel_size, self.axes, "kernel_size")
        self.stride = ints(stride, self.axes, "stride")
        self.padding: str | tuple[int, ...] = (
            padding if isinstance(padding, str) else ints(padding, self.axes, "padding")
        )
        self.dilation = ints(dilation, self.axes, "dilation")
        self.groups = groups
        first, second = (
            (in_channels, out_channels) if self.transposed else (out_channels, in_channels)
        )
        shape = (first, second // groups, *self.kernel_size)
        bound = 1 / math.sqrt(math.prod(shape[1:]))
        self.weight = Parameter(engine.empty(shape))
        init.uniform_(self.weight, -bound, bound)
        self.bias = Parameter(engine.empty(out_channels)) if bias else None
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        parts = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}"]
        defaults = {"stride": 1, "padding": 0, "dilation": 1}
        for name, default in defaults.items():
            if getattr(self, name) != (default,) * self.axes:
                parts.append(f"{name}={getattr(self, name)}")
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        return ", ".join(parts)


class _PlainConv(_Conv):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Ints,
        stride: Ints = 1,
        padding: str | Ints = 0,
        dilation: Ints = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
    ) -> None:
        super().__init__()
        check_one_of(type(self).__name__, "padding_mode", padding_mode, ("zeros", *PADDING))
        self.padding_mode = padding_mode
        self._set_up(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias
        )

    def forward(self, x: Tensor) -> Tensor:
        padding = self.padding
        if self.padding_mode != "zeros" and padding != "valid":
            if isinstance(padding, str):
                total = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size, strict=True)]
                widths = [w for t in reversed(total) for w in (t // 2, t - t // 2)]
            else:
                widths = [w for p in reversed(padding) for w in (p, p)]
            x = F.pad(x, widths, PADDING[self.padding_mode])
            padding = (0,) * self.axes
        function = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}[self.axes]
        return function(x, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


class Conv1d(_PlainConv):
    """Conv2d along one axis: x (N, C, L) -> (N, K, L'), L' = floor((L + 2 p - d (k - 1) - 1) / s)
    + 1.

    Args:
        padding: elements at each end; "same" (stride 1) or "valid".
        padding_mode: "zeros", "reflect", "replicate" or "circular".

    Parameters: weight (K, C / groups, k), bias (K,).

    >>> Conv1d(3, 8, 3, stride=2, padding=1)(engine.ones((1, 3, 32))).shape
    (1, 8, 16)
    """

    axes = 1


class Conv3d(_PlainConv):
    """Conv2d along three axes: x (N, C, D, H, W) -> (N, K, D', H', W').

    Parameters: weight (K, C / groups, kd, kh, kw), bias (K,).

    >>> Conv3d(3, 8, 3, padding=1)(engine.ones((1, 3, 4, 8, 8))).shape
    (1, 8, 4, 8, 8)
    """

    axes = 3


class _TransposedConv(_Conv):
    transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Ints,
        stride: Ints = 1,
        padding: Ints = 0,
        output_padding: Ints = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Ints = 1,
    ) -> None:
        super().__init__()
        self._set_up(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias
        )
        self.output_padding = ints(output_padding, self.axes, "output_padding")

    def forward(self, x: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        """
        Args:
            output_size: of the axes after the channels, where several sizes convolve to x's.

        Raises:
            ValueError: an output_size that does not.
        """
        more = self.output_padding
        around = ints(self.padding, self.axes, "padding")  # type: ignore[arg-type]
        if output_size is not None:
            wanted = [int(n) for n in output_size][-self.axes :]
            sizes = zip(
                x.shape[-self.axes :],
                self.stride,
                around,
                self.dilation,
                self.kernel_size,
                strict=True,
            )
            least = [(n - 1) * s - 2 * p + d * (k - 1) + 1 for n, s, p, d, k in sizes]
            more = tuple(w - low for w, low in zip(wanted, least, strict=True))
            if any(not 0 <= m < s for m, s in zip(more, self.stride, strict=True)):
                most = [low + s - 1 for low, s in zip(least, self.stride, strict=True)]
                raise ValueError(
                    f"{type(self).__name__}: output_size {tuple(output_size)} for x of shape "
                    f"{x.shape}; expected {tuple(least)} to {tuple(most)}"
                )
        function = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}[self.axes]
        return function(
            x, self.weight, self.bias, self.stride, around, more, self.groups, self.dilation
        )


class ConvTranspose1d(_TransposedConv):
    """ConvTranspose2d along one axis: x (N, C, L) -> (N, K, L').

    Parameters: weight (C, K / groups, k), bias (K,).

    >>> ConvTranspose1d(3, 8, 2, stride=2)(engine.ones((1, 3, 16))).shape
    (1, 8, 32)
    """

    axes = 1


class ConvTranspose2d(_TransposedConv):
    """What a Conv2d sends back to its input, as a layer that enlarges pictures (Zeiler et al.,
    CVPR 2010).

    Args:
        in_channels, out_channels: C and K; both multiples of groups.
        kernel_size, stride, padding, dilation: int or pair (rows, columns), pixels.
        output_padding: rows and columns more at the far ends; below stride or dilation.

    Shapes: x (N, C, H, W) -> (N, K, H', W'), H' = (H - 1) s - 2 p + d (kh - 1) + output_padding
    + 1.
    Parameters: weight (C, K / groups, kh, kw), bias (K,).

    >>> ConvTranspose2d(3, 8, 2, stride=2)(engine.ones((1, 3, 16, 16))).shape
    (1, 8, 32, 32)
    """

    axes = 2


class ConvTranspose3d(_TransposedConv):
    """ConvTranspose2d along three axes: x (N, C, D, H, W) -> (N, K, D', H', W').

    Parameters: weight (C, K / groups, kd, kh, kw), bias (K,).

    >>> ConvTranspose3d(3, 8, 2, stride=2)(engine.ones((1, 3, 2, 4, 4))).shape
    (1, 8, 4, 8, 8)
    """

    axes = 3
