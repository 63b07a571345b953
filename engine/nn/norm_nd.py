"""More normalisation layers; those of the models of this zoo are in norm.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import engine
from engine import Tensor
from engine.nn import functional as F
from engine.nn.module import Module
from engine.nn.norm import BatchNorm2d
from engine.nn.parameter import Parameter


class BatchNorm1d(BatchNorm2d):
    """BatchNorm2d for x (N, C) or (N, C, L).

    >>> BatchNorm1d(3)(engine.ones((2, 3))).shape
    (2, 3)
    """

    def forward(self, x: Tensor, residual: Tensor | None = None, relu: bool = False) -> Tensor:
        if x.ndim not in (2, 3):
            raise ValueError(f"BatchNorm1d: x has shape {x.shape}, expected (N, C) or (N, C, L)")
        return super().forward(x, residual, relu)


class BatchNorm3d(BatchNorm2d):
    """BatchNorm2d for x (N, C, D, H, W).

    >>> BatchNorm3d(3)(engine.ones((2, 3, 2, 4, 4))).shape
    (2, 3, 2, 4, 4)
    """

    def forward(self, x: Tensor, residual: Tensor | None = None, relu: bool = False) -> Tensor:
        if x.ndim != 5:
            raise ValueError(f"BatchNorm3d: x has shape {x.shape}, expected (N, C, D, H, W)")
        rows = None if residual is None else residual.reshape((*x.shape[:2], -1))
        return super().forward(x.reshape((*x.shape[:2], -1)), rows, relu).reshape(x.shape)


class GroupNorm(Module):
    """y = (x - mean) / sqrt(var + eps) * weight + bias, statistics over each group of channels of
    each sample (Wu and He, arXiv:1803.08494).

    Args:
        num_groups: of the channels, which are a multiple of it.
        num_channels: C.
        eps: added to the (biased) variance.
        affine: whether there are weight and bias.

    Shapes: x (N, C, ...) -> the same.
    Parameters: weight, bias (C,).

    >>> GroupNorm(2, 4)(engine.ones((1, 4, 3, 3))).shape
    (1, 4, 3, 3)
    """

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True
    ) -> None:
        super().__init__()
        if num_groups < 1 or num_channels % num_groups:
            raise ValueError(
                f"GroupNorm: num_channels={num_channels}, expected a multiple of "
                f"num_groups={num_groups}"
            )
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.weight = Parameter(engine.ones(num_channels)) if affine else None
        self.bias = Parameter(engine.zeros(num_channels)) if affine else None

    def forward(self, x: Tensor) -> Tensor:
        return F.group_norm(x, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps:g}"


class _InstanceNorm(Module):
    axes: ClassVar[int]
    optional_buffers: ClassVar[tuple[str, ...]] = ("num_batches_tracked",)
    running_mean: Tensor | None
    running_var: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.weight = Parameter(engine.ones(num_features)) if affine else None
        self.bias = Parameter(engine.zeros(num_features)) if affine else None
        tracked = track_running_stats
        self.register_buffer("running_mean", engine.zeros(num_features) if tracked else None)
        self.register_buffer("running_var", engine.ones(num_features) if tracked else None)
        self.register_buffer("num_batches_tracked", engine.asarray(0) if tracked else None)

    def forward(self, x: Tensor) -> Tensor:
        single = x.ndim == self.axes + 1
        batch = engine.expand_dims(x, axis=0) if single else x
        if batch.ndim != self.axes + 2 or batch.shape[1] != self.num_features:
            raise ValueError(
                f"{type(self).__name__}: x has shape {x.shape}, expected (N, C, ...) or (C, ...) "
                f"with {self.num_features} channels and {self.axes} axes after them"
            )
        y = F.instance_norm(
            batch,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or self.running_mean is None,
            self.momentum,
            self.eps,
        )
        return engine.squeeze(y, 0) if single else y

    def extra_repr(self) -> str:
        return f"{self.num_features}, eps={self.eps:g}, momentum={self.momentum}"


class InstanceNorm1d(_InstanceNorm):
    """InstanceNorm2d for x (N, C, L).

    >>> InstanceNorm1d(3)(engine.ones((2, 3, 4))).shape
    (2, 3, 4)
    """

    axes = 1


class InstanceNorm2d(_InstanceNorm):
    """y = (x - mean) / sqrt(var + eps) * weight + bias, statistics of each channel of each sample
    (Ulyanov et al., arXiv:1607.08022).

    Args:
        num_features: C.
        eps: added to the (biased) variance.
        momentum: weight of the new batch in the running statistics.
        affine: whether there are weight and bias.
        track_running_stats: whether inference uses running statistics, and training moves them.

    Shapes: x (N, C, H, W) -> the same.

    >>> InstanceNorm2d(3)(engine.ones((2, 3, 4, 4))).shape
    (2, 3, 4, 4)
    """

    axes = 2


class InstanceNorm3d(_InstanceNorm):
    """InstanceNorm2d for x (N, C, D, H, W).

    >>> InstanceNorm3d(3)(engine.ones((2, 3, 2, 4, 4))).shape
    (2, 3, 2, 4, 4)
    """

    axes = 3


class RMSNorm(Module):
    """y = x / sqrt(mean(x^2) + eps) * weight over the last axes (Zhang and Sennrich,
    arXiv:1910.07467).

    Args:
        normalized_shape: sizes of the last axes, or an int for one.
        eps: None for the dtype's smallest step at 1.
        elementwise_affine: whether there is a weight.

    Parameters: weight (*normalized_shape).

    >>> RMSNorm(8)(engine.ones((2, 5, 8))).shape
    (2, 5, 8)
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
    ) -> None:
        super().__init__()
        if isinstance(normalized_shape, int):
            normalized_shape = (normalized_shape,)
        self.normalized_shape = tuple(normalized_shape)
        self.eps = eps
        affine = elementwise_affine
        self.weight = Parameter(engine.ones(self.normalized_shape)) if affine else None

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}"


class LocalResponseNorm(Module):
    """y = x / (k + alpha * mean of x^2 over `size` neighbouring channels)^beta (Krizhevsky et al.,
    NeurIPS 2012).

    >>> LocalResponseNorm(2)(engine.ones((1, 4, 2, 2))).shape
    (1, 4, 2, 2)
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, x: Tensor) -> Tensor:
        return F.local_response_norm(x, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
