"""An operation in plain Python: soft thresholding, sign(x) * max(|x| - t, 0).

Its rule is written in engine operations, so gradients of gradients work too.
"""

from __future__ import annotations

from typing import Any

import engine
from engine.autograd import Function


class SoftThreshold(Function):
    """Shrinks every element towards 0 by t, and to 0 below it (Donoho 1995)."""

    @staticmethod
    def forward(ctx: Any, x: engine.Tensor, t: float) -> engine.Tensor:
        if t < 0:
            raise ValueError(f"soft_threshold: t {t} must not be negative")
        kept = engine.abs(x) > t
        ctx.save_for_backward(kept)
        return engine.where(kept, x - engine.sign(x) * t, 0.0 * x)

    @staticmethod
    def backward(ctx: Any, grad: engine.Tensor) -> tuple[engine.Tensor, None]:
        (kept,) = ctx.saved_tensors
        return engine.where(kept, grad, 0.0 * grad), None  # t is a number: no gradient


soft_threshold = SoftThreshold.apply
