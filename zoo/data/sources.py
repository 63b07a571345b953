"""Pictures as people have them: paths, folders, patterns, lines of a stream; PIL images, arrays."""

from __future__ import annotations

import glob
import os
import threading
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from zoo.data.decode import decode, upright_rgb
from zoo.data.errors import UnreadableImage
from zoo.data.folder_layout import claims_picture, is_hidden, printable
from zoo.data.image_set import ImageSet

if TYPE_CHECKING:
    from PIL import Image

# Opened images read their file when first used, which one thread at a time may do: a list may hold
# the same image twice.
_LOADING = threading.Lock()

STREAM = "-"
"""Stands for the lines of a stream among paths."""

Source = Any
"""A path, a PIL image, or an array (H, W), (H, W, 1), (H, W, 3) or (H, W, 4) of uint8."""


def picture_paths(arguments: Iterable[str], lines: Iterable[str] = ()) -> Iterator[str]:
    """Paths of picture files, one after the other, however many there are.

    A folder gives the pictures below it, by suffix, in order of their names; hidden ones are left
    out. A pattern (`*`, `?`, `[...]`, `**`) that no file is called gives what fits it. `-` gives a
    path for each of `lines`. Anything else is given as it is, whether it exists or not: who reads
    it will say.

    >>> list(picture_paths(["a.jpg", "-"], lines=["b.jpg\\n"]))
    ['a.jpg', 'b.jpg']
    """
    for argument in arguments:
        if argument == STREAM:
            yield from (path for line in lines if (path := line.rstrip("\r\n")))
        elif glob.has_magic(argument) and not os.path.lexists(argument):
            found = sorted(glob.glob(argument, recursive=True))
            for path in found or [argument]:
                yield from _below(path)
        else:
            yield from _below(argument)


def _below(path: str) -> Iterator[str]:
    if not os.path.isdir(path):
        yield path
        return
    empty = True
    for found in _walk(path, set()):
        empty = False
        yield found
    if empty:
        yield path


def _walk(folder: str, visited: set[tuple[int, int]]) -> Iterator[str]:
    """Picture files below a folder; each real folder once, however many links lead to it."""
    status = os.stat(folder)
    if (status.st_dev, status.st_ino) in visited:
        return
    visited.add((status.st_dev, status.st_ino))
    with os.scandir(folder) as scanned:
        entries = sorted(scanned, key=lambda entry: entry.name)
    for entry in entries:
        if is_hidden(entry.name):
            continue
        if os.path.isdir(entry.path):
            yield from _walk(entry.path, visited)
        elif claims_picture(entry.name):
            yield entry.path


def open_source(source: Source, name: str) -> Image.Image:
    """A source as upright RGB, by the one policy of zoo.data.decode: a file, the same file opened
    with PIL and its pixels as an array give the same picture.

    Raises:
        UnreadableImage: it is no picture, by `name`.
        TypeError, ValueError: it is no source, or an array of another dtype or shape.
    """
    from PIL import Image

    if isinstance(source, str | os.PathLike):
        if os.path.isdir(source):
            raise UnreadableImage(name, "a folder without pictures")
        return decode(source)
    if isinstance(source, Image.Image):
        with _LOADING:
            return upright_rgb(source, name)
    if isinstance(source, np.ndarray):
        return upright_rgb(Image.fromarray(_checked(source, name)), name)
    raise TypeError(
        f"{name}: {type(source).__name__}; expected a path, a PIL image or an array of uint8"
    )


def many_sources(images: Any) -> Iterator[Source] | None:
    """The sources in a list, an iterable, an image set or an array (N, H, W, C); None for a single
    source."""
    from PIL import Image

    if isinstance(images, ImageSet):
        return map(images.load, range(len(images)))
    if isinstance(images, str | os.PathLike | Image.Image):
        return None
    if isinstance(images, np.ndarray):
        return iter(images) if images.ndim == 4 else None
    if isinstance(images, Iterable):
        return iter(images)
    return None


def name_of(source: Source, position: int) -> str:
    """What to call a source: its path, or its number (from 0)."""
    if isinstance(source, str | os.PathLike):
        return printable(os.fspath(source))
    file = getattr(source, "filename", "")  # of images that PIL opened
    return str(file) if isinstance(file, str) and file else f"image {position}"


def _checked(array: NDArray[Any], name: str) -> NDArray[np.uint8]:
    if array.dtype != np.uint8:
        hint = ""
        if np.issubdtype(array.dtype, np.floating):
            hint = " For values from 0 to 1, give (255 * x).round().astype('uint8')."
        raise ValueError(f"{name}: array of {array.dtype}; expected uint8, 0 to 255.{hint}")
    if array.ndim == 3 and array.shape[2] == 1:
        array = array[:, :, 0]
    if array.ndim not in (2, 3) or (array.ndim == 3 and array.shape[2] not in (3, 4)):
        raise ValueError(
            f"{name}: array of shape {array.shape}; expected (H, W), (H, W, 3) as RGB or (H, W, 4) "
            "as RGBA, or (N, H, W, C) for N pictures"
        )
    if array.size == 0:
        raise ValueError(f"{name}: array of shape {array.shape} holds no pixel")
    return np.ascontiguousarray(array)
