"""Mapped reader of `.safetensors` files: the header is checked whole, the tensors are views.

Format (github.com/huggingface/safetensors): 8 bytes little-endian header length N, N bytes of JSON
`{name: {"dtype", "shape", "data_offsets": [begin, end]}, "__metadata__": {str: str}}`, then the
data. A sound file's tensors tile the data exactly: no overlap, no hole, nothing behind the last.
"""

from __future__ import annotations

import math
import mmap
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from hub.dtypes import BY_NAME
from hub.errors import CorruptCheckpoint, UnsupportedFormat
from hub.strict_json import strict_json

# 100,000 tensors have headers of about 10 MB. The limit is checked before a byte of it is read.
MAX_HEADER_BYTES = 16 << 20
_MAX_DIMS = 32
_ENTRY_KEYS = {"dtype", "shape", "data_offsets"}
_OTHER_DTYPES = {"F8_E4M3", "F8_E5M2", "F8_E8M0", "F4", "F6_E2M3", "F6_E3M2", "C64"}


class SafetensorsFile(Mapping[str, NDArray[Any]]):
    """A `.safetensors` file as a read-only mapping from tensor name to numpy array.

    Arrays are views of the mapped file: opening costs the header only, and pages are read when
    they are used. They cannot be written to. Where a foreign header leaves data unaligned for its
    dtype, that array is a copy. bfloat16 comes with dtype `hub.BFLOAT16`. The map lives as long as
    any view; replacing the file by a rename does not disturb it, truncating it in place would.

    Args:
        path: the file.
        writable: arrays can be written to; what is written stays in this process, the file does
            not change. Pages that nobody writes to are shared with every process all the same.

    Attributes:
        path: the file.
        metadata: the header's `__metadata__`, a dict of strings.

    Raises:
        CorruptCheckpoint: the header is cut short, malformed or contradicts the file.
        UnsupportedFormat: a dtype that numpy cannot hold, such as F8_E4M3.

    >>> with_weights = SafetensorsFile("model.safetensors")                   # doctest: +SKIP
    >>> with_weights["fc.weight"].shape                                       # doctest: +SKIP
    """

    def __init__(self, path: str | os.PathLike[str], *, writable: bool = False) -> None:
        self.path = Path(path)
        access = mmap.ACCESS_COPY if writable else mmap.ACCESS_READ
        with open(self.path, "rb") as f:
            size = os.fstat(f.fileno()).st_size
            header, self._start = _read_header(self.path, f, size)
            # Zero-size files cannot be mapped, but a sound file has 8 bytes at least.
            self._map = mmap.mmap(f.fileno(), 0, access=access)
        self.metadata = _metadata(self.path, header.pop("__metadata__", {}))
        self._entries = {name: _entry(self.path, name, raw) for name, raw in header.items()}
        _check_tiling(self.path, self._entries, size - self._start)

    def __getitem__(self, name: str) -> NDArray[Any]:
        dtype, shape, begin, _ = self._entries[name]
        count = math.prod(shape)
        if count == 0:
            return np.empty(shape, dtype)
        flat = np.frombuffer(self._map, dtype, count, self._start + begin)
        array = flat.reshape(shape)
        return array if array.flags.aligned else array.copy()

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


def read_safetensors(
    path: str | os.PathLike[str],
) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    """All tensors of a `.safetensors` file, as mapped read-only arrays, and its metadata.

    Raises:
        CorruptCheckpoint, UnsupportedFormat: as `SafetensorsFile`.

    >>> arrays, metadata = read_safetensors("model.safetensors")              # doctest: +SKIP
    """
    file = SafetensorsFile(path)
    return dict(file), file.metadata


_Entry = tuple[np.dtype[Any], tuple[int, ...], int, int]


def _read_header(path: Path, f: Any, size: int) -> tuple[dict[str, Any], int]:
    if size < 8:
        _corrupt(path, f"it has {size} bytes, less than the 8 of the header's length")
    length = int.from_bytes(f.read(8), "little")
    if length > size - 8:
        _corrupt(path, f"its header claims {length:,} bytes, but only {size - 8:,} follow")
    if length > MAX_HEADER_BYTES:
        _corrupt(path, f"its header claims {length:,} bytes; at most {MAX_HEADER_BYTES:,} are read")
    raw = f.read(length)
    if not raw.startswith(b"{"):
        _corrupt(path, f"its header starts with {raw[:8]!r} instead of '{{'")
    try:
        header = strict_json(raw, size)
    except ValueError as error:
        _corrupt(path, f"its header is no valid JSON ({str(error)[:120]})")
    return header, 8 + length


def _metadata(path: Path, raw: Any) -> dict[str, str]:
    if not isinstance(raw, dict) or not all(isinstance(v, str) for v in raw.values()):
        _corrupt(path, "its __metadata__ is not a table of strings")
    return raw


def _entry(path: Path, name: str, raw: Any) -> _Entry:
    if not isinstance(raw, dict) or set(raw) != _ENTRY_KEYS:
        _corrupt(path, f"tensor {name!r} needs exactly the fields {sorted(_ENTRY_KEYS)}")
    dtype_name, shape, offsets = raw["dtype"], raw["shape"], raw["data_offsets"]
    if not isinstance(dtype_name, str) or dtype_name not in BY_NAME:
        if dtype_name in _OTHER_DTYPES:
            raise UnsupportedFormat(
                f"{path}: tensor {name!r} has dtype {dtype_name}, which is not read here; "
                f"expected one of {', '.join(BY_NAME)}. Save the model as float32 or float16."
            )
        _corrupt(path, f"tensor {name!r} has the unknown dtype {str(dtype_name)[:40]!r}")
    if not _naturals(shape) or len(shape) > _MAX_DIMS:
        _corrupt(
            path,
            f"tensor {name!r} has the shape {str(shape)[:80]}: expected at most "
            f"{_MAX_DIMS} whole numbers from 0",
        )
    if not _naturals(offsets) or len(offsets) != 2:
        _corrupt(
            path, f"tensor {name!r} has data_offsets {str(offsets)[:80]}: expected [begin, end]"
        )
    dtype, (begin, end) = BY_NAME[dtype_name], offsets
    # Python integers do not overflow, so [2^32, 2^32] is as large as it looks.
    if math.prod(shape) * dtype.itemsize != end - begin:
        _corrupt(
            path,
            f"tensor {name!r} of shape {shape} and dtype {dtype_name} takes "
            f"{math.prod(shape) * dtype.itemsize} bytes, but data_offsets are {offsets}",
        )
    if math.prod(n for n in shape if n) * dtype.itemsize >= 2**63:
        _corrupt(path, f"tensor {name!r} has the impossible shape {shape}")
    return dtype, tuple(shape), begin, end


def _naturals(value: Any) -> bool:
    # A bool is an int in Python, but `true` is no size.
    return isinstance(value, list) and all(type(n) is int and n >= 0 for n in value)


def _check_tiling(path: Path, entries: dict[str, _Entry], data_bytes: int) -> None:
    position = 0
    for name, (_, _, begin, end) in sorted(entries.items(), key=lambda item: item[1][2:]):
        if begin != position:
            fault = "overlaps the tensor before it" if begin < position else "leaves a hole"
            _corrupt(
                path,
                f"tensor {name!r} at data_offsets [{begin}, {end}] {fault}: expected "
                f"to begin at {position}",
            )
        position = end
    if position != data_bytes:
        _corrupt(
            path,
            f"its tensors take {position:,} bytes, but {data_bytes:,} bytes of data "
            "follow the header",
        )


def _corrupt(path: Path, fault: str) -> NoReturn:
    raise CorruptCheckpoint(
        f"{path} is not a sound .safetensors file: {fault}. Copy or download it again."
    )
