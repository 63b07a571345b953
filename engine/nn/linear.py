"""Fully connected layers, and layers that only reshape."""

from __future__ import annotations

import math

import engine
from engine import Tensor
from engine.nn import functional as F
from engine.nn import init
from engine.nn.module import Module
from engine.nn.parameter import Parameter


class Linear(Module):
    """y = x W^T + b.

    Weight and bias start uniform in +-1 / sqrt(in_features).

    Args:
        in_features: size of the last axis of x.
        out_features: size of the last axis of y.
        bias: whether there is a b.

    Shapes: x (..., in_features) -> (..., out_features).
    Parameters: weight (out_features, in_features), bias (out_features,).

    >>> Linear(3, 4)(engine.ones((2, 3))).shape
    (2, 4)
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        super().__init__()
        if in_features < 1 or out_features < 1:
            raise ValueError(
                f"Linear: in_features={in_features}, out_features={out_features}; "
                "expected 1 or more of each"
            )
        self.in_features = in_features
        self.out_features = out_features
        bound = 1 / math.sqrt(in_features)
        self.weight = Parameter(engine.empty((out_features, in_features)))
        init.uniform_(self.weight, -bound, bound)
        self.bias = Parameter(engine.empty(out_features)) if bias else None
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"{self.in_features}, {self.out_features}, bias={self.bias is not None}"


class Flatten(Module):
    """Axes start_dim to end_dim as one.

    Shapes: x (N, C, H, W) -> (N, C * H * W), in row-major order whatever the memory's order.

    >>> Flatten()(engine.ones((2, 3, 4, 4))).shape
    (2, 48)
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, x: Tensor) -> Tensor:
        return x.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Identity(Module):
    """y = x: a place holder, such as for a head that was taken off.

    >>> Identity()(engine.ones(2))
    Tensor([1., 1.], dtype=float32)
    """

    def forward(self, x: Tensor) -> Tensor:
        return x
