"""The oldest `.pth` files: tar archives of PyTorch before 0.1.10 (2017).

Members, read where they lie in the file, never unpacked; others are not looked at, whatever they
are called:

- `storages`: a pickle with their number, then for each a pickle (key, device, class), its element
  count as int64 and its data; then a pickle of views [(key, root, offset, elements), ...].
- `tensors`: a pickle with their number, then for each a pickle (key, storage, class), the number
  of dimensions as int32 and 4 bytes of nothing, sizes, strides and offset as int64.
- `pickle`: the value, where a persistent id is a tensor's or storage's key.
- `sys_info`: byte order and sizes of C types.
"""

from __future__ import annotations

import io
import struct
import tarfile
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from hub.dtypes import BY_NAME
from hub.errors import CorruptCheckpoint, UnsupportedFormat
from hub.pickle_reader import read_pickle
from hub.pickle_values import StorageRef, TensorRef, storage_dtype, tensor_ref

_MEMBERS = ("sys_info", "pickle", "tensors", "storages")
# A sound archive has 4 members; each one more costs memory before it is known to be useless.
_MOST_MEMBERS = 64
# Storages, views or tensors; a network of 2017 has a thousand.
_MOST_ENTRIES = 20_000


def is_tar(data: memoryview) -> bool:
    """Whether bytes start with the header of a tar archive: its checksum is right.

    >>> is_tar(memoryview(b"PK"))
    False
    """
    try:
        tarfile.TarInfo.frombuf(bytes(data[:512]), "utf-8", "surrogateescape")
    except (tarfile.HeaderError, ValueError):
        return False
    return True


def open_tar(data: memoryview) -> tuple[Any, dict[str, memoryview]]:
    """The value of a tar `.pth` and its storages by key.

    Raises:
        UnsafePickle, CorruptCheckpoint, UnsupportedFormat: as `hub.pth.PthFile`.
    """
    try:
        return _open(data)
    except ValueError as error:
        _corrupt(str(error)[:120])


def _open(data: memoryview) -> tuple[Any, dict[str, memoryview]]:
    members = _members(data)
    missing = [name for name in _MEMBERS if name not in members]
    if missing:
        raise UnsupportedFormat(
            f"it is a tar archive without {missing[0]!r}, so it is not the legacy tar format of "
            "PyTorch. Unpack it and pass the weights file in it."
        )
    system = read_pickle(members["sys_info"]).value
    if not isinstance(system, dict) or system.get("little_endian") is not True:
        raise UnsupportedFormat(
            "it was saved on a big-endian machine. Load it with PyTorch and save it again here."
        )
    storages, raw = _read_storages(members["storages"])
    known: dict[str, StorageRef | TensorRef] = {**storages}
    known |= _read_tensors(members["tensors"], storages)

    def resolve(reference: Any) -> StorageRef | TensorRef:
        # A module saved with its source: (class, file, text). Naming the class has been refused.
        key = _key(reference)
        if key not in known:
            raise ValueError(f"persistent id {key[:40]!r} is neither a tensor nor a storage")
        return known[key]

    return read_pickle(members["pickle"], file_bytes=len(data), resolve=resolve).value, raw


def _members(data: memoryview) -> dict[str, memoryview]:
    found: dict[str, memoryview] = {}
    try:
        with tarfile.open(fileobj=_View(data), mode="r:") as archive:
            for number, info in enumerate(archive):
                if number >= _MOST_MEMBERS:
                    _corrupt(f"the archive has more than {_MOST_MEMBERS} members")
                name = info.name.removeprefix("./")
                if name not in _MEMBERS:
                    continue
                if name in found or not info.isreg() or info.issparse():
                    _corrupt(f"member {name!r} is there twice, or no plain file")
                if not 0 <= info.offset_data <= info.offset_data + info.size <= len(data):
                    _corrupt(f"member {name!r} reaches beyond the end of the file")
                found[name] = data[info.offset_data : info.offset_data + info.size]
    except (tarfile.TarError, ValueError, OverflowError, RecursionError) as error:
        _corrupt(f"the archive is damaged ({str(error)[:120]})")
    return found


class _View(io.RawIOBase):
    """A file object over mapped bytes that copies only what is read."""

    def __init__(self, data: memoryview) -> None:
        self._data, self._at = data, 0

    def read(self, size: int | None = -1) -> bytes:
        stop = len(self._data) if size is None or size < 0 else self._at + size
        piece = bytes(self._data[self._at : stop])
        self._at += len(piece)
        return piece

    def seek(self, offset: int, whence: int = 0) -> int:
        if whence != 0 or offset < 0:
            raise ValueError(f"seek to {offset} from {whence}")
        self._at = offset
        return offset

    def tell(self) -> int:
        return self._at


@dataclass
class _Reader:
    """Pickles and numbers in turn."""

    data: memoryview
    at: int = 0

    def pickle(self) -> Any:
        found = read_pickle(self.data, self.at)
        self.at = found.end
        return found.value

    def take(self, count: int) -> memoryview:
        if not 0 <= count <= len(self.data) - self.at:
            _corrupt(f"{count:,} bytes are needed, but {len(self.data) - self.at:,} are left")
        piece = self.data[self.at : self.at + count]
        self.at += count
        return piece

    def longs(self, count: int) -> tuple[int, ...]:
        return struct.unpack(f"<{count}q", self.take(8 * count))

    def triples(self) -> Any:
        """As many pickled triples as a pickled number says; each may be followed by more."""
        count = self.pickle()
        if type(count) is not int or not 0 <= count <= _MOST_ENTRIES:
            _corrupt(f"the number of its storages or tensors is not from 0 to {_MOST_ENTRIES:,}")
        for _ in range(count):
            triple = self.pickle()
            if not isinstance(triple, tuple) or len(triple) != 3:
                _corrupt("a storage or tensor is not described by three values")
            yield triple


def _read_storages(data: memoryview) -> tuple[dict[str, StorageRef], dict[str, memoryview]]:
    reader = _Reader(data)
    found: dict[str, StorageRef] = {}
    raw: dict[str, memoryview] = {}
    for key, _device, kind in reader.triples():
        dtype = storage_dtype(kind, _key(key))
        (numel,) = reader.longs(1)
        raw[_key(key)] = reader.take(numel * BY_NAME[dtype].itemsize)
        found[_key(key)] = StorageRef(_key(key), dtype, numel)
    views = reader.pickle()
    if not isinstance(views, list) or len(views) > _MOST_ENTRIES:
        _corrupt("the list of views of storages is none")
    for view in views:
        if not isinstance(view, tuple) or len(view) != 4:
            _corrupt("a view of a storage is not described by four values")
        key, root, offset, numel = view
        if _key(root) not in found or type(offset) is not int or type(numel) is not int:
            _corrupt("a view of a storage that is not there")
        whole = found[_key(root)]
        if not 0 <= offset <= offset + numel <= whole.numel:
            _corrupt(f"a view reaches outside storage {_key(root)!r}")
        size = BY_NAME[whole.dtype].itemsize
        raw[_key(key)] = raw[_key(root)][offset * size : (offset + numel) * size]
        found[_key(key)] = replace(whole, key=_key(key), numel=numel)
    return found, raw


def _read_tensors(data: memoryview, storages: dict[str, StorageRef]) -> dict[str, TensorRef]:
    reader = _Reader(data)
    found: dict[str, TensorRef] = {}
    for key, storage, _kind in reader.triples():
        if _key(storage) not in storages:
            _corrupt(f"tensor {_key(key)!r} is of a storage that is not there")
        dims, _ = struct.unpack("<ii", reader.take(8))
        if dims < 0:
            _corrupt(f"tensor {_key(key)!r} has {dims} dimensions")
        shape, strides = reader.longs(dims), reader.longs(dims)
        (offset,) = reader.longs(1)
        whole = storages[_key(storage)]
        try:
            found[_key(key)] = tensor_ref(whole, whole.dtype, offset, shape, strides)
        except ValueError as error:
            _corrupt(str(error))
    return found


def _key(value: Any) -> str:
    """Keys are addresses of long ago: integers, or the same as text."""
    if isinstance(value, str) and len(value) <= 40:
        return value
    if type(value) is int:
        return str(value)
    raise ValueError("a key that is neither a number nor a text")


def _corrupt(fault: str) -> NoReturn:
    raise CorruptCheckpoint(
        f"not a sound .pth file of the legacy tar format: {fault}. Copy or download it again."
    )
