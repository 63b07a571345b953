"""Mixup and CutMix: training pictures made of two, with a share of the label of each."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zoo.data.transforms import philox

_MIX_STREAM = 3  # of random numbers, apart from those of samples, of their order and of views


class Mixing(NamedTuple):
    """Who is mixed with whom.

    Attributes:
        partner: (N,) int64, position in the batch of the other picture.
        share: (N,) float32, of the picture's own label; the partner's label has the rest.
        boxes: (N, 4) int64, top, left, bottom, right (pixels) of what the partner fills; all 0
            where pictures are blended.
    """

    partner: NDArray[np.int64]
    share: NDArray[np.float32]
    boxes: NDArray[np.int64]


def draw_mixing(
    count: int, side: int, mixup: float, cutmix: float, *, seed: int, epoch: int, batch: int
) -> Mixing:
    """How the pictures of one batch are mixed, from (seed, epoch, batch) alone.

    Each picture draws its own share from Beta(alpha, alpha). Where both kinds are on, each picture
    draws which one it gets.

    Args:
        count: pictures in the batch.
        side: of the pictures, pixels.
        mixup: alpha of blending (Zhang et al., "mixup", arXiv:1710.09412), 0 to 1; 0: none.
        cutmix: alpha of pasting a box (Yun et al., "CutMix", arXiv:1905.04899), 0 to 1; 0: none.

    >>> draw_mixing(4, 8, mixup=0.2, cutmix=0.0, seed=0, epoch=0, batch=0).share.shape
    (4,)
    """
    rng = philox(seed, _MIX_STREAM, epoch, batch)
    partner = np.argsort(rng.random(count), kind="stable").astype(np.int64)
    share = np.ones(count, dtype=np.float32)
    boxes = np.zeros((count, 4), dtype=np.int64)
    for row in range(count):
        pasted = cutmix > 0 and (mixup == 0 or rng.random() < 0.5)
        own = _beta(cutmix if pasted else mixup, rng)
        if pasted:
            half = side * math.sqrt(1 - own) / 2
            y, x = side * rng.random(), side * rng.random()
            edges = (y - half, x - half, y + half, x + half)
            boxes[row] = [min(max(round(edge), 0), side) for edge in edges]
            top, left, bottom, right = boxes[row]
            own = 1 - (bottom - top) * (right - left) / side**2  # what is left after the cut
        share[row] = own
    return Mixing(partner, share, boxes)


def mix_images(images: NDArray[np.uint8], mixing: Mixing) -> NDArray[np.uint8]:
    """(N, side, side, 3) pictures, mixed; blends are rounded to whole values."""
    mixed = images.copy()
    for row, other in enumerate(mixing.partner):
        top, left, bottom, right = mixing.boxes[row]
        if bottom > top and right > left:
            mixed[row, top:bottom, left:right] = images[other, top:bottom, left:right]
        elif mixing.share[row] < 1 and other != row:
            mixed[row] = np.rint(blend(images[row], images[other], mixing.share[row]))
    return mixed


def mix_features(features: NDArray[np.float32], mixing: Mixing) -> NDArray[np.float32]:
    """(N, D) features, blended by the shares: the mixup of hidden states (Verma et al., "Manifold
    mixup", arXiv:1806.05236). For means over a picture it is also what pasting a box does."""
    return blend(features, features[mixing.partner], mixing.share[:, None])


def blend(own: NDArray[Any], other: NDArray[Any], share: Any) -> NDArray[np.float32]:
    """share * own + (1 - share) * other, float32."""
    share = np.float32(share) if np.ndim(share) == 0 else share
    return own * share + other * (np.float32(1) - share)


def _beta(alpha: float, rng: np.random.Generator) -> float:
    """From Beta(alpha, alpha), alpha up to 1, by Jöhnk's method: of uniform numbers alone, whose
    stream does not change from one NumPy to the next."""
    while True:
        x, y = rng.random() ** (1 / alpha), rng.random() ** (1 / alpha)
        if 0 < x + y <= 1:
            return x / (x + y)
