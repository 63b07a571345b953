"""Test-time augmentation: several views of a picture, whose probabilities are averaged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from zoo.data import Preprocessing
from zoo.data.transforms import center_crop_box

if TYPE_CHECKING:
    from PIL import Image

KINDS = ("none", "flip", "ten")


@dataclass(frozen=True)
class Views:
    """The views of a picture that test-time augmentation looks at, as a transform for a loader.

    kind "flip": the view that validation sees, and its mirror image.
    kind "ten": the centre and the four corners of the resized picture, each with its mirror image
    (Krizhevsky et al., 2012, "ImageNet classification with deep convolutional neural networks",
    section 4.1).

    >>> Views(Preprocessing(size=224, resize=256), "flip").draw(image, rng).shape  # doctest: +SKIP
    (2, 224, 224, 3)
    """

    preprocessing: Preprocessing
    kind: str

    def __post_init__(self) -> None:
        if self.kind not in KINDS[1:]:
            raise ValueError(f"views: kind={self.kind!r}; expected one of {KINDS[1:]}")

    def min_side(self, width: int, height: int, rng: np.random.Generator) -> None:
        """As for the preprocessing itself."""
        return self.preprocessing.min_side(width, height, rng)

    def prepare(self, image: Image.Image) -> Image.Image:
        """The square for "flip", the resized picture for "ten"."""
        if self.kind == "flip":
            return self.preprocessing.prepare(image)
        return self.preprocessing.resized(image)

    def draw(
        self,
        prepared: Image.Image,
        rng: np.random.Generator,
        full_size: tuple[int, int] | None = None,
    ) -> NDArray[np.uint8]:
        """(views, size, size, 3) uint8; draws nothing from `rng`."""
        pixels = np.asarray(prepared)
        squares = [pixels]
        if self.kind == "ten":
            size = self.preprocessing.size
            right, bottom = prepared.width - size, prepared.height - size
            left, top, _, _ = center_crop_box(prepared.width, prepared.height, size)
            corners = [(left, top), (0, 0), (right, 0), (0, bottom), (right, bottom)]
            squares = [pixels[y : y + size, x : x + size] for x, y in corners]
        return np.stack([view for square in squares for view in (square, square[:, ::-1])])

    def apply(self, image: Image.Image) -> NDArray[np.uint8]:
        """Upright RGB picture to (views, size, size, 3) uint8."""
        return self.draw(self.prepare(image), np.random.default_rng(0))


def views_for(preprocessing: Preprocessing, kind: str) -> Preprocessing | Views:
    """The transform for a kind of test-time augmentation; "none" is the preprocessing itself.

    >>> views_for(Preprocessing(), "none")
    Preprocessing(size=224, resize=256, interpolation='bilinear', ...)
    """
    return preprocessing if kind == "none" else Views(preprocessing, kind)
