"""What pages of the guide assume that their reader has: `<!-- input: KIND NAME ... -->`."""

from __future__ import annotations

import atexit
import functools
import shutil
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

from zoo.demo import load_digits

_SIDE = 64  # pixels
_SENTENCES = (
    "The keeper counted the animals every evening, and wrote the number down.",
    "When the number was right, she closed the gate and went home.",
    "One evening the number was wrong by one, and nobody knew which one it was.",
    "So she counted again, from the last cage to the first, and this time it was right.",
)


def pictures(folder: Path, name: str, *words: str) -> None:
    """A folder of PNG files for each class: handwritten digits, one digit a class.

    Words are classes, and perhaps a number of pictures of each (40). A folder called val has others
    than those elsewhere.
    """
    count = next((int(word) for word in words if word.isdigit()), 40)
    images = load_digits()
    for digit, class_name in enumerate(word for word in words if not word.isdigit()):
        place = folder / name / class_name
        place.mkdir(parents=True)
        found = np.flatnonzero(images.labels == digit)
        for index in found[-count:] if Path(name).name == "val" else found[:count]:
            big = images.load(int(index)).resize((_SIDE, _SIDE), Image.Resampling.BICUBIC)
            big.save(place / f"{index}.png")


def picture(folder: Path, name: str) -> None:
    """One of them."""
    load_digits().load(0).resize((_SIDE, _SIDE), Image.Resampling.BICUBIC).save(folder / name)


def text(folder: Path, name: str, lines: str = "400") -> None:
    """A text of so many lines."""
    rng = np.random.default_rng(0)
    chosen = [_SENTENCES[i] for i in rng.integers(0, len(_SENTENCES), int(lines))]
    (folder / name).write_text("\n".join(chosen) + "\n")


def broken(folder: Path, name: str) -> None:
    """A file that says it is a picture, and is none."""
    (folder / name).write_bytes(b"\xff\xd8\xff\xe0 cut short")


@functools.cache
def _finished() -> Path:
    """A folder with a short run in it, on what `pictures imgs cat dog 20` makes."""
    from zoo.train import finetune

    place = Path(tempfile.mkdtemp(prefix="guide-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    pictures(place, "imgs", "cat", "dog", "20")
    settings = {"recipe": "linear", "epochs": 10, "threads": 1}
    finetune("resnet20", place / "imgs", out=place / "run", say=lambda line: None, **settings)
    return place


def run(folder: Path, name: str) -> None:
    """The folder of a finished run, on what `pictures imgs cat dog 20` makes."""
    shutil.copytree(_finished() / "run", folder / name)


KINDS = {"pictures": pictures, "picture": picture, "text": text, "broken": broken, "run": run}
