"""Gradient clipping."""

from __future__ import annotations

import math
from collections.abc import Iterable

import engine
from engine import _C, Tensor


class NonFiniteGradientError(RuntimeError):
    """A gradient holds an infinity or NaN; no gradient was changed.

    Attributes:
        norm: the norm of all gradients, infinity or NaN.

    >>> NonFiniteGradientError(float("inf")).norm
    inf
    """

    def __init__(self, norm: float) -> None:
        super().__init__(
            f"clip_grad_norm_: the norm of the gradients is {norm}, so no factor would clip them; "
            "skip this step, or lower the learning rate. Gradients and parameters are unchanged"
        )
        self.norm = norm


def clip_grad_norm_(
    params: Iterable[Tensor], max_norm: float, error_if_nonfinite: bool = True
) -> float:
    """Scales gradients so that their common Euclidean norm is at most max_norm (Pascanu et al.,
    arXiv:1211.5063), in place.

    The norm is summed in float64, so it neither overflows nor rounds to 0 where the gradients
    themselves fit float32.

    Args:
        params: tensors; those without a gradient do not count.
        max_norm: the largest norm allowed, above 0.
        error_if_nonfinite: raise on an infinity or NaN among the gradients; if False, return the
            norm and leave the gradients as they are: check it and skip the step.

    Returns:
        The norm before clipping.

    Raises:
        NonFiniteGradientError: see error_if_nonfinite.
        ValueError: max_norm is not above 0.

    >>> norm = clip_grad_norm_(model.parameters(), max_norm=1.0)  # doctest: +SKIP
    >>> optimizer.step()                                          # doctest: +SKIP
    """
    if not max_norm > 0:
        raise ValueError(f"clip_grad_norm_: max_norm={max_norm}; expected a number above 0")
    tensors = [params] if isinstance(params, Tensor) else params
    grads = [tensor.grad for tensor in tensors if tensor.grad is not None]
    if not grads:
        return 0.0
    with engine.no_grad():
        norm = _C.grad_norm(grads)
        if not math.isfinite(norm):
            if error_if_nonfinite:
                raise NonFiniteGradientError(norm)
        elif norm > max_norm:
            _C.scale_grads(grads, max_norm / norm)
    return norm


def clip_grad_value_(params: Iterable[Tensor], clip_value: float) -> None:
    """Limits each element of the gradients to [-clip_value, clip_value], in place; NaN stays NaN.

    Args:
        params: tensors; those without a gradient do not count.
        clip_value: the largest absolute value allowed, above 0.

    Raises:
        ValueError: clip_value is not above 0.

    >>> clip_grad_value_(model.parameters(), 0.5)  # doctest: +SKIP
    """
    if not clip_value > 0:
        raise ValueError(f"clip_grad_value_: clip_value={clip_value}; expected a number above 0")
    tensors = [params] if isinstance(params, Tensor) else params
    with engine.no_grad():
        for tensor in tensors:
            if tensor.grad is not None:
                tensor.grad.copy_(engine.clip(tensor.grad, -clip_value, clip_value))
