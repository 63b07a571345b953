"""Pooling layers."""

from __future__ import annotations

from engine import Tensor
from engine.nn import functional as F
from engine.nn.functional import IntOrPair, pair
from engine.nn.module import Module


class MaxPool2d(Module):
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

    def __init__(
        self,
        kernel_size: IntOrPair,
        stride: IntOrPair | None = None,
        padding: IntOrPair = 0,
        dilation: IntOrPair = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = pair(kernel_size, "kernel_size")
        self.stride = self.kernel_size if stride is None else pair(stride, "stride")
        self.padding = pair(padding, "padding")
        self.dilation = pair(dilation, "dilation")
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, x: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        return F.max_pool2d(
            x,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            self.ceil_mode,
            self.return_indices,
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool2d(Module):
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

    def __init__(
        self,
        kernel_size: IntOrPair,
        stride: IntOrPair | None = None,
        padding: IntOrPair = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = pair(kernel_size, "kernel_size")
        self.stride = self.kernel_size if stride is None else pair(stride, "stride")
        self.padding = pair(padding, "padding")
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, x: Tensor) -> Tensor:
        return F.avg_pool2d(
            x, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


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
