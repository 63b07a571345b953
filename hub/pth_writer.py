"""Atomic writer of `.pth` files, as PyTorch 1.6 and later save a state dict.

A zip archive with stored members: `archive/data.pkl` describes the dict in a pickle, in
`archive/data/KEY` lie the numbers, each aligned to 64 bytes. The pickle is put together here opcode
by opcode, since pickling a tensor would take PyTorch. It names what `torch.load(weights_only=True)`
allows and nothing else.
"""

from __future__ import annotations

import os
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hub.atomic import atomic_file
from hub.dtypes import NAME_OF
from hub.errors import UnsupportedFormat
from hub.pickle_values import STORAGE_DTYPES

_ALIGNMENT = 64
_LOCAL_HEADER = 30
_STORAGE_OF = {
    dtype: storage
    for storage, dtype in STORAGE_DTYPES.items()
    if dtype is not None and storage != "UntypedStorage"
}


def write_pth(path: str | os.PathLike[str], tensors: Mapping[str, NDArray[Any]]) -> None:
    """Write named arrays as a state dict that `torch.load` reads, whole or not at all.

    The same input gives the same bytes. Each array gets a storage of its own.

    Args:
        path: final name; its folder must exist. An old file there stays until the new one is whole.
        tensors: numpy arrays; dtypes bool, uint8, int8-64, float16/32/64, `BFLOAT16`.

    Raises:
        DiskFull: no room; the old file is intact.
        UnsupportedFormat: PyTorch of that format has no such dtype.

    >>> write_pth("weights.pth", {"fc.bias": np.zeros(10, np.float32)})       # doctest: +SKIP
    """
    for name, array in tensors.items():
        if NAME_OF.get(array.dtype) not in _STORAGE_OF:
            raise UnsupportedFormat(
                f"write_pth: {name!r} has dtype {array.dtype}, which a .pth file of this kind "
                f"cannot hold; expected one of {', '.join(_STORAGE_OF)}"
            )
    needed = sum(array.nbytes for array in tensors.values())
    with atomic_file(Path(path), needed) as file, zipfile.ZipFile(file, "w") as archive:
        _member(archive, "data.pkl", _pickle(tensors))
        _member(archive, "byteorder", b"little")
        for key, array in enumerate(tensors.values()):
            # A view as bytes hands numpy's memory to the file without a copy.
            _member(archive, f"data/{key}", np.ascontiguousarray(array).reshape(-1).view(np.uint8))
        _member(archive, "version", b"3\n")


def _member(archive: zipfile.ZipFile, name: str, content: Any) -> None:
    info = zipfile.ZipInfo(f"archive/{name}", (1980, 1, 1, 0, 0, 0))
    # The archive starts with the file, so positions in it are those of the file. An extra field of
    # 4 bytes and more fills the gap, as PyTorch does it.
    assert archive.fp is not None
    start = archive.fp.tell() + _LOCAL_HEADER + len(info.filename) + 4
    padding = -start % _ALIGNMENT
    info.file_size = memoryview(content).nbytes
    info.extra = b"FB" + struct.pack("<H", padding) + b"Z" * padding
    with archive.open(info, "w") as file:
        file.write(memoryview(content))


def _pickle(tensors: Mapping[str, NDArray[Any]]) -> bytes:
    """{name: torch._utils._rebuild_tensor_v2(storage, 0, shape, strides, False, OrderedDict())}"""
    parts = [b"\x80\x02}("]  # protocol 2, an empty dict, mark
    for key, (name, array) in enumerate(tensors.items()):
        strides = [1] * array.ndim
        for axis in range(array.ndim - 2, -1, -1):
            strides[axis] = strides[axis + 1] * array.shape[axis + 1]
        storage = _STORAGE_OF[NAME_OF[array.dtype]]
        parts += [
            _text(name),
            b"ctorch._utils\n_rebuild_tensor_v2\n((",
            _text("storage"),
            f"ctorch\n{storage}\n".encode(),
            _text(str(key)),
            _text("cpu"),
            _integer(array.size),
            b"tQ",  # the tuple names a storage
            _integer(0),
            b"(" + b"".join(map(_integer, array.shape)) + b"t",
            b"(" + b"".join(map(_integer, strides)) + b"t",
            b"\x89ccollections\nOrderedDict\n)RtR",
        ]
    return b"".join([*parts, b"u."])


def _text(value: str) -> bytes:
    raw = value.encode("utf-8")
    return b"X" + struct.pack("<I", len(raw)) + raw


def _integer(value: int) -> bytes:
    if value < 2**31:
        return b"J" + struct.pack("<i", value)
    raw = value.to_bytes(value.bit_length() // 8 + 1, "little")
    return b"\x8a" + bytes([len(raw)]) + raw
