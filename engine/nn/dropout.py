"""Dropout."""

from __future__ import annotations

from engine import Generator, Tensor
from engine.nn import functional as F
from engine.nn.module import Module


class Dropout(Module):
    """In training, y = 0 with probability p, else x / (1 - p); in inference y = x (Srivastava et
    al., JMLR 15, 2014).

    Args:
        p: probability of zero, 0 to 1.
        generator: source of the random numbers; None for the engine's own.

    >>> Dropout(0.5).eval()(engine.ones(3))
    Tensor([1., 1., 1.], dtype=float32)
    """

    def __init__(self, p: float = 0.5, generator: Generator | None = None) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"Dropout: p={p}; expected a probability, 0 to 1")
        self.p = p
        self.generator = generator

    def forward(self, x: Tensor) -> Tensor:
        return F.dropout(x, self.p, self.training, self.generator)

    def extra_repr(self) -> str:
        return f"p={self.p}"
