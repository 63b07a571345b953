"""Weights and pictures from a seed, the same on every machine and for both frameworks."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import numpy as np


def seeded_state(
    shapes: Mapping[str, tuple[int, ...]], seed: int, away_from_kinks: bool = False
) -> dict[str, np.ndarray]:
    """A plausible trained state: He-scaled filters, norms around 1, positive variances.

    The last norm of each block is small, as in trained networks: activations stay tame.
    With away_from_kinks no sum before a ReLU comes near zero: two of three channels are on for
    every pixel and the third is off, all through a stage. Elsewhere rounding decides for some of
    the millions of sums whether a gradient passes, and one decision in a late layer moves all
    gradients before it by a thousandth or more.

    Each array depends on the seed and its own name only. RandomState's streams are frozen by
    numpy's policy, which those of default_rng are not.
    """
    state: dict[str, np.ndarray] = {}
    for name, shape in shapes.items():
        digest = hashlib.sha256(f"{seed} {name}".encode()).digest()
        draw = np.random.RandomState(int.from_bytes(digest[:4], "big")).standard_normal
        if name.endswith("num_batches_tracked"):
            value = np.array(100)
        elif name.endswith("running_var"):
            value = 0.5 + draw(shape) ** 2 / 2
        elif name.endswith("running_mean") or name.endswith("bias"):
            value = 0.1 * draw(shape)
        elif len(shape) == 1:  # weight of a norm
            value = (0.3 if _is_last_of_block(name, shapes) else 1.0) * (1 + 0.2 * draw(shape))
        else:
            fan_in = np.prod(shape[1:])
            value = draw(shape) * np.sqrt(2 / fan_in)
        if away_from_kinks and len(shape) == 1 and name != "fc.bias":
            if name.endswith("weight"):
                value = 0.4 + 0.04 * draw(shape)
            elif name.endswith(".bias"):
                value = np.where(np.arange(shape[0]) % 3 == 0, -3.0, 3.0)
        state[name] = value if value.dtype == np.int64 else value.astype(np.float32)
    return state


def _is_last_of_block(name: str, shapes: Mapping[str, tuple[int, ...]]) -> bool:
    block, _, norm = name.removesuffix(".weight").rpartition(".")
    return norm == ("bn3" if f"{block}.bn3.weight" in shapes else "bn2")


def seeded_pictures(shape: tuple[int, int, int, int], seed: int) -> np.ndarray:
    """Normalised pictures (N, C, H, W), float32."""
    return np.random.RandomState(seed).standard_normal(shape).astype(np.float32)


def seeded_labels(count: int, classes: int, seed: int) -> np.ndarray:
    """Class numbers (N,), int64."""
    return np.random.RandomState(seed).randint(0, classes, count)
