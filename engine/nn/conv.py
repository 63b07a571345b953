"""Convolution."""

from __future__ import annotations

import math

import engine
from engine import _C, Tensor
from engine.nn import functional as F
from engine.nn import init
from engine.nn.functional import IntOrPair, pair
from engine.nn.module import Module
from engine.nn.norm import BatchNorm2d
from engine.nn.parameter import Parameter


class Conv2d(Module):
    """y[n, k, i, j] = b[k] + sum of W[k, c, u, v] x[n, c, s i + d u - p, s j + d v - p],

    the sum over c, u and v, with stride s, dilation d and zero padding p (LeCun et al.,
    "Gradient-based learning applied to document recognition", 1998). Weight and bias start uniform
    in +-1 / sqrt(fan-in).

    Args:
        in_channels, out_channels: C and K; both multiples of groups.
        kernel_size, stride, padding, dilation: int or pair (rows, columns), pixels; a padding may
            also be "same" (stride 1) or "valid".
        groups: the channels are cut into that many groups, which do not see each other.
        bias: whether there is a b.

    Shapes: x (N, C, H, W) -> (N, K, H', W'), H' = floor((H + 2 p - d (kh - 1) - 1) / s) + 1.
    Parameters: weight (K, C / groups, kh, kw), bias (K,).

    >>> Conv2d(3, 8, 3, stride=2, padding=1)(engine.ones((1, 3, 32, 32))).shape
    (1, 8, 16, 16)
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: IntOrPair,
        stride: IntOrPair = 1,
        padding: str | IntOrPair = 0,
        dilation: IntOrPair = 1,
        groups: int = 1,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if groups < 1 or in_channels < 1 or in_channels % groups or out_channels % groups:
            raise ValueError(
                f"Conv2d: in_channels={in_channels}, out_channels={out_channels}, groups={groups}; "
                "expected positive numbers, the channels multiples of groups"
            )
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = pair(kernel_size, "kernel_size")
        self.stride = pair(stride, "stride")
        self.padding: str | tuple[int, int] = (
            padding if isinstance(padding, str) else pair(padding, "padding")
        )
        self.dilation = pair(dilation, "dilation")
        self.groups = groups
        shape = (out_channels, in_channels // groups, *self.kernel_size)
        bound = 1 / math.sqrt(shape[1] * shape[2] * shape[3])
        self.weight = Parameter(engine.empty(shape))
        init.uniform_(self.weight, -bound, bound)
        self.bias = Parameter(engine.empty(out_channels)) if bias else None
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(
        self,
        x: Tensor,
        norm: BatchNorm2d | None = None,
        residual: Tensor | None = None,
        relu: bool = False,
    ) -> Tensor:
        """act(norm(conv(x)) + residual), where act is ReLU or nothing.

        Where the norm uses its running statistics and no gradient is wanted, it costs no pass over
        memory of its own.

        Args:
            norm: what follows the convolution; None for nothing.
            residual: of the result's shape, or None for zero.
            relu: whether act is ReLU.

        >>> conv, norm = Conv2d(3, 8, 1), BatchNorm2d(8).eval()
        >>> conv(engine.ones((1, 3, 4, 4)), norm, relu=True).shape
        (1, 8, 4, 4)
        """
        window = self.stride, self.padding, self.dilation, self.groups
        if norm is None:
            return F.conv2d(x, self.weight, self.bias, *window, residual=residual, relu=relu)
        mean, var = norm.running_mean, norm.running_var
        fixed = not norm.training and norm._hooks is None
        if not fixed or mean is None or var is None or isinstance(self.padding, str):
            return norm(F.conv2d(x, self.weight, self.bias, *window), residual, relu)
        return _C._conv2d_norm(
            x,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            self.dilation,
            self.groups,
            norm.weight,
            norm.bias,
            mean,
            var,
            norm.eps,
            residual,
            relu,
        )

    def extra_repr(self) -> str:
        parts = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}"]
        defaults = {"stride": (1, 1), "padding": (0, 0), "dilation": (1, 1), "groups": 1}
        for name, default in defaults.items():
            if getattr(self, name) != default:
                parts.append(f"{name}={getattr(self, name)}")
        if self.bias is None:
            parts.append("bias=False")
        return ", ".join(parts)
