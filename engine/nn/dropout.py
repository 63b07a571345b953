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
            raise ValueError(f"{type(self).__name__}: p={p}; expected a probability, 0 to 1")
        self.p = p
        self.generator = generator

    def forward(self, x: Tensor) -> Tensor:
        return F.dropout(x, self.p, self.training, self.generator)

    def extra_repr(self) -> str:
        return f"p={self.p}"


class Dropout1d(Dropout):
    """Dropout of whole channels of x (N, C, L) (Tompson et al., arXiv:1411.4280).

    >>> Dropout1d(0.5).eval()(engine.ones((1, 2, 3))).shape
    (1, 2, 3)
    """

    def forward(self, x: Tensor) -> Tensor:
        return F.dropout1d(x, self.p, self.training, self.generator)


class Dropout2d(Dropout):
    """Dropout of whole channels of x (N, C, H, W) (Tompson et al., arXiv:1411.4280).

    >>> Dropout2d(0.5).eval()(engine.ones((1, 2, 3, 3))).shape
    (1, 2, 3, 3)
    """

    def forward(self, x: Tensor) -> Tensor:
        return F.dropout2d(x, self.p, self.training, self.generator)


class Dropout3d(Dropout):
    """Dropout of whole channels of x (N, C, D, H, W).

    >>> Dropout3d(0.5).eval()(engine.ones((1, 2, 3, 3, 3))).shape
    (1, 2, 3, 3, 3)
    """

    def forward(self, x: Tensor) -> Tensor:
        return F.dropout3d(x, self.p, self.training, self.generator)


class AlphaDropout(Dropout):
    """Dropout to SELU's floor, mean 0 and variance 1 kept (Klambauer et al., arXiv:1706.02515).

    >>> AlphaDropout(0.5).eval()(engine.ones((2, 3))).shape
    (2, 3)
    """

    def forward(self, x: Tensor) -> Tensor:
        return F.alpha_dropout(x, self.p, self.training, self.generator)


class FeatureAlphaDropout(Dropout):
    """AlphaDropout of whole channels of x (N, C, ...).

    >>> FeatureAlphaDropout(0.5).eval()(engine.ones((1, 2, 3))).shape
    (1, 2, 3)
    """

    def forward(self, x: Tensor) -> Tensor:
        return F.feature_alpha_dropout(x, self.p, self.training, self.generator)
