"""An operation compiled by Numba: soft thresholding, sign(x) * max(|x| - t, 0).

Numba sees numpy arrays over the tensors' own memory; nothing is copied.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

import engine
from engine.autograd import Function, once_differentiable


@numba.njit(parallel=True)
def _shrink(x: np.ndarray, y: np.ndarray, t: float) -> None:
    for i in numba.prange(x.size):
        y[i] = np.sign(x[i]) * max(abs(x[i]) - t, 0.0)


@numba.njit(parallel=True)
def _shrink_grad(y: np.ndarray, grad: np.ndarray, out: np.ndarray) -> None:
    for i in numba.prange(y.size):
        out[i] = grad[i] if y[i] != 0 else 0.0


def _flat(t: engine.Tensor) -> np.ndarray:
    return t.detach().contiguous().reshape(-1).numpy()


class SoftThreshold(Function):
    """Shrinks every element towards 0 by t, and to 0 below it."""

    @staticmethod
    def forward(ctx: Any, x: engine.Tensor, t: float) -> engine.Tensor:
        if t < 0:
            raise ValueError(f"soft_threshold: t {t} must not be negative")
        y = engine.empty(x.shape, dtype=x.dtype)
        _shrink(_flat(x), _flat(y), t)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: engine.Tensor) -> tuple[engine.Tensor, None]:
        (y,) = ctx.saved_tensors
        out = engine.empty(y.shape, dtype=y.dtype)
        _shrink_grad(_flat(y), _flat(grad), _flat(out))
        return out, None


soft_threshold = SoftThreshold.apply
