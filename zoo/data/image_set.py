"""`ImageSet`: labelled pictures that a loader can draw from, wherever they lie."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zoo.data.decode import MinSide

if TYPE_CHECKING:
    from PIL import Image


class ImageSet(ABC):
    """Labelled pictures. `load` must be safe to call from several threads at once.

    Attributes:
        classes: class names; a label is an index into them.
        labels: (N,) int64; or, where pictures may have several labels or none, (N, classes) uint8,
            1 for those that a picture has.

    >>> images = zoo.demo.load_digits()
    >>> isinstance(images, ImageSet), len(images), images.load(0).size
    (True, 1797, (8, 8))
    """

    classes: tuple[str, ...]
    labels: NDArray[Any]

    @property
    def several(self) -> bool:
        """Whether pictures may have several labels, or none."""
        return self.labels.ndim == 2

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self)} pictures in {len(self.classes)} classes>"

    @abstractmethod
    def load(self, index: int, min_side: MinSide = None) -> Image.Image:
        """Picture `index` as upright RGB. With `min_side` it may be reduced (see
        `zoo.data.decode`), but its shorter side
        stays at least that long (pixels) unless it was shorter to begin with."""

    @abstractmethod
    def name(self, index: int) -> str:
        """What to call picture `index` in a message."""

    @abstractmethod
    def digest(self, index: int) -> bytes:
        """Hash of the content of picture `index`; equal for exact duplicates."""

    @abstractmethod
    def subset(self, indices: ArrayLike) -> ImageSet:
        """The pictures at `indices`, in that order, with the same classes."""

    def counts(self) -> NDArray[np.int64]:
        """(len(classes),) number of pictures of each class."""
        if self.several:
            return self.labels.sum(axis=0, dtype=np.int64)
        return np.bincount(self.labels, minlength=len(self.classes))


class ArrayImages(ImageSet):
    """Pictures held in one array.

    Args:
        images: (N, H, W) gray or (N, H, W, 3) RGB, uint8.
        labels: (N,) integers, indices into `classes`.
        classes: class names.

    Raises:
        ValueError: another shape or dtype, or a label without a class.

    >>> digits = ArrayImages(np.zeros((2, 8, 8), np.uint8), [0, 1], ["zero", "one"])
    >>> digits.load(1).size
    (8, 8)
    """

    def __init__(
        self, images: NDArray[np.uint8], labels: ArrayLike, classes: Sequence[str]
    ) -> None:
        if images.dtype != np.uint8 or not (
            images.ndim == 3 or (images.ndim == 4 and images.shape[3] == 3)
        ):
            raise ValueError(
                f"ArrayImages: images are {images.dtype} {images.shape}; "
                "expected uint8 (N, H, W) or (N, H, W, 3)"
            )
        self.images = images
        self.labels = np.asarray(labels, dtype=np.int64)
        self.classes = tuple(classes)
        if self.labels.shape != (len(images),):
            raise ValueError(
                f"ArrayImages: labels have shape {self.labels.shape} for {len(images)} images; "
                f"expected ({len(images)},)"
            )
        if len(self.labels) and not 0 <= self.labels.min() <= self.labels.max() < len(classes):
            raise ValueError(
                f"ArrayImages: labels lie in {self.labels.min()}..{self.labels.max()}; "
                f"expected 0..{len(classes) - 1} for {len(classes)} classes"
            )

    def load(self, index: int, min_side: MinSide = None) -> Image.Image:
        from PIL import Image

        return Image.fromarray(np.ascontiguousarray(self.images[index])).convert("RGB")

    def name(self, index: int) -> str:
        return f"image {index}"

    def digest(self, index: int) -> bytes:
        return hashlib.sha256(self.images[index].tobytes()).digest()

    def subset(self, indices: ArrayLike) -> ArrayImages:
        chosen = np.asarray(indices, dtype=np.int64)
        return ArrayImages(self.images[chosen], self.labels[chosen], self.classes)
