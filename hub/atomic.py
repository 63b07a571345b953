"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from hub.errors import DiskFull

_O_BINARY = getattr(os, "O_BINARY", 0)  # Windows only
# A quota that is used up looks like a full disk to the person who meets it.
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@contextlib.contextmanager
def atomic_file(path: str | os.PathLike[str], needed: int = 0) -> Iterator[BinaryIO]:
    """Open a file beside `path` for writing; on success it replaces `path` in one step.

    The bytes are synced before the rename and the folder after it, so that a power cut leaves the
    old file or the new one, never a part. If the block raises, `path` keeps its old content and
    the file beside it is removed.

    Args:
        path: final name; its folder must exist.
        needed: bytes that will be written, for the message of `DiskFull`.

    Raises:
        DiskFull: the file system or the quota has no room.

    >>> with atomic_file("notes.txt") as f:                                   # doctest: +SKIP
    ...     f.write(b"whole")
    """
    path = Path(path)
    with disk_full_named(path, needed):
        aside = path.parent / f".{path.name}.{secrets.token_hex(6)}.aside"
        # The plain 0666 lets the umask decide, as it does for any other file of this person.
        fd = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _O_BINARY, 0o666)
    try:
        with disk_full_named(path, needed):
            with os.fdopen(fd, "wb") as f:
                yield f
                f.flush()
                os.fsync(f.fileno())
            os.replace(aside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(aside)
        raise
    fsync_folder(path.parent)


def fsync_folder(folder: str | os.PathLike[str]) -> None:
    """Make renames in `folder` survive a power cut, where the platform can sync folders.

    >>> fsync_folder(".")
    """
    if os.name == "nt":
        return
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def put_link(link: Path, target: Path) -> None:
    """Make `link` lead to the file `target`, in one step; where links are forbidden, copy it."""
    aside = link.with_name(f".{link.name}.{secrets.token_hex(6)}.aside")
    try:
        aside.symlink_to(os.path.relpath(target, link.parent))
    except OSError:
        # Windows lets only some people make symbolic links; not every file system has any.
        with atomic_file(link, target.stat().st_size) as f, open(target, "rb") as original:
            shutil.copyfileobj(original, f, 1 << 20)
        return
    os.replace(aside, link)


@contextlib.contextmanager
def disk_full_named(path: Path, needed: int) -> Iterator[None]:
    """Turn the system's "no space left" inside the block into a `DiskFull` about `path`."""
    try:
        yield
    except OSError as error:
        if error.errno not in _NO_ROOM or isinstance(error, DiskFull):
            raise
        raise no_room(path, needed) from error


def no_room(path: Path, needed: int) -> DiskFull:
    """The `DiskFull` that says how much `path` takes and how much is free there."""
    try:
        free = shutil.disk_usage(path.parent).free
    except OSError:
        free = 0
    size = f"{needed:,} bytes are needed" if needed else "not enough room"
    return DiskFull(
        f"no room to write {path}: {size}, {free:,} bytes are free in {path.parent}. Free some "
        "space, or choose another folder (ZOO_HOME for downloads, --out for a run).",
        needed=needed,
        free=free,
    )
