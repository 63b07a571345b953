"""Split pictures into training and validation by their content."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zoo.data.errors import DataError
from zoo.data.image_set import ImageSet


class Fold(NamedTuple):
    """One part of equal parts: `number` from 0 to `of` - 1.

    >>> Fold(0, 5)
    Fold(number=0, of=5)
    """

    number: int
    of: int


_Set = TypeVar("_Set", bound=ImageSet)


def split_by_content(
    labels: ArrayLike,
    digests: Sequence[bytes],
    val_fraction: float = 0.2,
    seed: int = 0,
    fold: Fold | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Indices of training and of validation pictures, stratified by class.

    A keyed hash of each picture's content orders the distinct pictures of a class; the first
    `val_fraction` of them (rounded, at least one, never all) validate. So neither names nor order
    matter, exact duplicates fall on the same side, within a class and across classes, and a class
    with one distinct picture only trains.

    Args:
        labels: (N,) integers.
        digests: N content hashes.
        val_fraction: of each class's distinct pictures, above 0 and below 1.
        seed: another seed gives another split.
        fold: which part validates, for cross-validation; `val_fraction` then counts for nothing.
            Over all folds of a seed each picture validates once, but for one that is alone in its
            class.

    Returns:
        Two increasing int64 index arrays that hold 0..N-1 between them.

    Raises:
        ValueError: `val_fraction` out of range.

    >>> train, val = split_by_content([0, 0, 1, 1], [b"a", b"b", b"c", b"d"])
    >>> len(train), len(val)
    (2, 2)
    """
    if not 0 < val_fraction < 1:
        raise ValueError(f"val_fraction={val_fraction}; expected a number above 0 and below 1")
    labels = np.asarray(labels, dtype=np.int64)
    keys = [hashlib.blake2b(d, key=str(seed).encode()[:64]).digest() for d in digests]
    validates: dict[bytes, bool] = {}
    for label in np.unique(labels):
        distinct = sorted({keys[i] for i in np.flatnonzero(labels == label)})
        if fold is not None:
            count = len(distinct)
            first, last = (n * count // fold.of for n in (fold.number, fold.number + 1))
            for i, key in enumerate(distinct):
                validates.setdefault(key, count > 1 and first <= i < last)
            continue
        wanted = _val_count(len(distinct), val_fraction)
        # A picture that also lies in an earlier class has its side already; it counts here too.
        wanted -= sum(validates.get(key, False) for key in distinct)
        free = [key for key in distinct if key not in validates]
        validates.update({key: i < wanted for i, key in enumerate(free)})
    side = np.array([validates[key] for key in keys], dtype=bool)
    return np.flatnonzero(~side), np.flatnonzero(side)


def split(
    images: _Set, val_fraction: float = 0.2, seed: int = 0, fold: Fold | None = None
) -> tuple[_Set, _Set]:
    """`images` as a training and a validation set; see `split_by_content`.

    Raises:
        DataError: nothing is left to validate on, or a class has nothing left to train on.

    >>> train, val = split(zoo.demo.load_digits(), val_fraction=0.2)
    >>> len(train) + len(val)
    1797
    """
    digests = [images.digest(i) for i in range(len(images))]
    groups = _rarest(images.labels) if images.several else images.labels
    train, val = split_by_content(groups, digests, val_fraction, seed, fold)
    if len(val) == 0:
        raise DataError(
            "no class has two distinct pictures, so none can be kept for validation.\n"
            "Add pictures, or a validation folder: val/CLASS beside train/CLASS."
        )
    present = np.flatnonzero(images.counts())
    untrained = np.setdiff1d(present, np.flatnonzero(images.subset(train).counts()))
    if len(untrained) and images.several:
        names = ", ".join(images.classes[i] for i in untrained)
        raise DataError(
            f"no training picture is left for {names}: all that have this label were drawn for "
            "validation.\nAdd pictures, name the parts in a column split, or take another --seed."
        )
    if len(untrained):
        names = ", ".join(images.classes[i] for i in untrained)
        raise DataError(
            f"no training picture is left for {names}: all of its pictures are also in other "
            "classes, where they were drawn for validation.\nRemove the duplicates."
        )
    # `subset` returns the type it is called on.
    return images.subset(train), images.subset(val)  # type: ignore[return-value]


def _rarest(labels: NDArray[np.uint8]) -> NDArray[np.int64]:
    """The rarest label of each picture, by which pictures with several are divided; the number of
    labels for those without any."""
    counts = labels.sum(axis=0, dtype=np.float64)
    rarity = np.where(labels > 0, counts, np.inf)
    none = np.full((len(labels), 1), np.finfo(float).max)
    return np.concatenate([rarity, none], axis=1).argmin(axis=1)


def _val_count(distinct: int, fraction: float) -> int:
    return min(max(round(fraction * distinct), 1), distinct - 1)
