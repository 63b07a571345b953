"""What lies in the cache, under which names, and whether it is still whole."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hub.atomic import fsync_folder
from hub.cache import Cache, sha256_file
from hub.cards import Card, card_of, cards_for, load_cards
from hub.errors import CacheError
from hub.project_lock import ProjectLock
from hub.resolve import known_digests, packaged_path
from hub.sources import is_address, parse_source


@dataclass(frozen=True)
class Stored:
    """A file in the cache.

    Attributes:
        sha256: of what it should hold; "" for an unfinished download.
        names: cards and addresses it belongs to.
        bytes: its size now.
        used: when it was last read, as far as the file system notes that; seconds since 1970.
        path: where it is.
    """

    sha256: str
    names: tuple[str, ...]
    bytes: int
    used: float
    path: Path


def stored_files(cache: Cache) -> list[Stored]:
    """The whole files of a cache, largest first; those of shared caches are not its own.

    >>> stored_files(default_cache())[0].names                                # doctest: +SKIP
    ('vgg16.tv_in1k_v1',)
    """
    names = _names(cache)
    blobs = [path for path in _files(cache.home / "blobs") if len(path.name) == 64]
    found = [_stored(path, path.name, names.get(path.name, ())) for path in blobs]
    return sorted(found, key=lambda file: (-file.bytes, file.sha256))


def unfinished(cache: Cache) -> list[Stored]:
    """Downloads that were broken off and can be taken up again, largest first."""
    parts = [path for path in _files(cache.home / "parts") if path.suffix == ".part"]
    return sorted((_stored(path, "", (path.stem,)) for path in parts), key=lambda f: -f.bytes)


def remove(cache: Cache, files: Iterable[Stored]) -> int:
    """Delete files from a cache with what is noted about them; returns the bytes freed.

    An address whose file is removed may bring another file the next time: its recorded digest is
    forgotten. What a program has mapped at the moment stays readable for it (not on Windows, which
    refuses).

    Raises:
        CacheError: the cache cannot be written to, or a file is in use (Windows).
    """
    freed, folders = 0, set()
    for file in files:
        try:
            file.path.unlink(missing_ok=True)
        except OSError as error:
            raise cache.unusable(error) from error
        freed += file.bytes
        folders.add(file.path.parent)
        if file.sha256:
            with contextlib.suppress(OSError):
                cache.stamp(file.sha256).unlink()
            cache.forget(file.sha256)
            shutil.rmtree(cache.shards(file.sha256), ignore_errors=True)
        else:
            file.path.with_suffix(".json").unlink(missing_ok=True)
    for folder in folders:
        fsync_folder(folder)
    for link in cache.home.glob("sharded/*/*"):
        if not link.exists():
            link.unlink(missing_ok=True)
    return freed


def select(cache: Cache, name: str) -> list[Stored]:
    """The files that a card's name, an architecture's, an address or a digest (8 digits or more)
    means; empty if they are not in the cache.

    Raises:
        UnknownCard: it is none of those.
    """
    files = stored_files(cache)
    low = name.lower()
    if len(low) >= 8 and all(c in "0123456789abcdef" for c in low):
        return [file for file in files if file.sha256.startswith(low)]
    wanted = {parse_source(name).key} if is_address(name) else {c.name for c in _cards(name)}
    return [file for file in files if wanted & set(file.names)]


State = Literal["ok", "missing", "damaged"]


@dataclass(frozen=True)
class Checked:
    """What hashing a file again has shown.

    Attributes:
        name: the card or address it belongs to; the digest where there is none.
        state: "ok"; "missing", no file is at hand; "damaged", its content is not what it was.
        sha256: what it must be.
        found: what it is; None if missing.
        path: the file; None if missing.
    """

    name: str
    state: State
    sha256: str
    found: str | None = None
    path: Path | None = None


Show = Callable[[int], object]  # told how many bytes more have been hashed


def verify_cache(cache: Cache, show: Show | None = None) -> Iterator[Checked]:
    """Hash every file of a cache again."""
    for file in stored_files(cache):
        name = file.names[0] if file.names else file.sha256
        yield _checked(cache, name, file.sha256, [file.path], show)


def verify_lock(cache: Cache, lock: ProjectLock, show: Show | None = None) -> Iterator[Checked]:
    """Hash again what a project has pinned.

    Raises:
        LockError: the lock file cannot be read.
    """
    for name, pin in lock.pins().items():
        yield _checked(cache, name, pin.sha256, _places(cache, name, pin.sha256), show)


def verify_names(cache: Cache, names: Iterable[str], show: Show | None = None) -> Iterator[Checked]:
    """Hash again the files of cards, architectures (their default card) and addresses.

    Raises:
        UnknownCard: no card or architecture has such a name.
    """
    wanted = [(name, card_of(name)) if not is_address(name) else (name, None) for name in names]
    for name, card in wanted:
        if card is not None:
            digests = known_digests(card, cache)
            name = card.name
        else:
            recorded = cache.recorded(parse_source(name).key)
            digests = [recorded] if recorded else []
        # A card may have several files; one at hand is enough.
        found = [(d, p) for d in digests for p in _places(cache, name, d) if p.exists()]
        if found:
            digest, path = found[0]
            yield _checked(cache, name, digest, [path], show)
        else:
            yield Checked(name, "missing", digests[0] if digests else "")


def is_stored(card: Card, cache: Cache) -> bool:
    """Whether a card's weights are at hand without a network; nothing is hashed."""
    return any(
        place.exists()
        for digest in known_digests(card, cache)
        for place in _places(cache, card.name, digest)
    )


def _checked(
    cache: Cache, name: str, digest: str, places: Iterable[Path], show: Show | None
) -> Checked:
    path = next((place for place in places if place.exists()), None)
    if path is None:
        return Checked(name, "missing", digest)
    try:
        found = sha256_file(path, show)
    except OSError as error:
        raise CacheError(f"{path} cannot be read: {error.strerror}. Check the disk.") from error
    if found != digest:
        # Whatever was believed of it: the next use hashes it, and downloads it again.
        with contextlib.suppress(OSError):
            cache.stamp(digest).unlink()
        return Checked(name, "damaged", digest, found, path)
    return Checked(name, "ok", digest, found, path)


def _places(cache: Cache, name: str, digest: str) -> list[Path]:
    if name in load_cards():
        packaged = [packaged_path(f) for f in load_cards()[name].files if f.sha256 == digest]
    elif (local := parse_source(name).path) is not None:
        return [local]
    else:
        packaged = []
    blobs = [home / "blobs" / digest for home in (cache.home, *cache.shared)]
    return [path for path in (*packaged, *blobs) if path is not None]


def _cards(name: str) -> tuple[Card, ...]:
    """The cards of a card's or an architecture's name."""
    return cards_for(name) or (card_of(name),)


def _names(cache: Cache) -> Mapping[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for card in load_cards().values():
        for digest in known_digests(card, cache):
            found.setdefault(digest, []).append(card.name)
    for key, digest in cache.records().items():
        if is_address(key):
            found.setdefault(digest, []).append(key)
    return {digest: tuple(names) for digest, names in found.items()}


def _files(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return [Path(entry.path) for entry in entries if entry.is_file()]
    except (FileNotFoundError, NotADirectoryError):
        return []


def _stored(path: Path, digest: str, names: tuple[str, ...]) -> Stored:
    stat = path.stat()
    return Stored(digest, names, stat.st_size, max(stat.st_atime, stat.st_mtime), path)
