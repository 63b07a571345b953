"""One file from one source into a part: over HTTP, or copied from a folder."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import time
from pathlib import Path

from hub.atomic import disk_full_named, no_room
from hub.content import SNIFF_BYTES, refuse_other_content
from hub.download import download
from hub.errors import DiskFull, DownloadError, HashMismatch
from hub.policy import Expected, Policy
from hub.reach import check_reachable
from hub.sources import Source

# With no network, all hosts together may take this long to be found out: an answer within 10 s.
_REACH_SECONDS = 7.0
_CHUNK_BYTES = 1 << 20


class Obtainer:
    """Tries one source after another; together they have bounded time to be reached.

    Args:
        label: for progress bars and messages.
        progress: show a bar, if stderr is a terminal.
        policy: patience with servers.
    """

    def __init__(self, label: str, progress: bool, policy: Policy) -> None:
        self.label, self.progress, self.policy = label, progress, policy
        self.deadline = time.monotonic() + _REACH_SECONDS

    def obtain(self, source: Source, part: Path, expected: Expected) -> str:
        """Fill `part`, synced, from `source`; the SHA-256 of what is in it.

        Raises:
            DownloadError, TruncatedDownload, HashMismatch, NotWeights, DiskFull: as
                `hub.download.download`.
        """
        if source.url is None:
            assert source.path is not None
            return copy_checked(source.path, part, expected)
        seconds = min(self.policy.connect_seconds, max(0.5, self.deadline - time.monotonic()))
        check_reachable(source.url, seconds)
        return download(
            source.url, part, expected, label=self.label, progress=self.progress, policy=self.policy
        )


def copy_checked(path: Path, part: Path, expected: Expected) -> str:
    """Copy a local file to `part`, synced, and return its SHA-256; `part` is removed on failure.

    Raises:
        DownloadError: it cannot be read.
        HashMismatch, NotWeights, DiskFull: as for a download.
    """
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as f:
            size = os.fstat(f.fileno()).st_size
            refuse_other_content(f.read(SNIFF_BYTES), str(path), json=expected.json)
            if expected.bytes not in (None, size):
                raise _other(path, f"it has {size:,} bytes, expected {expected.bytes:,}", expected)
            part.parent.mkdir(parents=True, exist_ok=True)
            if shutil.disk_usage(part.parent).free < size:
                raise no_room(part, size)
            f.seek(0)
            with disk_full_named(part, size), open(part, "wb") as copy:
                while chunk := f.read(_CHUNK_BYTES):
                    digest.update(chunk)
                    copy.write(chunk)
                copy.flush()
                os.fsync(copy.fileno())
        found = digest.hexdigest()
        if not found.startswith(expected.digest):
            raise _other(path, f"its SHA-256 is {found}, expected {expected.digest}", expected)
        return found
    except BaseException as error:
        part.unlink(missing_ok=True)
        ours = isinstance(error, OSError) and error.filename not in (None, str(path))
        if isinstance(error, DiskFull) or not isinstance(error, OSError) or ours:
            raise
        reason = "no such file" if error.errno == errno.ENOENT else error.strerror or str(error)
        raise DownloadError(f"{path}: {reason}", url=str(path), reason=reason) from error


def _other(path: Path, fault: str, expected: Expected) -> HashMismatch:
    reason = f"{fault} ({expected.said_by})"
    return HashMismatch(f"{path}: {reason}, so it is another file", url=str(path), reason=reason)
