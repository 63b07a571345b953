"""The cache of verified files, named by their content.

    ZOO_HOME/
      blobs/SHA256         whole, verified files; plain files, no links
      stamps/SHA256        size and time of the blob when it was last hashed
      sharded/SHA256/      an index of shards and its shards under their names, links to blobs
      parts/DIGEST.part    a download that can be taken up again (.json beside it: where from)
      manual/CARD.FORMAT   where a person may put a file; it is verified and moved to blobs
      locks/               one lock file per download in progress
      lock.json            full digests of files whose digest nobody had stated in full, first seen

`ZOO_HOME` defaults to the platform's cache folder for "zoo". `ZOO_SHARED` names further caches
(several with ":" between, on Windows ";") that are only read, such as the one an administrator
fills for a whole group. A cache that cannot be written to serves what it has.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hub.atomic import atomic_file, fsync_folder
from hub.errors import CacheError, HashMismatch
from hub.strict_json import strict_json

log = logging.getLogger("hub")
_LOCK_SECONDS = 3600.0
_LOCK_TRIES = 1000
_RACY_NS = 2_000_000_000


def cache_home() -> Path:
    """The cache folder: `ZOO_HOME` if set, else the platform's (Linux: `~/.cache/zoo`).

    >>> cache_home().is_absolute()
    True
    """
    home = os.environ.get("ZOO_HOME")
    if home:
        return Path(home).expanduser().absolute()
    import platformdirs

    return platformdirs.user_cache_path("zoo", appauthor=False)


def default_cache() -> Cache:
    """The cache of `ZOO_HOME`, with those of `ZOO_SHARED` behind it.

    >>> default_cache().home == cache_home()
    True
    """
    shared = [Path(part) for part in os.environ.get("ZOO_SHARED", "").split(os.pathsep) if part]
    return Cache(cache_home(), tuple(path.expanduser().absolute() for path in shared))


def offline() -> bool:
    """Whether `ZOO_OFFLINE` forbids the network."""
    return os.environ.get("ZOO_OFFLINE", "").lower() not in ("", "0", "false", "no")


def sha256_file(path: str | os.PathLike[str], show: Callable[[int], object] | None = None) -> str:
    """SHA-256 of a file's content, as 64 lower-case hex digits.

    Args:
        path: the file.
        show: told the number of bytes of each piece when it has been hashed.

    >>> sha256_file("/dev/null")[:8]                                          # doctest: +SKIP
    'e3b0c442'
    """
    digest = hashlib.sha256()
    with open(path, "rb") as f:
        while chunk := f.read(1 << 20):
            digest.update(chunk)
            if show:
                show(len(chunk))
    return digest.hexdigest()


@dataclass(frozen=True)
class Cache:
    """The cache under one folder. Creates nothing before there is something to keep.

    Attributes:
        home: the folder.
        shared: further caches that are read and never written.
    """

    home: Path
    shared: tuple[Path, ...] = ()

    @property
    def lock_file(self) -> Path:
        """Where digests are recorded that the cards do not know in full."""
        return self.home / "lock.json"

    def blob(self, digest: str) -> Path:
        """Where the file with this SHA-256 lives, whether it exists or not."""
        return self.home / "blobs" / digest

    def shards(self, digest: str) -> Path:
        """The folder where an index of shards with this SHA-256 lies with its shards, as links."""
        return self.home / "sharded" / digest

    def part(self, digest: str) -> Path:
        """Where an unfinished download of this digest (or prefix) is kept."""
        return self.home / "parts" / f"{digest}.part"

    def stamp(self, digest: str) -> Path:
        """Where size and time are kept of a blob that was hashed."""
        return self.home / "stamps" / digest

    def manual(self, name: str) -> Path:
        """Where a person may put a file by hand."""
        return self.home / "manual" / name

    def find(self, digest: str, *, repair: bool = True) -> Path | None:
        """The verified file with this SHA-256, here or in a shared cache, or None.

        A file is hashed once, then again only if its size or time changed. One that was written
        less than two seconds ago is not taken on trust yet: its next change could fall into the
        same tick of the file system's clock.

        Args:
            digest: 64 hex digits.
            repair: remove a file that was changed or damaged since it was stored, and return None.

        Raises:
            HashMismatch: the file was changed since, and `repair` is false.
        """
        path = self.blob(digest)
        actual = self._digest_unless_stamped(path, digest)
        if actual is None:
            return self._find_shared(digest)
        if actual != digest:
            fault = f"{path} was changed since it was stored: its SHA-256 is {actual}"
            if not repair:
                raise HashMismatch(
                    f"{fault}, expected {digest}. It is removed and downloaded again once "
                    "ZOO_OFFLINE is unset."
                )
            log.warning("%s; it is removed", fault)
            with self._writable():
                path.unlink(missing_ok=True)
            return self._find_shared(digest)
        return path

    def _find_shared(self, digest: str) -> Path | None:
        for home in self.shared:
            path = home / "blobs" / digest
            # The stamp is one's own: what others say about their files is not believed.
            actual = self._digest_unless_stamped(path, digest, kind=".shared")
            if actual == digest:
                return path
            if actual is not None:
                log.warning("%s is damaged: its SHA-256 is %s; it is not used", path, actual)
        return None

    def _digest_unless_stamped(self, path: Path, digest: str, *, kind: str = "") -> str | None:
        """The file's SHA-256, taken from its name if it is unchanged since it was last hashed;
        None if there is no file."""
        try:
            stat = path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        stamp = self.stamp(digest + kind)
        seen = f"{stat.st_size} {stat.st_mtime_ns}\n"
        with contextlib.suppress(OSError):
            if stamp.read_text("ascii") == seen:
                return digest
        actual = sha256_file(path)
        if actual == digest and stat.st_mtime_ns + _RACY_NS < time.time_ns():
            # A read-only cache works too; it is only slower.
            with contextlib.suppress(OSError):
                stamp.parent.mkdir(exist_ok=True)
                stamp.write_text(seen, "ascii")
        return actual

    def publish(self, part: Path, digest: str) -> Path:
        """Give a verified file, on the same file system and synced, its name in the cache."""
        path = self.blob(digest)
        with self._writable():
            path.parent.mkdir(parents=True, exist_ok=True)
            os.replace(part, path)
            fsync_folder(path.parent)
        return path

    def recorded(self, key: str) -> str | None:
        """The full digest recorded for `key`, or None."""
        return self._records().get(key)

    def records(self) -> dict[str, str]:
        """All recorded digests by key: `CARD/FILE` or an address."""
        return self._records()

    def forget(self, digest: str) -> None:
        """Remove the records of a digest, so that another one may take its place."""
        if digest in self._records().values():
            with self.lock("lock.json"):
                kept = {k: d for k, d in self._records().items() if d != digest}
                self._write_records(kept)

    def record(self, key: str, digest: str) -> None:
        """Remember the full digest of a file whose card knows a prefix only."""
        with self.lock("lock.json"):
            self._write_records({**self._records(), key: digest})

    def _write_records(self, records: dict[str, str]) -> None:
        table = {"version": 1, "sha256": records, "check": _check(records)}
        text = json.dumps(table, indent=2, sort_keys=True)
        with self._writable(), atomic_file(self.lock_file) as f:
            f.write(text.encode("utf-8") + b"\n")

    def _records(self) -> dict[str, str]:
        try:
            table = strict_json(self.lock_file.read_bytes())
            pairs = [(str(key), str(digest)) for key, digest in table.pop("sha256").items()]
            # A changed key would hide a digest, and the next download would be trusted again.
            check = table.pop("check", None) or _check(dict(pairs))
            if table != {"version": 1} or check != _check(dict(pairs)):
                raise ValueError("its content is not what was written")
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise CacheError(
                f"{self.lock_file} is damaged ({error}); it holds the digests first seen. Repair "
                "it, or delete it to trust the next download again."
            ) from error
        return dict(pairs)

    @contextlib.contextmanager
    def lock(self, name: str) -> Iterator[None]:
        """Let one process (and one thread) at a time into the block.

        Raises:
            CacheError: the folder is not writable, or another process held the lock for an hour.
        """
        import filelock

        path = self.home / "locks" / f"{name}.lock"
        with self._writable():
            lock = filelock.FileLock(path)
            try:
                try:
                    _acquire(lock, path, 0.0)
                except filelock.Timeout:
                    log.warning("waiting for another process that works on %s", name)
                    _acquire(lock, path, _LOCK_SECONDS)
            except filelock.Timeout:
                raise CacheError(
                    f"another process has held {path} for {_LOCK_SECONDS / 3600:.0f} hour; end it "
                    "and try again"
                ) from None
        try:
            yield
        finally:
            # Unlinked while held. filelock notices when it locks a file that has lost its name, and
            # opens the new one (from 3.24; before, it reopens the file at every try).
            with contextlib.suppress(OSError):
                path.unlink()
            lock.release()

    def remove_empty_folders(self, *, home_too: bool) -> None:
        """After a failure: remove working folders that are empty, and the cache's own if asked."""
        working = [self.home / name for name in ("locks", "parts")]
        for folder in (*working, self.home) if home_too else working:
            with contextlib.suppress(OSError):
                folder.rmdir()

    @contextlib.contextmanager
    def _writable(self) -> Iterator[None]:
        try:
            yield
        except (PermissionError, NotADirectoryError, FileExistsError) as error:
            raise self.unusable(error) from error
        except OSError as error:
            if error.errno == errno.EROFS:  # no PermissionError in Python
                raise self.unusable(error) from error
            raise

    def unusable(self, error: OSError) -> CacheError:
        """The error for a cache folder that cannot be written to."""
        return CacheError(
            f"the cache folder {self.home} cannot be written to ({error.strerror}). Set ZOO_HOME "
            "to a folder of yours, or pass --weights PATH."
        )


def _check(records: Mapping[str, str]) -> str:
    text = json.dumps(sorted(records.items()), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _acquire(lock: Any, path: Path, seconds: float) -> None:
    # Another process that is done may take the empty folder away between these lines, or while this
    # one waits; mkdir then calls it missing, or there already. What stays that way is an error.
    for left in reversed(range(_LOCK_TRIES)):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            lock.acquire(timeout=seconds)
            return
        except (FileNotFoundError, FileExistsError):
            if left == 0:
                raise
            time.sleep(0.001)
