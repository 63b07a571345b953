"""Look-up tables."""

from __future__ import annotations

import engine
from engine import Tensor
from engine.nn import functional as F
from engine.nn import init
from engine.nn.functional.sizes import check_one_of
from engine.nn.module import Module
from engine.nn.parameter import Parameter


class _Table(Module):
    """A table that starts normal, mean 0, deviation 1, with 0 in the row padding_idx."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None,
        max_norm: float | None,
        norm_type: float,
    ) -> None:
        super().__init__()
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise ValueError(
                f"{type(self).__name__}: padding_idx={padding_idx}; the table has "
                f"{num_embeddings} rows"
            )
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = None if padding_idx is None else padding_idx % num_embeddings
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.weight = Parameter(engine.empty((num_embeddings, embedding_dim)))
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with engine.no_grad():
                self.weight[self.padding_idx] = 0.0

    def extra_repr(self) -> str:
        parts = [f"{self.num_embeddings}, {self.embedding_dim}"]
        for name in ("padding_idx", "max_norm"):
            if getattr(self, name) is not None:
                parts.append(f"{name}={getattr(self, name)}")
        return ", ".join(parts)


class Embedding(_Table):
    """y = W[idx]: a vector for each number. The table starts normal, mean 0, deviation 1.

    Args:
        num_embeddings: V, rows of the table.
        embedding_dim: D, size of each.
        padding_idx: a row that starts at 0 and gets no gradient.
        max_norm: rows that are read and have a larger norm are shrunk to it, in place.
        norm_type: the p of that norm.

    Shapes: idx (...) of integers in 0 to V - 1 -> (..., D).
    Parameters: weight (V, D).

    >>> Embedding(10, 4)(engine.asarray([[1, 2, 9]])).shape
    (1, 3, 4)
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, padding_idx, max_norm, norm_type)

    def forward(self, idx: Tensor) -> Tensor:
        return F.embedding(idx, self.weight, self.padding_idx, self.max_norm, self.norm_type)


class EmbeddingBag(_Table):
    """Sums, means or maxima of vectors, by bag; see functional.embedding_bag.

    Args:
        num_embeddings, embedding_dim, max_norm, norm_type: as Embedding's.
        mode: "sum", "mean" or "max".
        include_last_offset: whether offsets end with the end of the last bag.
        padding_idx: a row that is in no bag.

    Shapes: idx (bags, K), or (K,) with offsets (bags,) -> (bags, D).
    Parameters: weight (V, D).

    >>> EmbeddingBag(10, 4)(engine.asarray([1, 2, 9]), engine.asarray([0, 1])).shape
    (2, 4)
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        mode: str = "mean",
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, padding_idx, max_norm, norm_type)
        check_one_of("EmbeddingBag", "mode", mode, ("sum", "mean", "max"))
        self.mode = mode
        self.include_last_offset = include_last_offset

    def forward(
        self,
        idx: Tensor,
        offsets: Tensor | None = None,
        per_sample_weights: Tensor | None = None,
    ) -> Tensor:
        return F.embedding_bag(
            idx,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.mode,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )
