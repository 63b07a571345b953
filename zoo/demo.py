"""The labelled pictures that come with the package: `zoo finetune resnet20 --data demo`.

1,797 handwritten digits of 8x8 pixels by E. Alpaydin and C. Kaynak, CC BY 4.0; see
`assets/digits.LICENSE.md`.
"""

from __future__ import annotations

import hashlib
from importlib.resources import files

import numpy as np

from zoo.data import ArrayImages, Audit, Fold, PreparedFolder, split

NAME = "demo"
"""What `--data` says to ask for these pictures; a folder of that name is reached as ./demo."""

SETTINGS = {"flip": 0.0, "epochs": 5, "head_epochs": 4}
"""Settings of a run that suit these pictures: mirrored digits are other signs, and with pretrained
weights one pass over all layers is enough."""

_FULL_INK = 16  # the largest stored value


def load_digits() -> ArrayImages:
    """All 1,797 digits, white ink on black, with classes "0" to "9".

    >>> load_digits().counts().tolist()
    [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    """
    with (files("zoo") / "assets" / "digits.npz").open("rb") as file:
        arrays = np.load(file, allow_pickle=False)
        ink, labels = arrays["images"], arrays["labels"]
    pixels = np.rint(ink * (255 / _FULL_INK)).astype(np.uint8)  # (N, 8, 8)
    return ArrayImages(pixels, labels, [str(digit) for digit in range(10)])


def prepare_digits(
    *, val_fraction: float = 0.2, seed: int = 0, fold: Fold | None = None
) -> PreparedFolder:
    """The digits, split for training and validation as a folder of pictures would be.

    >>> prepared = prepare_digits()
    >>> len(prepared.train) + len(prepared.val)
    1797
    """
    images = load_digits()
    train, val = split(images, val_fraction, seed, fold)
    parts = (train.images, train.labels, val.images, val.labels)
    fingerprint = hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()
    audit = Audit(
        root=NAME,
        classes=images.classes,
        train_counts=tuple(train.counts().tolist()),
        val_counts=tuple(val.counts().tolist()),
        unreadable=(),
        skipped=(),
        empty_classes=(),
        duplicates_in_class=(),
        duplicates_across_classes=(),
        duplicates_across_parts=(),
        rotated=0,
        tiny=(),
        fingerprint=fingerprint,
    )
    return PreparedFolder(train, val, audit)
