"""Losses."""

from __future__ import annotations

from engine import Tensor
from engine.nn import functional as F
from engine.nn.module import Module


class CrossEntropyLoss(Module):
    """L = -sum over samples i of w[t_i] log softmax(x_i)[t_i] / sum of w[t_i].

    With label smoothing s, each target is a distribution: 1 - s on the target and s / C on every
    class (Szegedy et al., arXiv:1512.00567).

    Args:
        weight: (C,) weight of each class; None for ones.
        ignore_index: samples with this target count for nothing.
        reduction: "mean", "sum", or "none" for one loss a sample.
        label_smoothing: s, 0 to 1.

    Shapes: logits (N, C, ...), target (N, ...) of integers -> (), or (N, ...) with "none".

    >>> CrossEntropyLoss()(engine.zeros((1, 2)), engine.asarray([1]))
    Tensor(0.6931472, dtype=float32)
    """

    weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        ignore_index: int = -100,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__()
        if reduction not in ("mean", "sum", "none"):
            raise ValueError(
                f"CrossEntropyLoss: reduction={reduction!r}; expected 'mean', 'sum' or 'none'"
            )
        if not 0 <= label_smoothing <= 1:
            raise ValueError(
                f"CrossEntropyLoss: label_smoothing={label_smoothing}; expected 0 to 1"
            )
        # Part of the model's state in the reference framework too, where it is given.
        self.register_buffer("weight", weight)
        self.ignore_index = ignore_index
        self.reduction = reduction
        self.label_smoothing = label_smoothing

    def forward(self, logits: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(
            logits, target, self.weight, self.ignore_index, self.reduction, self.label_smoothing
        )

    def extra_repr(self) -> str:
        return f"reduction={self.reduction!r}, label_smoothing={self.label_smoothing}"
