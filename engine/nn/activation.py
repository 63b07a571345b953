"""Activation layers."""

from __future__ import annotations

from engine import Tensor
from engine.nn import functional as F
from engine.nn.module import Module


class ReLU(Module):
    """y = max(x, 0); NaN stays NaN (Nair and Hinton, ICML 2010).

    >>> ReLU()(engine.asarray([-1.0, 2.0]))
    Tensor([0., 2.], dtype=float32)
    """

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(x)


class GELU(Module):
    """y = x * Phi(x), Phi the normal distribution's cumulative function (Hendrycks and Gimpel,
    arXiv:1606.08415).

    Args:
        approximate: "none", or "tanh" for 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).

    >>> GELU()(engine.asarray([0.0]))
    Tensor([0.], dtype=float32)
    """

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        if approximate not in ("none", "tanh"):
            raise ValueError(f"GELU: approximate={approximate!r}; expected 'none' or 'tanh'")
        self.approximate = approximate

    def forward(self, x: Tensor) -> Tensor:
        return F.gelu(x, self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"
