"""Changes of colour and shape for training pictures, drawn at random.

Pixel work is Pillow's; what is drawn follows from the random numbers of the sample alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from PIL import Image

POLICIES = ("none", "trivial", "rand")
_GRAY = (124, 116, 104)  # what moves in from outside: the mean of ImageNet
_RAND_OPERATIONS = 2  # of RandAugment
_RAND_STRENGTH = 0.3  # of RandAugment: 9 of its scale to 30


def apply_policy(
    image: Image.Image, policy: str, rng: np.random.Generator, *, strength: float = 1.0
) -> Image.Image:
    """`image` changed as a policy says.

    "trivial": one operation of a strength drawn at random (Müller and Hutter, "TrivialAugment",
    arXiv:2103.10158, its wide table). "rand": two operations of one strength (Cubuk et al.,
    "RandAugment", arXiv:1909.13719). "none": nothing.

    Args:
        image: RGB.
        policy: one of POLICIES.
        rng: of the sample; see `zoo.data.sample_rng`.
        strength: factor of all strengths, 0 to 1.

    >>> apply_policy(image, "trivial", sample_rng(0, 0, 0)).size      # doctest: +SKIP
    (224, 224)
    """
    if policy == "none":
        return image
    for _ in range(1 if policy == "trivial" else _RAND_OPERATIONS):
        operation = _OPERATIONS[int(rng.random() * len(_OPERATIONS))]
        amount = rng.random() if policy == "trivial" else _RAND_STRENGTH
        sign = 1 if rng.random() < 0.5 else -1
        image = operation(image, amount * strength, sign)
    return image


def jitter_colours(image: Image.Image, amount: float, rng: np.random.Generator) -> Image.Image:
    """Brightness, contrast and saturation each times a factor from 1 - amount to 1 + amount."""
    from PIL import ImageEnhance

    for enhance in (ImageEnhance.Brightness, ImageEnhance.Contrast, ImageEnhance.Color):
        factor = max(0.0, 1 + amount * (2 * rng.random() - 1))
        image = enhance(image).enhance(factor)
    return image


def erase(
    view: NDArray[np.uint8], probability: float, rng: np.random.Generator
) -> NDArray[np.uint8]:
    """With `probability`, (H, W, 3) with a box of 2% to 33% of its area filled with noise (Zhong et
    al., "Random erasing", arXiv:1708.04896)."""
    if rng.random() >= probability:
        return view
    height, width = view.shape[:2]
    area = height * width * (0.02 + 0.31 * rng.random())
    ratio = math.exp(math.log(0.3) + (math.log(1 / 0.3) - math.log(0.3)) * rng.random())
    h = min(max(round(math.sqrt(area * ratio)), 1), height)
    w = min(max(round(math.sqrt(area / ratio)), 1), width)
    top, left = int(rng.random() * (height - h + 1)), int(rng.random() * (width - w + 1))
    view = view.copy()
    view[top : top + h, left : left + w] = (rng.random((h, w, 3)) * 256).astype(np.uint8)
    return view


def _affine(image: Image.Image, matrix: tuple[float, ...]) -> Image.Image:
    from PIL import Image as Pillow

    return image.transform(
        image.size, Pillow.Transform.AFFINE, matrix, Pillow.Resampling.BILINEAR, fillcolor=_GRAY
    )


def _shear_x(image: Image.Image, amount: float, sign: int) -> Image.Image:
    return _affine(image, (1, sign * 0.99 * amount, 0, 0, 1, 0))


def _shear_y(image: Image.Image, amount: float, sign: int) -> Image.Image:
    return _affine(image, (1, 0, 0, sign * 0.99 * amount, 1, 0))


def _move_x(image: Image.Image, amount: float, sign: int) -> Image.Image:
    return _affine(image, (1, 0, sign * amount * image.width / 7, 0, 1, 0))  # 32 of 224 pixels


def _move_y(image: Image.Image, amount: float, sign: int) -> Image.Image:
    return _affine(image, (1, 0, 0, 0, 1, sign * amount * image.height / 7))


def _rotate(image: Image.Image, amount: float, sign: int) -> Image.Image:
    from PIL import Image as Pillow

    return image.rotate(sign * 135 * amount, Pillow.Resampling.BILINEAR, fillcolor=_GRAY)


def _enhanced(name: str) -> Callable[[Image.Image, float, int], Image.Image]:
    def operation(image: Image.Image, amount: float, sign: int) -> Image.Image:
        from PIL import ImageEnhance

        return getattr(ImageEnhance, name)(image).enhance(1 + sign * 0.99 * amount)

    return operation


def _posterize(image: Image.Image, amount: float, sign: int) -> Image.Image:
    from PIL import ImageOps

    return ImageOps.posterize(image, 8 - round(6 * amount))


def _solarize(image: Image.Image, amount: float, sign: int) -> Image.Image:
    from PIL import ImageOps

    return ImageOps.solarize(image, round(256 * (1 - amount)))


def _plain(name: str) -> Callable[[Image.Image, float, int], Image.Image]:
    def operation(image: Image.Image, amount: float, sign: int) -> Image.Image:
        from PIL import ImageOps

        return getattr(ImageOps, name)(image)

    return operation


def _identity(image: Image.Image, amount: float, sign: int) -> Image.Image:
    return image


# An operation's amount is 0 (nothing) to 1 (as far as it goes); sign is its direction.
_OPERATIONS: tuple[Callable[[Any, float, int], Any], ...] = (
    _identity,
    _shear_x,
    _shear_y,
    _move_x,
    _move_y,
    _rotate,
    _enhanced("Brightness"),
    _enhanced("Color"),
    _enhanced("Contrast"),
    _enhanced("Sharpness"),
    _posterize,
    _solarize,
    _plain("autocontrast"),
    _plain("equalize"),
)
