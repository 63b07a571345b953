"""Pictures prepared for training per second of one core, beside Pillow with torchvision's steps.

    python -m tests.benchmarks.pictures [--rounds N]

Both go from the bytes of a JPEG to normalised floats: decode, random resized crop to 224x224,
mirror, scale, subtract the mean, divide by the deviation. The peer decodes every pixel and works in
NumPy, one picture at a time, in torchvision's order; here a picture is decoded no finer than its
crop needs, and batches of bytes are normalised by the engine on one thread. Boxes and mirrors are
the same for both. Times are processor times, the least of several rounds in turns.
"""

from __future__ import annotations

import argparse
import io
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from PIL import Image

import engine
from engine.nn import functional as F
from zoo.data import ArrayImages, Preprocessing, TrainAugmentation, decode, sample_rng, to_tensor
from zoo.data.loader import view_of

SIZES = ((500, 375), (1024, 768), (2048, 1536), (4000, 3000))
BATCH = 16
AUGMENTATION = TrainAugmentation(Preprocessing(), scale=(0.35, 1.0))
MEAN = np.array(AUGMENTATION.preprocessing.mean, np.float32)[:, None, None]
STD = np.array(AUGMENTATION.preprocessing.std, np.float32)[:, None, None]


class Jpeg(ArrayImages):
    """One JPEG, again and again."""

    def __init__(self, content: bytes) -> None:
        super().__init__(np.zeros((1, 1, 1), np.uint8), [0], ["any"])
        self.content = content

    def load(self, index: int, min_side: Any = None) -> Image.Image:
        return decode(self.content, min_side=min_side)


def photo(width: int, height: int) -> bytes:
    """A JPEG with detail at all scales, as photographs have, at quality 90."""
    rng = np.random.default_rng(0)
    sum_ = np.zeros((height, width, 3))
    for coarse in (4, 8, 16, 32, 64, 128, 256):
        noise = rng.integers(0, 256, (coarse, coarse * 4 // 3, 3), dtype=np.uint8)
        grown = Image.fromarray(noise).resize((width, height), Image.Resampling.BICUBIC)
        sum_ += np.asarray(grown, float) / coarse**0.45
    pixels = ((sum_ - sum_.min()) / np.ptp(sum_) * 255).astype(np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "JPEG", quality=90)
    return buffer.getvalue()


def peer(content: bytes) -> None:
    """A batch, as Pillow and torchvision's transforms make it."""
    for i in range(BATCH):
        rng = sample_rng(0, 0, i)
        mirrored = rng.random() < AUGMENTATION.hflip
        image = Image.open(io.BytesIO(content)).convert("RGB")
        box = AUGMENTATION._crop_box(*image.size, rng)
        image = image.crop(box).resize((224, 224), Image.Resampling.BILINEAR)
        if mirrored:
            image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        planes = np.ascontiguousarray(np.asarray(image).transpose(2, 0, 1))
        (planes.astype(np.float32) / 255 - MEAN) / STD


def ours(images: Jpeg, batch: Any) -> None:
    """A batch, as the loader and the engine make it."""
    for i in range(BATCH):
        batch[i] = view_of(images, 0, AUGMENTATION, partial(sample_rng, 0, 0, i))
    p = AUGMENTATION.preprocessing
    F.normalize_images(to_tensor(batch), p.mean, p.std)


def seconds(work: Callable[[], None]) -> float:
    started = time.process_time()
    work()
    return (time.process_time() - started) / BATCH


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    engine.set_num_threads(1)
    batch = np.empty((BATCH, 224, 224, 3), np.uint8)
    for size in SIZES:
        content = photo(*size)
        images = Jpeg(content)
        works = (partial(peer, content), partial(ours, images, batch))
        times = [[seconds(work) for work in works] for _ in range(rounds)]
        theirs, own = (min(column) for column in zip(*times, strict=True))
        print(
            f"{size[0]}x{size[1]}: {1 / own:.0f} images/s per core; Pillow and torchvision's steps "
            f"{1 / theirs:.0f}; {theirs / own:.2f} times"
        )


if __name__ == "__main__":
    main()
