"""More pooling layers; those of the models of this zoo are in pooling.py."""

from __future__ import annotations

from engine import Tensor
from engine.nn import functional as F
from engine.nn.pooling_base import (
    AdaptiveAvgPool,
    AdaptiveMaxPool,
    AvgPool,
    Ints,
    LPPool,
    MaxPool,
    MaxUnpool,
)


class MaxPool1d(MaxPool):
    """The largest element of each window of x (N, C, L); see MaxPool2d.

    >>> MaxPool1d(2)(engine.ones((1, 3, 8))).shape
    (1, 3, 4)
    """

    axes = 1
    function = staticmethod(F.max_pool1d)


class AvgPool1d(AvgPool):
    """The mean of each window of x (N, C, L); see AvgPool2d.

    >>> AvgPool1d(2)(engine.ones((1, 3, 8))).shape
    (1, 3, 4)
    """

    axes = 1
    function = staticmethod(F.avg_pool1d)


class AdaptiveAvgPool1d(AdaptiveAvgPool):
    """Means of x (N, C, L) over output_size windows that cover it evenly; None keeps a size.

    >>> AdaptiveAvgPool1d(1)(engine.ones((1, 3, 8))).shape
    (1, 3, 1)
    """

    function = staticmethod(F.adaptive_avg_pool1d)


class AdaptiveMaxPool1d(AdaptiveMaxPool):
    """The largest elements of x (N, C, L) over output_size windows that cover it evenly.

    >>> AdaptiveMaxPool1d(1)(engine.ones((1, 3, 8))).shape
    (1, 3, 1)
    """

    function = staticmethod(F.adaptive_max_pool1d)


class LPPool1d(LPPool):
    """(sum of x^p)^(1/p) of each window of x (N, C, L), p = norm_type.

    >>> LPPool1d(2, 2)(engine.ones((1, 3, 8))).shape
    (1, 3, 4)
    """

    axes = 1
    function = staticmethod(F.lp_pool1d)


class MaxUnpool1d(MaxUnpool):
    """Puts the values of a MaxPool1d with return_indices back in place, zeros elsewhere.

    >>> y, where = F.max_pool1d(engine.ones((1, 3, 8)), 2, return_indices=True)
    >>> MaxUnpool1d(2)(y, where).shape
    (1, 3, 8)
    """

    axes = 1
    function = staticmethod(F.max_unpool1d)


class MaxPool3d(MaxPool):
    """The largest element of each window of x (N, C, D, H, W); see MaxPool2d.

    >>> MaxPool3d(2)(engine.ones((1, 3, 8, 8, 8))).shape
    (1, 3, 4, 4, 4)
    """

    axes = 3
    function = staticmethod(F.max_pool3d)


class AvgPool3d(AvgPool):
    """The mean of each window of x (N, C, D, H, W); see AvgPool2d.

    >>> AvgPool3d(2)(engine.ones((1, 3, 8, 8, 8))).shape
    (1, 3, 4, 4, 4)
    """

    axes = 3
    function = staticmethod(F.avg_pool3d)

    def __init__(
        self,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__(kernel_size, stride, padding, ceil_mode, count_include_pad)
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


class AdaptiveAvgPool3d(AdaptiveAvgPool):
    """Means of x (N, C, D, H, W) over output_size windows that cover it evenly; None keeps a size.

    >>> AdaptiveAvgPool3d(1)(engine.ones((1, 3, 8, 8, 8))).shape
    (1, 3, 1, 1, 1)
    """

    function = staticmethod(F.adaptive_avg_pool3d)


class AdaptiveMaxPool3d(AdaptiveMaxPool):
    """The largest elements of x (N, C, D, H, W) over output_size windows that cover it evenly.

    >>> AdaptiveMaxPool3d(1)(engine.ones((1, 3, 8, 8, 8))).shape
    (1, 3, 1, 1, 1)
    """

    function = staticmethod(F.adaptive_max_pool3d)


class LPPool3d(LPPool):
    """(sum of x^p)^(1/p) of each window of x (N, C, D, H, W), p = norm_type.

    >>> LPPool3d(2, 2)(engine.ones((1, 3, 8, 8, 8))).shape
    (1, 3, 4, 4, 4)
    """

    axes = 3
    function = staticmethod(F.lp_pool3d)


class MaxUnpool3d(MaxUnpool):
    """Puts the values of a MaxPool3d with return_indices back in place, zeros elsewhere.

    >>> y, where = F.max_pool3d(engine.ones((1, 3, 8, 8, 8)), 2, return_indices=True)
    >>> MaxUnpool3d(2)(y, where).shape
    (1, 3, 8, 8, 8)
    """

    axes = 3
    function = staticmethod(F.max_unpool3d)


class AdaptiveMaxPool2d(AdaptiveMaxPool):
    """The largest elements of x (N, C, H, W) over output_size windows that cover it evenly.

    >>> AdaptiveMaxPool2d(1)(engine.ones((1, 3, 8, 8))).shape
    (1, 3, 1, 1)
    """

    function = staticmethod(F.adaptive_max_pool2d)


class LPPool2d(LPPool):
    """(sum of x^p)^(1/p) of each window of x (N, C, H, W), p = norm_type.

    >>> LPPool2d(2, 2)(engine.ones((1, 3, 8, 8))).shape
    (1, 3, 4, 4)
    """

    axes = 2
    function = staticmethod(F.lp_pool2d)


class MaxUnpool2d(MaxUnpool):
    """Puts the values of a MaxPool2d with return_indices back in place, zeros elsewhere.

    >>> y, where = F.max_pool2d(engine.ones((1, 3, 8, 8)), 2, return_indices=True)
    >>> MaxUnpool2d(2)(y, where).shape
    (1, 3, 8, 8)
    """

    axes = 2
    function = staticmethod(F.max_unpool2d)
