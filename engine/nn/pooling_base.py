"""Pooling over any number of axes: the layers for one, two and three name their function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from engine import Tensor
from engine.nn.functional import ints
from engine.nn.functional.adaptive_pooling import Size
from engine.nn.module import Module

# One number for all axes, or one an axis.
Ints = int | Sequence[int]


class Windows(Module):
    """A layer that calls `function` on windows along the last `axes` axes."""

    axes: ClassVar[int]
    function: ClassVar[Callable[..., Any]]

    def __init__(self, kernel_size: Ints, stride: Ints | None, padding: Ints) -> None:
        super().__init__()
        self.kernel_size = ints(kernel_size, self.axes, "kernel_size")
        self.stride = self.kernel_size if stride is None else ints(stride, self.axes, "stride")
        self.padding = ints(padding, self.axes, "padding")

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxPool(Windows):
    """The largest element of each window."""

    def __init__(
        self,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = 0,
        dilation: Ints = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__(kernel_size, stride, padding)
        self.dilation = ints(dilation, self.axes, "dilation")
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, x: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        return self.function(
            x,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            self.ceil_mode,
            self.return_indices,
        )


class AvgPool(Windows):
    """The mean of each window."""

    def __init__(
        self,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__(kernel_size, stride, padding)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, x: Tensor) -> Tensor:
        return self.function(
            x, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad
        )


class MaxUnpool(Windows):
    """Puts what a MaxPool with return_indices gave back in place."""

    def __init__(self, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0) -> None:
        super().__init__(kernel_size, stride, padding)

    def forward(
        self, x: Tensor, indices: Tensor, output_size: Sequence[int] | None = None
    ) -> Tensor:
        return self.function(x, indices, self.kernel_size, self.stride, self.padding, output_size)


class LPPool(Windows):
    """(sum of x^p)^(1/p) of each window."""

    def __init__(
        self,
        norm_type: float,
        kernel_size: Ints,
        stride: Ints | None = None,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__(kernel_size, stride, 0)
        self.norm_type = norm_type
        self.ceil_mode = ceil_mode

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x, self.norm_type, self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self) -> str:
        return f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}"


class AdaptiveAvgPool(Module):
    """Means over windows that cover the last axes evenly."""

    function: ClassVar[Callable[..., Any]]

    def __init__(self, output_size: Size) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x, self.output_size)

    def extra_repr(self) -> str:
        return f"{self.output_size}"


class AdaptiveMaxPool(AdaptiveAvgPool):
    """The largest elements of windows that cover the last axes evenly."""

    def __init__(self, output_size: Size, return_indices: bool = False) -> None:
        super().__init__(output_size)
        self.return_indices = return_indices

    def forward(self, x: Tensor) -> Any:
        return self.function(x, self.output_size, self.return_indices)
