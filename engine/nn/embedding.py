"""Look-up tables."""

from __future__ import annotations

import engine
from engine import Tensor
from engine.nn import functional as F
from engine.nn import init
from engine.nn.module import Module
from engine.nn.parameter import Parameter


class Embedding(Module):
    """y = W[idx]: a vector for each number. The table starts normal, mean 0, deviation 1.

    Args:
        num_embeddings: V, rows of the table.
        embedding_dim: D, size of each.

    Shapes: idx (...) of integers in 0 to V - 1 -> (..., D).
    Parameters: weight (V, D).

    >>> Embedding(10, 4)(engine.asarray([[1, 2, 9]])).shape
    (1, 3, 4)
    """

    def __init__(self, num_embeddings: int, embedding_dim: int) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.weight = Parameter(engine.empty((num_embeddings, embedding_dim)))
        init.normal_(self.weight)

    def forward(self, idx: Tensor) -> Tensor:
        return F.embedding(idx, self.weight)

    def extra_repr(self) -> str:
        return f"{self.num_embeddings}, {self.embedding_dim}"
