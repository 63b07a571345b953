"""What reading every file of a folder shows, read once and remembered.

Every file is decoded to its end, because a header says nothing about a truncated tail. JPEGs are
decoded at an eighth of their size, which still reads every byte and saves most of the time.

What a file showed is kept in the cache folder under its path, size and times of change, so that the
next look at the same folder reads only what is new.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from hub.progress import progress_bar
from zoo.data.collector import without_collector
from zoo.data.decode import decode_with_facts, read_bytes
from zoo.data.errors import UnreadableImage
from zoo.data.facts_cache import FactsCache
from zoo.data.folder_layout import Picture
from zoo.data.likeness import difference_hash
from zoo.data.threads import default_threads, ordered_map

_MIN_SIDE = 64  # decode no finer than this where the format allows, pixels
_CHUNK = 8  # files a thread reads in one go


class PictureFacts(NamedTuple):
    """What reading one file showed.

    Attributes:
        digest: SHA-256 of the file; b"" where it could not be read.
        width, height: of the upright picture, pixels; 0 where it is unreadable.
        orientation: EXIF orientation, 1 to 8.
        likeness: difference hash (see zoo.data.likeness); b"" where there is none.
        failure: why the file is no picture, or None.
    """

    digest: bytes
    width: int
    height: int
    orientation: int
    likeness: bytes
    failure: UnreadableImage | None


def inspect(
    pictures: Sequence[Picture],
    root: Path,
    *,
    threads: int | None = None,
    progress: bool = False,
) -> dict[str, PictureFacts]:
    """Read and decode every file that was not read before; facts by picture name.

    Unreadable files are reported in the facts, not raised. Ctrl-C stops it at once.

    Args:
        pictures: from a scan of `root`.
        root: the folder; what is remembered is kept by it.
        threads: None takes one per CPU, at most 8.
        progress: show a progress bar on the error stream.
    """
    threads = default_threads() if threads is None else threads
    cache = FactsCache(root)
    facts, unread = _remembered(cache, pictures)
    chunks = [unread[i : i + _CHUNK] for i in range(0, len(unread), _CHUNK)]
    bar = progress_bar(
        show=progress, total=len(unread), desc="Checking pictures", unit="", leave=False
    )
    # Pillow warns of damaged metadata on the error stream, file unnamed; damage that matters fails.
    with warnings.catch_warnings(), bar:
        warnings.filterwarnings("ignore", module=r"PIL\.")
        done = ordered_map(_inspect_chunk, chunks, threads, ahead=4 * threads)
        try:
            for chunk, found in zip(chunks, done, strict=True):
                for picture, fact in zip(chunk, found, strict=True):
                    facts[picture.name] = fact
                    cache.add(picture, fact)
                bar.update(len(chunk))
        finally:
            done.close()
            cache.save()  # after an interrupt too: what was read need not be read again
    # In the order of the pictures, where some came later.
    return {picture.name: facts[picture.name] for picture in pictures} if unread else facts


@without_collector
def _remembered(
    cache: FactsCache, pictures: Sequence[Picture]
) -> tuple[dict[str, PictureFacts], list[Picture]]:
    """What is known already, and the pictures that have to be read."""
    facts: dict[str, PictureFacts] = {}
    unread: list[Picture] = []
    for picture in pictures:
        known = cache.get(picture)
        if known is None:
            unread.append(picture)
        else:
            facts[picture.name] = PictureFacts(*known)
    return facts, unread


def _inspect_chunk(pictures: Sequence[Picture]) -> list[PictureFacts]:
    return [_inspect_one(picture) for picture in pictures]


def _inspect_one(picture: Picture) -> PictureFacts:
    digest = b""
    try:
        data = read_bytes(picture.path)
        digest = hashlib.sha256(data).digest()
        found = decode_with_facts(data, min_side=_MIN_SIDE, name=picture.path)
    except UnreadableImage as error:
        # A new one: the one that was raised holds on to the file's content through its traceback.
        failure = UnreadableImage(error.path, error.reason)
        return PictureFacts(digest, 0, 0, 1, b"", failure)
    hashed = difference_hash(found.image)
    return PictureFacts(digest, found.width, found.height, found.orientation, hashed, None)
