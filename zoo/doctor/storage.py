"""Where weights are kept, where they may come from, and whether both are in order."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import hub
from hub.cache import Cache, offline
from hub.cards import load_cards
from hub.sources import parse_source, token_for, without_secrets
from hub.stored import Stored, stored_files, unfinished
from zoo.doctor.finding import Finding

_LITTLE_ROOM = 2e9  # bytes; the largest published weights take 1.5e9
_ROOMS = ("blobs", "parts", "stamps", "locks", "manual", "sharded")  # folders of a cache

_weights = partial(Finding, "weights")
_network = partial(Finding, "network")


def findings() -> list[Finding]:
    """What is known about the cache, the project's lock file and the network's settings.

    >>> findings()[0].name
    'cache'
    """
    cache = hub.default_cache()
    return [*_cache(cache), *_shared(cache), *_lock(), *_settings()]


def _cache(cache: Cache) -> Iterator[Finding]:
    home = cache.home
    blocked = _cannot_write(home)
    if blocked:
        yield _weights(
            "cache",
            f"{home} {blocked}",
            "broken",
            "Weights cannot be kept there. Set ZOO_HOME to a folder of yours: "
            "export ZOO_HOME=~/zoo-cache",
        )
    elif not home.exists():
        yield _weights("cache", f"{home}, made when the first weights are downloaded")
    else:
        yield _content(cache)
    try:
        cache.records()
    except hub.HubError as error:
        yield _weights("digests", str(error), "broken", f"To start anew: rm {cache.lock_file}")
    broken_off = unfinished(cache)
    if broken_off:
        names = sum(file.bytes for file in broken_off) / 1e6
        yield _weights(
            "unfinished",
            f"{len(broken_off)} downloads, {names:.0f} MB",
            "note",
            "The same `zoo download` goes on with them; to drop them: zoo cache rm --unfinished",
        )
    yield _room(home)


def _content(cache: Cache) -> Finding:
    try:
        files = stored_files(cache)
    except hub.HubError as error:
        return _weights("cache", f"{cache.home}: {error}", "broken", "See `digests` below")
    known = {file.sha256: file.bytes for card in load_cards().values() for file in card.files}
    wrong = [file for file in files if known.get(file.sha256) not in (None, file.bytes)]
    said = f"{cache.home}, {_counted(files)}"
    if wrong:
        cut = ", ".join(file.names[0] if file.names else file.sha256[:12] for file in wrong)
        return _weights(
            "cache",
            f"{said}; of the wrong size: {cut}",
            "broken",
            f"They are damaged; to remove them: zoo cache rm {wrong[0].sha256[:12]}",
        )
    return _weights("cache", said, advice="To hash every file again: zoo cache verify")


def _counted(files: list[Stored]) -> str:
    size = sum(file.bytes for file in files) / 1e6
    return f"{len(files)} file{'' if len(files) == 1 else 's'}, {size:,.1f} MB"


def _cannot_write(home: Path) -> str:
    """Why nothing can be written to a cache; "" if it can."""
    here = next(path for path in (home, *home.parents) if path.exists())
    if not here.is_dir():
        return f"is no folder: {here} is a file" if here != home else "is a file, not a folder"
    rooms = [home / name for name in _ROOMS if (home / name).exists()]
    for folder in (here, *rooms):
        if not os.access(folder, os.W_OK | os.X_OK):
            return f"cannot be written to: no permission for {folder}"
    return ""


def _room(home: Path) -> Finding:
    here = next(path for path in (home, *home.parents) if path.exists())
    free = shutil.disk_usage(here).free
    if free < _LITTLE_ROOM:
        return _weights(
            "disk",
            f"{free / 1e9:.1f} GB free",
            "note",
            "The largest weights take 1.5 GB; make room, or point ZOO_HOME to another disk",
        )
    return _weights("disk", f"{free / 1e9:.1f} GB free")


def _shared(cache: Cache) -> Iterator[Finding]:
    for folder in cache.shared:
        if (folder / "blobs").is_dir():
            yield _weights("shared cache", str(folder))
        else:
            yield _weights(
                "shared cache",
                f"{folder} holds no weights",
                "note",
                "Expected a folder with a `blobs` folder in it; see ZOO_SHARED",
            )


def _lock() -> Iterator[Finding]:
    lock = hub.ProjectLock.find()
    if lock is None:
        return
    try:
        yield _weights("zoo.lock", f"{lock.path}, {len(lock.pins())} pinned")
    except hub.HubError as error:
        yield _weights(
            "zoo.lock", str(error), "broken", "Take it back from version control, or remove it"
        )


def _settings() -> Iterator[Finding]:
    yield _network("mode", "offline (ZOO_OFFLINE): nothing is fetched" if offline() else "online")
    for mirror in (os.environ.get("ZOO_MIRROR") or "").split():
        try:
            yield _network("mirror", parse_source(mirror).shown)
        except hub.SourceError as error:
            yield _network(
                "mirror",
                str(error),
                "broken",
                "Every download fails on it; correct ZOO_MIRROR, or: unset ZOO_MIRROR",
            )
    if endpoint := os.environ.get("HF_ENDPOINT"):
        yield _network("HF_ENDPOINT", without_secrets(endpoint))
    for name in ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY"):
        value = os.environ.get(name.lower()) or os.environ.get(name)
        if value:
            yield _network(name, without_secrets(value))
    if os.environ.get("HF_TOKEN") or os.environ.get("HUGGING_FACE_HUB_TOKEN"):
        try:
            token_for("https://huggingface.co")
            yield _network("HF_TOKEN", "set (not shown)")
        except hub.SourceError as error:
            yield _network("HF_TOKEN", str(error), "broken", "Set it again, or: unset HF_TOKEN")
