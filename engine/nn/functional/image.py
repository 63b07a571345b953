"""Pictures as they come from a file."""

from __future__ import annotations

from collections.abc import Sequence

from engine import _C, Tensor


def normalize_images(x: Tensor, mean: Sequence[float], std: Sequence[float]) -> Tensor:
    """(x / 255 - mean) / std by channel: uint8 (N, C, H, W) of any strides -> float32.

    Args:
        mean, std: one number a channel, as fractions of full scale.

    >>> x = engine.zeros((1, 3, 2, 2), dtype="uint8")
    >>> normalize_images(x, [0.5] * 3, [0.5] * 3).min()
    Tensor(-1., dtype=float32)
    """
    return _C.normalize_images(x, list(mean), list(std))
