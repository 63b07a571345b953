"""Files of the cache that vouch for themselves: `STEM-DIGITS.safetensors`, where the digits are the
first 16 of the SHA-256 of the content.

What can be computed again needs no second copy and no list of digests; it must only never be used
when a byte of it has changed, whatever changed it. A file is hashed each time it is opened, at a
speed of gigabytes a second, and one that is not what its name says is removed.
"""

from __future__ import annotations

import contextlib
import glob
import logging
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from hub.atomic import fsync_folder
from hub.cache import sha256_file
from hub.safetensors_writer import write_safetensors

log = logging.getLogger("hub")
_DIGITS = 16


def write_sealed(
    folder: Path, stem: str, tensors: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]
) -> Path:
    """Write arrays and texts, whole or not at all, in place of what was there under this stem.

    Args:
        folder: made if it is not there.
        stem: what `find_sealed` asks for; no "/".
        tensors, metadata: as for `write_safetensors`.

    Raises:
        DiskFull, OSError: it cannot be written; what was there is intact.

    >>> write_sealed(folder, "lengths", {"n": np.arange(3)}, {}).name         # doctest: +SKIP
    'lengths-5d0e1f0a2c3b4d69.safetensors'
    """
    folder.mkdir(parents=True, exist_ok=True)
    aside = folder / f".{stem}.{secrets.token_hex(6)}.aside"
    try:
        write_safetensors(aside, tensors, metadata)
        path = folder / f"{stem}-{sha256_file(aside)[:_DIGITS]}.safetensors"
        os.replace(aside, path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    fsync_folder(folder)
    for old in _named(folder, stem):
        if old != path:
            with contextlib.suppress(OSError):
                old.unlink()
    return path


def find_sealed(folder: Path, stem: str) -> Path | None:
    """The file of this stem whose content is what its name says, or None; others are removed.

    >>> find_sealed(Path("nowhere"), "lengths") is None
    True
    """
    for path in _named(folder, stem):
        with contextlib.suppress(OSError):  # another process may have replaced it
            if path.stem.endswith(f"-{sha256_file(path)[:_DIGITS]}"):
                return path
            log.warning("%s was damaged and is made anew", path)
            path.unlink()
    return None


def _named(folder: Path, stem: str) -> list[Path]:
    pattern = f"{glob.escape(stem)}-{'[0-9a-f]' * _DIGITS}.safetensors"
    return sorted(folder.glob(pattern))
