"""Pooling layers."""

from __future__ import annotations

from engine import Tensor
from engine.nn import functional as F
from engine.nn.functional import IntOrPair, pair
from engine.nn.module import Module
from engine.nn.pooling_base import AvgPool, MaxPool


class MaxPool2d(MaxPool):
    """y[n, c, i, j] = max of x[n, c] over the window at (i s - p, j s - p); NaN if there is one.

    Args:
        kernel_size, padding, dilation: int or pair (rows, columns), pixels.
        stride: the same; None for the kernel size.
        return_indices: whether y comes with where each lies, row * W + column: MaxUnpool2d wants
            them.
        ceil_mode: also windows that stick out at the end.

    Shapes: x (N, C, H, W) -> (N, C, H', W'), H' = floor((H + 2 p - d (k - 1) - 1) / s) + 1.

    >>> MaxPool2d(3, stride=2, padding=1)(engine.ones((1, 64, 112, 112))).shape
    (1, 64, 56, 56)
    """

    axes = 2
    function = staticmethod(F.max_pool2d)


class AvgPool2d(AvgPool):
    """y[n, c, i, j] = mean of x[n, c] over the window at (i s - p, j s - p).

    Args:
        kernel_size, padding: int or pair (rows, columns), pixels.
        stride: the same; None for the kernel size.
        ceil_mode: also windows that stick out at the end.
        count_include_pad: whether zeros of the padding count.

    Shapes: x (N, C, H, W) -> (N, C, H', W'), H' = floor((H + 2 p - k) / s) + 1.

    >>> AvgPool2d(2)(engine.ones((1, 3, 8, 8))).shape
    (1, 3, 4, 4)
    """

    axes = 2
    function = staticmethod(F.avg_pool2d)


class AdaptiveAvgPool2d(Module):
    """Means over output_size windows that cover x evenly; 1 gives the mean of each whole map.

    Window k covers rows floor(k H / H') to ceil((k + 1) H / H'), and columns alike.

    Args:
        output_size: int or pair (H', W').

    Shapes: x (N, C, H, W) -> (N, C, H', W').

    >>> AdaptiveAvgPool2d(1)(engine.ones((1, 512, 7, 7))).shape
    (1, 512, 1, 1)
    """

    def __init__(self, output_size: IntOrPair) -> None:
        super().__init__()
        self.output_size = pair(output_size, "output_size")

    def forward(self, x: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(x, self.output_size)

    def extra_repr(self) -> str:
        return f"{self.output_size}"
