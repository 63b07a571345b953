"""Atomic writer of `.safetensors` files."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from hub.atomic import atomic_file
from hub.dtypes import NAME_OF
from hub.errors import UnsupportedFormat

# A tensor that is not contiguous is copied in pieces of about this many bytes, never whole.
_PIECE_BYTES = 8 << 20


def write_safetensors(
    path: str | os.PathLike[str],
    tensors: Mapping[str, NDArray[Any]],
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write arrays and string metadata to `path`, whole or not at all.

    The same input gives the same bytes: tensors are ordered by item size (largest first, so that
    each is aligned for its dtype), then by name; metadata by key. Data streams from the arrays.

    Args:
        path: final name; its folder must exist. An old file there stays until the new one is whole.
        tensors: numpy arrays of any strides; dtypes bool, (u)int8-64, float16/32/64, `BFLOAT16`.
        metadata: strings by name, kept in the header.

    Raises:
        DiskFull: no room; the old file is intact.
        UnsupportedFormat: an array's dtype has no name in the format.
        TypeError: a value is no numpy array, or a metadata entry no string.

    >>> write_safetensors("a.safetensors", {"w": np.ones(3)}, {"arch": "none"})  # doctest: +SKIP
    """
    arrays = {name: _storable(name, array) for name, array in tensors.items()}
    names = sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))
    header: dict[str, Any] = {}
    if metadata:
        header["__metadata__"] = _checked_metadata(metadata)
    position = 0
    for name in names:
        array = arrays[name]
        end = position + array.nbytes
        header[name] = {
            "dtype": NAME_OF[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [position, end],
        }
        position = end
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    text += b" " * (-len(text) % 8)  # the data then starts 8-byte aligned, for mapped readers
    with atomic_file(Path(path), needed=8 + len(text) + position) as f:
        f.write(len(text).to_bytes(8, "little"))
        f.write(text)
        for name in names:
            _write_array(f, arrays[name])


def _storable(name: str, array: Any) -> NDArray[Any]:
    if not isinstance(array, np.ndarray):
        raise TypeError(
            f"write_safetensors: {name!r} is a {type(array).__name__}, expected a numpy array; "
            "use tensor.detach().numpy()"
        )
    if name == "__metadata__":
        raise UnsupportedFormat("write_safetensors: '__metadata__' is reserved, rename the tensor")
    if array.dtype.newbyteorder("<") not in NAME_OF:
        raise UnsupportedFormat(
            f"write_safetensors: {name!r} has dtype {array.dtype}; "
            f"expected one of {', '.join(NAME_OF.values())}; convert it with array.astype"
        )
    if array.dtype.newbyteorder("<") != array.dtype:
        return array.astype(array.dtype.newbyteorder("<"))
    return array


def _checked_metadata(metadata: Mapping[str, str]) -> dict[str, str]:
    for key, value in metadata.items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise TypeError(
                f"write_safetensors: metadata {key!r} is a {type(value).__name__}; the format "
                "holds strings only; use json.dumps"
            )
    return {key: metadata[key] for key in sorted(metadata)}


def _write_array(f: BinaryIO, array: NDArray[Any]) -> None:
    for piece in _pieces(array):
        # A view as bytes hands numpy's memory to the file without a copy.
        f.write(np.ascontiguousarray(piece).reshape(-1).view(np.uint8).data)


def _pieces(array: NDArray[Any]) -> Iterator[NDArray[Any]]:
    if array.size == 0:
        return
    if array.ndim == 0 or array.flags.c_contiguous:
        yield array
        return
    rows = max(1, _PIECE_BYTES // (math.prod(array.shape[1:]) * array.dtype.itemsize))
    for first in range(0, len(array), rows):
        yield array[first : first + rows]
