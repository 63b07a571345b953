"""Features of pictures, computed once and kept on the disk for every run that wants them again.

Where all but the last layer is frozen, what goes into that layer is always the same for the same
view of a picture. A feature is found by content: the weights and the preprocessing that made it
(the key of a `FeatureCache`), and the picture's own hash with the number of its view. So other
epochs, other runs, other splits and other class names of the same pictures find it, and changed
pictures or weights do not.

On the disk, `ZOO_HOME/features/KEY/` holds segments: safetensors files with the columns below,
published whole and never changed, read through a memory map. Each row has a checksum; a row that
fails it is computed anew.

    digests   (N, 32) uint8     SHA-256 of the picture
    views     (N,) int64        number of the view
    sums      (N,) int64        CRC-32 of digest, view and features of the row
    features  (N, D) float32

When all keys together pass a limit, those that were not used for longest are removed.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import hub
from zoo.placement import host_array

_MOST_SEGMENTS = 16  # of one key before they are joined
_KINDS = list(map(np.dtype, ("uint8", "int64", "int64", "float32")))  # of a segment's columns
_Name = tuple[bytes, int]  # digest and view


class FeatureCache:
    """The features of one backbone and preprocessing.

    Args:
        folder: of all keys, usually `ZOO_HOME/features`; None keeps features in memory only.
        key: a hash of all that features depend on besides the picture and the view.
        limit: bytes that all keys may take on the disk.

    Attributes:
        damaged: rows that failed their checksum since this was opened.

    >>> cache = FeatureCache(None, "key", limit=0)
    >>> cache.add([(b"picture", 0)], np.ones((1, 2), np.float32))
    >>> (b"picture", 0) in cache
    True
    """

    def __init__(self, folder: Path | None, key: str, limit: int) -> None:
        self.folder = None if folder is None else folder / key
        self.limit = limit
        self.damaged = 0
        self._segments: dict[int, NDArray[np.float32]] = {}  # by their number
        self._place: dict[_Name, tuple[int, int]] = {}  # segment, row
        self._opened = 0  # segments so far
        self._new: dict[int, list[_Name]] = {}  # segments that are in memory only
        if self.folder is not None:
            for path in sorted(self.folder.glob("*.safetensors")):
                self._open(path)
            with contextlib.suppress(OSError):
                os.utime(self.folder)  # used now: evicted last

    def __contains__(self, name: _Name) -> bool:
        return name in self._place

    def add(self, names: Sequence[_Name], features: NDArray[np.float32]) -> None:
        """Keep rows (N, D) under their names; on the disk after `flush`."""
        self._new[self._take(names, features)] = list(names)

    def rows(self, names: Sequence[_Name]) -> NDArray[np.float32]:
        """(N, D) features, in the order of `names`, all of which must be there."""
        places = np.array([self._place[name] for name in names])  # (N, 2)
        first = self._segments[places[0, 0]]
        out = np.empty((len(names), first.shape[1]), dtype=np.float32)
        for segment in np.unique(places[:, 0]):
            wanted = places[:, 0] == segment
            out[wanted] = self._segments[segment][places[wanted, 1]]
        return out

    def flush(self) -> None:
        """Publish what was added since the last time as one segment, and read it from the disk from
        now on. A disk that cannot take it costs the reuse, not the run: the features stay in
        memory."""
        if self.folder is None or not self._new:
            return
        names = [name for some in self._new.values() for name in some]
        features = np.concatenate([self._segments[number] for number in self._new])
        with contextlib.suppress(OSError, hub.HubError):
            self.folder.mkdir(parents=True, exist_ok=True)
            if _size(self.folder) + features.nbytes > self.limit:
                self.folder = None  # what comes will not fit either
                return
            path = _write(self.folder, names, features)
            for number in self._new:
                del self._segments[number]
            self._new = {}
            self._open(path)
            self._join_segments()
            self._evict()

    def _open(self, path: Path) -> None:
        """Take over the whole rows of a segment; one that cannot be read is removed."""
        try:
            columns, _ = hub.read_safetensors(path)
            digests, views, sums, features = (
                columns[name] for name in ("digests", "views", "sums", "features")
            )
            if features.ndim != 2 or not len(digests) == len(views) == len(sums) == len(features):
                raise hub.CorruptCheckpoint(f"{path}: columns of unequal length")
            kinds = [array.dtype for array in (digests, views, sums, features)]
            if kinds != _KINDS:  # the sums are of bytes, whatever they stand for
                raise hub.CorruptCheckpoint(f"{path}: columns of other dtypes")
        except (hub.HubError, KeyError, OSError):
            self.damaged += 1
            with contextlib.suppress(OSError):
                path.unlink()
            return
        names = [(d.tobytes(), int(v)) for d, v in zip(digests, views, strict=True)]
        whole = [
            _sum(name, row) == total for name, row, total in zip(names, features, sums, strict=True)
        ]
        self.damaged += whole.count(False)
        self._take(names, features, whole)

    def _take(
        self,
        names: Sequence[_Name],
        features: NDArray[np.float32],
        whole: Sequence[bool] | None = None,
    ) -> int:
        number = self._opened
        self._opened += 1
        self._segments[number] = features
        for row, name in enumerate(names):
            if whole is None or whole[row]:
                self._place[name] = (number, row)
        return number

    def _join_segments(self) -> None:
        assert self.folder is not None
        paths = sorted(self.folder.glob("*.safetensors"))
        if len(paths) <= _MOST_SEGMENTS:
            return
        whole = FeatureCache(self.folder.parent, self.folder.name, self.limit)
        names = list(whole._place)
        _write(self.folder, names, whole.rows(names))
        for path in paths:
            with contextlib.suppress(OSError):  # another process may have joined them too
                path.unlink()

    def _evict(self) -> None:
        """Remove keys, least recently used first, until the rest is within the limit; this one
        goes last."""
        assert self.folder is not None
        keys = [path for path in self.folder.parent.iterdir() if path.is_dir()]
        keys.sort(key=lambda path: (path == self.folder, path.stat().st_mtime))
        sizes = {path: _size(path) for path in keys}
        for path in keys:
            if sum(sizes.values()) <= self.limit:
                return
            shutil.rmtree(path, ignore_errors=True)
            del sizes[path]


def backbone_key(model: Any, facts: Sequence[Any]) -> str:
    """A hash of a model's weights, all but those of its last layer, and of `facts`.

    Args:
        model: an `ImageModel`.
        facts: what else features depend on, printed the same whenever it is the same.

    >>> len(backbone_key(model, [preprocessing.to_dict()]))      # doctest: +SKIP
    32
    """
    import hashlib

    head = model.classifier_name + "."
    seen = hashlib.sha256(repr((model.arch, *facts)).encode())
    for name, tensor in sorted(model.state_dict().items()):
        if not name.startswith(head):
            array = np.ascontiguousarray(host_array(tensor))
            seen.update(f"{name} {array.dtype} {array.shape}".encode())
            seen.update(array.data)
    return seen.hexdigest()[:32]


def _write(folder: Path, names: Sequence[_Name], features: NDArray[np.float32]) -> Path:
    features = np.ascontiguousarray(features, dtype=np.float32)
    columns: dict[str, NDArray[Any]] = {
        "digests": np.array([list(digest) for digest, _ in names], dtype=np.uint8),
        "views": np.array([view for _, view in names], dtype=np.int64),
        "sums": np.array(list(map(_sum, names, features)), dtype=np.int64),
        "features": features,
    }
    # A name of its own for each: two processes may fill the same key at once.
    path = folder / f"{secrets.token_hex(8)}.safetensors"
    hub.write_safetensors(path, columns, {})
    return path


def _sum(name: _Name, row: NDArray[np.float32]) -> int:
    digest, view = name
    return zlib.crc32(np.ascontiguousarray(row).data, zlib.crc32(digest, view & 0xFFFFFFFF))


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("*") if path.is_file())
