"""Layers of two inputs: products and distances."""

from __future__ import annotations

import math

import engine
from engine import Tensor
from engine.nn import functional as F
from engine.nn import init
from engine.nn.module import Module
from engine.nn.parameter import Parameter


class Bilinear(Module):
    """y_k = x1^T W_k x2 + b_k. Weight and bias start uniform in +-1 / sqrt(in1_features).

    Shapes: x1 (..., in1_features), x2 (..., in2_features) -> (..., out_features).
    Parameters: weight (out_features, in1_features, in2_features), bias (out_features,).

    >>> Bilinear(3, 4, 5)(engine.ones((2, 3)), engine.ones((2, 4))).shape
    (2, 5)
    """

    def __init__(
        self, in1_features: int, in2_features: int, out_features: int, bias: bool = True
    ) -> None:
        super().__init__()
        if min(in1_features, in2_features, out_features) < 1:
            raise ValueError(
                f"Bilinear: in1_features={in1_features}, in2_features={in2_features}, "
                f"out_features={out_features}; expected 1 or more of each"
            )
        bound = 1 / math.sqrt(in1_features)
        self.weight = Parameter(engine.empty((out_features, in1_features, in2_features)))
        init.uniform_(self.weight, -bound, bound)
        self.bias = Parameter(engine.empty(out_features)) if bias else None
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.bilinear(x1, x2, self.weight, self.bias)

    def extra_repr(self) -> str:
        k, i, j = self.weight.shape
        return f"{i}, {j}, {k}, bias={self.bias is not None}"


class CosineSimilarity(Module):
    """x1 . x2 / (max(|x1|, eps) max(|x2|, eps)) along an axis.

    >>> CosineSimilarity()(engine.ones((2, 3)), engine.ones((2, 3))).shape
    (2,)
    """

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, eps={self.eps}"


class PairwiseDistance(Module):
    """|x1 - x2 + eps|_p along the last axis.

    >>> PairwiseDistance()(engine.ones((2, 3)), engine.ones((2, 3))).shape
    (2,)
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.p = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.p, self.eps, self.keepdim)

    def extra_repr(self) -> str:
        return f"p={self.p}, eps={self.eps}, keepdim={self.keepdim}"
