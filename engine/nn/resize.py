"""Layers that change the shape of pictures without parameters."""

from __future__ import annotations

from collections.abc import Sequence

import engine
from engine import Tensor
from engine.nn import functional as F
from engine.nn.functional import IntOrPair
from engine.nn.module import Module


class Upsample(Module):
    """x (N, C, ...) at another size; see functional.interpolate for the arguments.

    >>> Upsample(scale_factor=2, mode="bilinear")(engine.ones((1, 3, 4, 4))).shape
    (1, 3, 8, 8)
    """

    def __init__(
        self,
        size: int | Sequence[int] | None = None,
        scale_factor: float | Sequence[float] | None = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.size = size
        self.scale_factor = scale_factor
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, x: Tensor) -> Tensor:
        return F.interpolate(
            x,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            self.recompute_scale_factor,
        )

    def extra_repr(self) -> str:
        size = f"size={self.size}" if self.size else f"scale_factor={self.scale_factor}"
        return f"{size}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Upsample of x (N, C, H, W) in the mode "nearest".

    >>> UpsamplingNearest2d(scale_factor=2)(engine.ones((1, 3, 4, 4))).shape
    (1, 3, 8, 8)
    """

    def __init__(
        self,
        size: int | Sequence[int] | None = None,
        scale_factor: float | Sequence[float] | None = None,
    ) -> None:
        super().__init__(size, scale_factor, "nearest")


class UpsamplingBilinear2d(Upsample):
    """Upsample of x (N, C, H, W) in the mode "bilinear", the centres of the corners in place.

    >>> UpsamplingBilinear2d(scale_factor=2)(engine.ones((1, 3, 4, 4))).shape
    (1, 3, 8, 8)
    """

    def __init__(
        self,
        size: int | Sequence[int] | None = None,
        scale_factor: float | Sequence[float] | None = None,
    ) -> None:
        super().__init__(size, scale_factor, "bilinear", True)


class PixelShuffle(Module):
    """(..., C r^2, H, W) -> (..., C, H r, W r), r = upscale_factor (Shi et al., arXiv:1609.05158).

    >>> PixelShuffle(2)(engine.ones((1, 8, 3, 3))).shape
    (1, 2, 6, 6)
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, x: Tensor) -> Tensor:
        return F.pixel_shuffle(x, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """(..., C, H r, W r) -> (..., C r^2, H, W), r = downscale_factor.

    >>> PixelUnshuffle(2)(engine.ones((1, 2, 6, 6))).shape
    (1, 8, 3, 3)
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, x: Tensor) -> Tensor:
        return F.pixel_unshuffle(x, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """The channels of x (N, C, ...) dealt out among groups (Zhang et al., arXiv:1707.01083).

    >>> ChannelShuffle(2)(engine.ones((1, 4, 3, 3))).shape
    (1, 4, 3, 3)
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, x: Tensor) -> Tensor:
        return F.channel_shuffle(x, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"


class Unfold(Module):
    """Every window of x (N, C, H, W) as a column: (N, C kh kw, windows).

    >>> Unfold(2, stride=2)(engine.ones((1, 3, 4, 4))).shape
    (1, 12, 4)
    """

    def __init__(
        self,
        kernel_size: IntOrPair,
        dilation: IntOrPair = 1,
        padding: IntOrPair = 0,
        stride: IntOrPair = 1,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        return F.unfold(x, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, "
            f"stride={self.stride}"
        )


class Fold(Module):
    """Adds columns (N, C kh kw, windows) up to pictures (N, C, *output_size).

    >>> Fold((4, 4), 2, stride=2)(engine.ones((1, 12, 4))).shape
    (1, 3, 4, 4)
    """

    def __init__(
        self,
        output_size: IntOrPair,
        kernel_size: IntOrPair,
        dilation: IntOrPair = 1,
        padding: IntOrPair = 0,
        stride: IntOrPair = 1,
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        return F.fold(
            x, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride
        )

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}, kernel_size={self.kernel_size}"


class Unflatten(Module):
    """One axis as several: undoes Flatten.

    Args:
        dim: the axis.
        unflattened_size: the sizes it becomes; one may be -1.

    >>> Unflatten(1, (3, 4, 4))(engine.ones((2, 48))).shape
    (2, 3, 4, 4)
    """

    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        super().__init__()
        self.dim = dim
        self.unflattened_size = tuple(unflattened_size)

    def forward(self, x: Tensor) -> Tensor:
        if not -x.ndim <= self.dim < x.ndim:
            raise IndexError(f"Unflatten: dim {self.dim} is out of range for shape {x.shape}")
        axis = self.dim % x.ndim
        return engine.reshape(x, (*x.shape[:axis], *self.unflattened_size, *x.shape[axis + 1 :]))

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
