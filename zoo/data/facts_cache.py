"""What is remembered of a folder's files, in one file of the cache folder for each data folder.

An entry holds while the file's size, its time of change and its time of status change are those it
was read with. A file that changed less than two seconds before it was read is not remembered: its
next change could fall into the same tick of the clock and go unseen. Files of pictures that failed
are remembered too, but not those that could not be opened, since that may have passed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

import hub
from hub.sealed import find_sealed, write_sealed
from zoo.data.collector import without_collector
from zoo.data.errors import UnreadableImage
from zoo.data.folder_layout import Picture
from zoo.data.likeness import HASH_BYTES

log = logging.getLogger("zoo")

_FORMAT = "1"  # of the file and of what is found out; another one is not read
_MOST_FILES = 100  # folders remembered
_RACY_NS = 2_000_000_000
_DIGEST_BYTES = 32

Entry = tuple[bytes, int, int, int, bytes, UnreadableImage | None]
_Stamp = tuple[int, int, int]


class FactsCache:
    """Facts on files below one folder: digest, width, height, orientation, likeness, failure.

    A cache that cannot be read or written is none: everything is then read anew.

    >>> cache = FactsCache(Path("pets"))             # doctest: +SKIP
    >>> cache.get(picture) is None                   # doctest: +SKIP
    True
    """

    def __init__(self, root: Path) -> None:
        from PIL import __version__ as pillow

        self._made_with = f"{_FORMAT} Pillow {pillow}"  # another Pillow may read other files
        key = hashlib.sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:32]
        self.folder, self._key = hub.cache_home() / "pictures", key
        self._stamps: dict[str, _Stamp] = {}
        self._known: dict[str, tuple[_Stamp, Entry]] = self._load()
        self._kept: dict[str, tuple[_Stamp, Entry]] = {}
        self._changed = False
        self._now = time.time_ns()

    def get(self, picture: Picture) -> Entry | None:
        """What is known of a file that has not changed since."""
        try:
            status = os.stat(picture.path)
        except OSError:
            return None
        stamp = (status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        known = self._known.get(picture.name)
        if known is None or known[0] != stamp:
            self._stamps[picture.name] = stamp
            return None
        self._kept[picture.name] = known
        entry = known[1]
        if entry[5] is not None:  # the failure names the file by the path it has now
            entry = (*entry[:5], UnreadableImage(picture.path, entry[5].reason))
        return entry

    def add(self, picture: Picture, facts: Entry) -> None:
        """Remember what a file showed that `get` did not know."""
        stamp = self._stamps.get(picture.name)
        if stamp is None or not facts[0] or max(stamp[1:]) > self._now - _RACY_NS:
            return
        self._kept[picture.name] = (stamp, facts)
        self._changed = True

    def save(self) -> None:
        """Write what was read and is still there; nothing, where that is what the file says."""
        if not self._changed:
            return
        try:
            self._write()
            self._evict()
        except (OSError, hub.HubError) as error:
            log.info("%s: not written (%s)", self.folder, error)

    def _write(self) -> None:
        names = list(self._kept)
        stamps = [stamp for stamp, _ in self._kept.values()]
        entries = [entry for _, entry in self._kept.values()]
        failures = {i: e[5].reason for i, e in enumerate(entries) if e[5] is not None}
        blank = bytes(HASH_BYTES)
        arrays = {
            "names": np.frombuffer("\0".join(names).encode(), dtype=np.uint8),
            "stamps": np.array(stamps, dtype=np.int64),  # (N, 3)
            "sizes": np.array([e[1:4] for e in entries], dtype=np.int32),  # (N, 3)
            "digests": _packed([e[0] for e in entries], _DIGEST_BYTES),
            "hashes": _packed([e[4] or blank for e in entries], HASH_BYTES),
            "hashed": np.array([bool(e[4]) for e in entries]),
        }
        about = {"made_with": self._made_with, "failures": json.dumps(failures)}
        write_sealed(self.folder, self._key, arrays, about)

    def _load(self) -> dict[str, tuple[_Stamp, Entry]]:
        path = find_sealed(self.folder, self._key)
        if path is None:
            return {}
        try:
            arrays, about = hub.read_safetensors(path)
            if about.get("made_with") != self._made_with:
                return {}
            return _entries(arrays, json.loads(about["failures"]))
        except (OSError, hub.HubError, ValueError, LookupError, TypeError, AttributeError) as error:
            log.info("%s: not used (%s)", path, error)
            return {}

    def _evict(self) -> None:
        """Forget the folders that were written longest ago."""
        files = sorted(self.folder.glob("*.safetensors"), key=lambda p: -p.stat().st_mtime)
        for old in files[_MOST_FILES:]:
            with contextlib.suppress(OSError):
                old.unlink()


def _packed(values: list[bytes], width: int) -> Any:
    return np.frombuffer(b"".join(values), dtype=np.uint8).reshape(-1, width)


@without_collector
def _entries(arrays: Any, failures: dict[str, str]) -> dict[str, tuple[_Stamp, Entry]]:
    """The content of a file; ValueError or KeyError where it is damaged."""
    names = arrays["names"].tobytes().decode().split("\0")
    stamps, sizes = arrays["stamps"].tolist(), arrays["sizes"].tolist()
    digests, hashes = arrays["digests"].tobytes(), arrays["hashes"].tobytes()
    hashed = arrays["hashed"].tolist()
    found: dict[str, tuple[_Stamp, Entry]] = {}
    for i, (name, stamp, (width, height, turn)) in enumerate(
        zip(names, stamps, sizes, strict=True)
    ):
        digest = digests[_DIGEST_BYTES * i : _DIGEST_BYTES * (i + 1)]
        likeness = hashes[HASH_BYTES * i : HASH_BYTES * (i + 1)] if hashed[i] else b""
        found[name] = (tuple(stamp), (digest, width, height, turn, likeness, None))
    for position, reason in failures.items():
        name = names[int(position)]
        stamp, entry = found[name]
        found[name] = (stamp, (*entry[:5], UnreadableImage(name, reason)))
    return found
