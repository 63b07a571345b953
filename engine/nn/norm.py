"""Normalisation layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import engine
from engine import _C, Tensor
from engine.nn import functional as F
from engine.nn.module import Module
from engine.nn.parameter import Parameter


class BatchNorm2d(Module):
    """y = (x - mean) / sqrt(var + eps) * weight + bias, by channel (Ioffe and Szegedy,
    arXiv:1502.03167).

    In training mode mean and variance are the batch's, over N, H and W, and the running ones
    follow: running = (1 - momentum) * running + momentum * batch (with the unbiased variance).
    In inference mode they are the running ones. Each channel needs at least 2 values in training.

    Args:
        num_features: C.
        eps: added to the variance.
        momentum: weight of the new batch; None for the plain average of all batches so far.
        affine: whether there are weight and bias.
        track_running_stats: without, inference uses the batch's statistics too.

    Shapes: x (N, C, H, W) -> the same.
    Parameters: weight, bias (C,). Buffers: running_mean, running_var (C,), num_batches_tracked ().

    >>> BatchNorm2d(3)(engine.ones((2, 3, 4, 4))).shape
    (2, 3, 4, 4)
    """

    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    # Ranks whose parts of a batch count as one batch in training: an engine.distributed.Group.
    group: Any = None

    # Files from before 2018 do not have the counter.
    optional_buffers: ClassVar[tuple[str, ...]] = ("num_batches_tracked",)

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
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

    def forward(self, x: Tensor, residual: Tensor | None = None, relu: bool = False) -> Tensor:
        """act(bn(x) + residual) in one pass over memory, where act is ReLU or nothing.

        Args:
            residual: of x's shape, or None for zero.
            relu: whether act is ReLU.
        """
        count = self.num_batches_tracked if self.training else None
        momentum = self.momentum
        if momentum is None:  # the plain average gives the newest of n batches the weight 1 / n
            momentum = 0.0 if count is None else 1 / (int(count) + 1)
        if self.group is not None and self.training:
            from engine.nn.synced_norm import synced_batch_norm

            y = synced_batch_norm(self, x, momentum, residual, relu)
            if count is not None:
                count.add_(1)
            return y
        y = _C.batch_norm(
            x,
            self.weight,
            self.bias,
            self.running_mean,
            self.running_var,
            self.training or self.running_mean is None,
            momentum,
            self.eps,
            residual,
            relu,
        )
        if count is not None:
            count.add_(1)
        return y

    def extra_repr(self) -> str:
        return f"{self.num_features}, eps={self.eps:g}, momentum={self.momentum}"


class LayerNorm(Module):
    """y = (x - mean) / sqrt(var + eps) * weight + bias over the last axes (Ba et al.,
    arXiv:1607.06450).

    Args:
        normalized_shape: sizes of the last axes, or an int for one.
        eps: added to the (biased) variance.
        bias: whether there is a bias.

    Shapes: x (..., *normalized_shape) -> the same.
    Parameters: weight, bias (*normalized_shape).

    >>> LayerNorm(8)(engine.ones((2, 5, 8))).shape
    (2, 5, 8)
    """

    def __init__(
        self, normalized_shape: int | Sequence[int], eps: float = 1e-5, bias: bool = True
    ) -> None:
        super().__init__()
        if isinstance(normalized_shape, int):
            normalized_shape = (normalized_shape,)
        self.normalized_shape = tuple(normalized_shape)
        self.eps = eps
        self.weight = Parameter(engine.ones(self.normalized_shape))
        self.bias = Parameter(engine.zeros(self.normalized_shape)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        return F.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps:g}"
