"""More pooling layers; those of the models of this zoo are in pooling.py."""

from __future__ import annotations

from collections.abc import Sequence

from engine import Tensor
from engine.nn import functional as F
from engine.nn.functional import ints
from engine.nn.functional.adaptive_pooling import Size
from engine.nn.module import Module

# One number for all axes, or one an axis.
Ints = int | Sequence[int]


class MaxPool1d(Module):
    """The largest element of each window of x (N, C, L); see MaxPool2d.

    >>> MaxPool1d(2)(engine.ones((1, 3, 8))).shape
    (1, 3, 4)
    """

    def __init__(
        self,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = 0,
        dilation: Ints = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = ints(kernel_size, 1, "kernel_size")
        self.stride = self.kernel_size if stride is None else ints(stride, 1, "stride")
        self.padding = ints(padding, 1, "padding")
        self.dilation = ints(dilation, 1, "dilation")
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, x: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        return F.max_pool1d(
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


class AvgPool1d(Module):
    """The mean of each window of x (N, C, L); see AvgPool2d.

    >>> AvgPool1d(2)(engine.ones((1, 3, 8))).shape
    (1, 3, 4)
    """

    def __init__(
        self,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = ints(kernel_size, 1, "kernel_size")
        self.stride = self.kernel_size if stride is None else ints(stride, 1, "stride")
        self.padding = ints(padding, 1, "padding")
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, x: Tensor) -> Tensor:
        return F.avg_pool1d(
            x,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AdaptiveAvgPool1d(Module):
    """Means of x (N, C, L) over output_size windows that cover it evenly; None keeps a size.

    >>> AdaptiveAvgPool1d(1)(engine.ones((1, 3, 8))).shape
    (1, 3, 1)
    """

    def __init__(self, output_size: Size) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, x: Tensor) -> Tensor:
        return F.adaptive_avg_pool1d(x, self.output_size)

    def extra_repr(self) -> str:
        return f"{self.output_size}"


class AdaptiveMaxPool1d(Module):
    """The largest elements of x (N, C, L) over output_size windows that cover it evenly.

    >>> AdaptiveMaxPool1d(1)(engine.ones((1, 3, 8))).shape
    (1, 3, 1)
    """

    def __init__(self, output_size: Size, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def forward(self, x: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        return F.adaptive_max_pool1d(x, self.output_size, self.return_indices)

    def extra_repr(self) -> str:
        return f"{self.output_size}"


class LPPool1d(Module):
    """(sum of x^p)^(1/p) of each window of x (N, C, L), p = norm_type.

    >>> LPPool1d(2, 2)(engine.ones((1, 3, 8))).shape
    (1, 3, 4)
    """

    def __init__(
        self,
        norm_type: float,
        kernel_size: Ints,
        stride: Ints | None = None,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = ints(kernel_size, 1, "kernel_size")
        self.stride = self.kernel_size if stride is None else ints(stride, 1, "stride")
        self.ceil_mode = ceil_mode

    def forward(self, x: Tensor) -> Tensor:
        return F.lp_pool1d(x, self.norm_type, self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self) -> str:
        return f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}"


class MaxUnpool1d(Module):
    """Puts the values of a MaxPool1d with return_indices back in place, zeros elsewhere.

    >>> y, where = F.max_pool1d(engine.ones((1, 3, 8)), 2, return_indices=True)
    >>> MaxUnpool1d(2)(y, where).shape
    (1, 3, 8)
    """

    def __init__(self, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0) -> None:
        super().__init__()
        self.kernel_size = ints(kernel_size, 1, "kernel_size")
        self.stride = self.kernel_size if stride is None else ints(stride, 1, "stride")
        self.padding = ints(padding, 1, "padding")

    def forward(
        self, x: Tensor, indices: Tensor, output_size: Sequence[int] | None = None
    ) -> Tensor:
        return F.max_unpool1d(x, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxPool3d(Module):
    """The largest element of each window of x (N, C, D, H, W); see MaxPool2d.

    >>> MaxPool3d(2)(engine.ones((1, 3, 8, 8, 8))).shape
    (1, 3, 4, 4, 4)
    """

    def __init__(
        self,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = 0,
        dilation: Ints = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = ints(kernel_size, 3, "kernel_size")
        self.stride = self.kernel_size if stride is None else ints(stride, 3, "stride")
        self.padding = ints(padding, 3, "padding")
        self.dilation = ints(dilation, 3, "dilation")
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, x: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        return F.max_pool3d(
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


class AvgPool3d(Module):
    """The mean of each window of x (N, C, D, H, W); see AvgPool2d.

    >>> AvgPool3d(2)(engine.ones((1, 3, 8, 8, 8))).shape
    (1, 3, 4, 4, 4)
    """

    def __init__(
        self,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = ints(kernel_size, 3, "kernel_size")
        self.stride = self.kernel_size if stride is None else ints(stride, 3, "stride")
        self.padding = ints(padding, 3, "padding")
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, x: Tensor) -> Tensor:
        return F.avg_pool3d(
            x,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AdaptiveAvgPool3d(Module):
    """Means of x (N, C, D, H, W) over output_size windows that cover it evenly; None keeps a size.

    >>> AdaptiveAvgPool3d(1)(engine.ones((1, 3, 8, 8, 8))).shape
    (1, 3, 1, 1, 1)
    """

    def __init__(self, output_size: Size) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, x: Tensor) -> Tensor:
        return F.adaptive_avg_pool3d(x, self.output_size)

    def extra_repr(self) -> str:
        return f"{self.output_size}"


class AdaptiveMaxPool3d(Module):
    """The largest elements of x (N, C, D, H, W) over output_size windows that cover it evenly.

    >>> AdaptiveMaxPool3d(1)(engine.ones((1, 3, 8, 8, 8))).shape
    (1, 3, 1, 1, 1)
    """

    def __init__(self, output_size: Size, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def forward(self, x: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        return F.adaptive_max_pool3d(x, self.output_size, self.return_indices)

    def extra_repr(self) -> str:
        return f"{self.output_size}"


class LPPool3d(Module):
    """(sum of x^p)^(1/p) of each window of x (N, C, D, H, W), p = norm_type.

    >>> LPPool3d(2, 2)(engine.ones((1, 3, 8, 8, 8))).shape
    (1, 3, 4, 4, 4)
    """

    def __init__(
        self,
        norm_type: float,
        kernel_size: Ints,
        stride: Ints | None = None,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = ints(kernel_size, 3, "kernel_size")
        self.stride = self.kernel_size if stride is None else ints(stride, 3, "stride")
        self.ceil_mode = ceil_mode

    def forward(self, x: Tensor) -> Tensor:
        return F.lp_pool3d(x, self.norm_type, self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self) -> str:
        return f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}"


class MaxUnpool3d(Module):
    """Puts the values of a MaxPool3d with return_indices back in place, zeros elsewhere.

    >>> y, where = F.max_pool3d(engine.ones((1, 3, 8, 8, 8)), 2, return_indices=True)
    >>> MaxUnpool3d(2)(y, where).shape
    (1, 3, 8, 8, 8)
    """

    def __init__(self, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0) -> None:
        super().__init__()
        self.kernel_size = ints(kernel_size, 3, "kernel_size")
        self.stride = self.kernel_size if stride is None else ints(stride, 3, "stride")
        self.padding = ints(padding, 3, "padding")

    def forward(
        self, x: Tensor, indices: Tensor, output_size: Sequence[int] | None = None
    ) -> Tensor:
        return F.max_unpool3d(x, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AdaptiveMaxPool2d(Module):
    """The largest elements of x (N, C, H, W) over output_size windows that cover it evenly.

    >>> AdaptiveMaxPool2d(1)(engine.ones((1, 3, 8, 8))).shape
    (1, 3, 1, 1)
    """

    def __init__(self, output_size: Size, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def forward(self, x: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        return F.adaptive_max_pool2d(x, self.output_size, self.return_indices)

    def extra_repr(self) -> str:
        return f"{self.output_size}"


class LPPool2d(Module):
    """(sum of x^p)^(1/p) of each window of x (N, C, H, W), p = norm_type.

    >>> LPPool2d(2, 2)(engine.ones((1, 3, 8, 8))).shape
    (1, 3, 4, 4)
    """

    def __init__(
        self,
        norm_type: float,
        kernel_size: Ints,
        stride: Ints | None = None,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = ints(kernel_size, 2, "kernel_size")
        self.stride = self.kernel_size if stride is None else ints(stride, 2, "stride")
        self.ceil_mode = ceil_mode

    def forward(self, x: Tensor) -> Tensor:
        return F.lp_pool2d(x, self.norm_type, self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self) -> str:
        return f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}"


class MaxUnpool2d(Module):
    """Puts the values of a MaxPool2d with return_indices back in place, zeros elsewhere.

    >>> y, where = F.max_pool2d(engine.ones((1, 3, 8, 8)), 2, return_indices=True)
    >>> MaxUnpool2d(2)(y, where).shape
    (1, 3, 8, 8)
    """

    def __init__(self, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0) -> None:
        super().__init__()
        self.kernel_size = ints(kernel_size, 2, "kernel_size")
        self.stride = self.kernel_size if stride is None else ints(stride, 2, "stride")
        self.padding = ints(padding, 2, "padding")

    def forward(
        self, x: Tensor, indices: Tensor, output_size: Sequence[int] | None = None
    ) -> Tensor:
        return F.max_unpool2d(x, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"
