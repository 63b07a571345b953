"""Reads `.pth` files: the zip format of PyTorch 1.6 and later, and the formats before it.

Zip: `NAME/data.pkl` describes the value, `NAME/data/KEY` holds each storage, stored, not deflated.
Before: five pickles in a row (magic, version, system, value, storage keys), then for each key its
element count as int64 and its data. The tar archives of PyTorch before 0.1.10: see `hub.pth_tar`.

Pickles are interpreted by `hub.pickle_reader`, which runs nothing. Storages stay in the mapped
file and tensors are views of it, with offsets and strides as saved, sharing memory where they did.
"""

from __future__ import annotations

import contextlib
import math
import mmap
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from hub.dtypes import BY_NAME
from hub.errors import CorruptCheckpoint, HubError, UnsupportedFormat
from hub.pickle_reader import MAX_PICKLE_BYTES, Pickle, read_pickle
from hub.pickle_values import StorageRef, TensorRef
from hub.pth_tar import is_tar, open_tar

LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
_LEGACY_VERSION = 1001
# An expanded tensor (stride 0) repeats its storage; copying a hostile one would fill the memory.
_MAX_EXPANDED_BYTES = 256 << 20
_ZIP_LOCAL_HEADER = 30


class PthFile:
    """An open `.pth` file.

    Args:
        path: the file.
        writable: arrays can be written to; what is written stays in this process, the file does
            not change.

    Attributes:
        value: what was saved: dicts, lists, numbers, strings, with `TensorRef` where tensors were.

    Raises:
        UnsafePickle: it would run code; nothing was run.
        CorruptCheckpoint: it is cut short or damaged.
        UnsupportedFormat: TorchScript, big-endian, compressed, complex or quantised.

    >>> file = PthFile("resnet18-f37072fd.pth")                               # doctest: +SKIP
    >>> file.tensor(file.value["fc.bias"]).shape                              # doctest: +SKIP
    (1000,)
    """

    def __init__(self, path: str | os.PathLike[str], *, writable: bool = False) -> None:
        self.path = Path(path)
        self._writable = writable
        access = mmap.ACCESS_COPY if writable else mmap.ACCESS_READ
        with open(self.path, "rb") as f:
            if os.fstat(f.fileno()).st_size == 0:
                _corrupt("it is empty")
            self._map = memoryview(mmap.mmap(f.fileno(), 0, access=access))
        self._typed: dict[tuple[str, str], NDArray[Any]] = {}
        with self._named():
            if self._map[:4] == b"PK\x03\x04":
                self.value, self._storages = self._open_zip()
            elif is_tar(self._map):
                self.value, self._storages = open_tar(self._map)
            else:
                self.value, self._storages = _open_legacy(self._map)

    def tensor(self, ref: TensorRef) -> NDArray[Any]:
        """The array of one `TensorRef`: a view of the mapped file, read-only unless `writable`.

        A storage that lies unaligned for its dtype (the pre-zip format aligns nothing) is copied
        once. bfloat16 has dtype `hub.BFLOAT16`.

        Raises:
            CorruptCheckpoint: the tensor reaches outside its storage.
        """
        dtype = BY_NAME[ref.dtype]
        count = math.prod(ref.shape)
        if count == 0:
            return np.empty(ref.shape, dtype)
        with self._named():
            flat = self._typed_storage(ref)
            steps = zip(ref.shape, ref.strides, strict=True)
            last = ref.offset + sum((n - 1) * stride for n, stride in steps)
            if last >= len(flat):
                _corrupt(
                    f"a tensor reaches element {last:,} of storage {ref.storage.key!r}, which "
                    f"has {len(flat):,}"
                )
            if count > len(flat) and count * dtype.itemsize > _MAX_EXPANDED_BYTES:
                _corrupt(
                    f"a tensor of shape {ref.shape} expands a storage of {len(flat):,} "
                    "elements beyond reason"
                )
        strides = tuple(s * dtype.itemsize for s in ref.strides)
        return np.lib.stride_tricks.as_strided(
            flat[ref.offset :], ref.shape, strides, writeable=self._writable
        )

    def _typed_storage(self, ref: TensorRef) -> NDArray[Any]:
        key = (ref.storage.key, ref.dtype)
        if key not in self._typed:
            dtype, raw = BY_NAME[ref.dtype], self._storages[ref.storage.key]
            count = len(raw) // dtype.itemsize
            flat = np.frombuffer(raw, dtype, count) if count else np.empty(0, dtype)
            self._typed[key] = flat if flat.flags.aligned else flat.copy()
        return self._typed[key]

    @contextlib.contextmanager
    def _named(self) -> Iterator[None]:
        """Put the file's path in front of errors raised inside."""
        try:
            yield
        except HubError as error:
            error.args = (f"{self.path}: {error.args[0]}",)
            raise

    def _open_zip(self) -> tuple[Any, dict[str, memoryview]]:
        try:
            with zipfile.ZipFile(self.path) as archive:
                members = archive.infolist()
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            _corrupt(
                f"it starts as a zip archive but has no sound table of contents at its end "
                f"({error}); the {len(self._map):,} bytes here are probably not all of it"
            )
        by_name = {m.filename: m for m in members}
        if len(by_name) != len(members):
            _corrupt("two members of the archive have the same name")
        folder = _archive_folder(by_name)
        if f"{folder}byteorder" in by_name:
            order = bytes(self._member(by_name[f"{folder}byteorder"])[:16])
            if order.strip() != b"little":
                _big_endian()
        data = self._member(by_name[f"{folder}data.pkl"])
        if len(data) > MAX_PICKLE_BYTES:
            raise UnsupportedFormat(
                f"its data.pkl has {len(data):,} bytes; at most {MAX_PICKLE_BYTES:,} are read. "
                "Save torch.save(model.state_dict(), PATH), without other objects."
            )
        pickle = read_pickle(data, file_bytes=len(self._map))
        storages = {}
        for storage in pickle.storages.values():
            member = by_name.get(f"{folder}data/{storage.key}")
            if member is None:
                _corrupt(f"storage {storage.key!r} is missing from the archive")
            storages[storage.key] = _checked_size(storage, self._member(member))
        return pickle.value, storages

    def _member(self, info: zipfile.ZipInfo) -> memoryview:
        """Bytes of an archive member, in place."""
        if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 0x1:
            raise UnsupportedFormat(
                f"member {info.filename!r} is compressed or encrypted; torch.save stores members "
                "as they are. Save the file again with torch.save."
            )
        header = self._map[info.header_offset : info.header_offset + _ZIP_LOCAL_HEADER]
        if len(header) < _ZIP_LOCAL_HEADER or header[:4] != b"PK\x03\x04":
            _corrupt(f"member {info.filename!r} is not where the table of contents says")
        names = int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
        start = info.header_offset + _ZIP_LOCAL_HEADER + names
        if info.file_size != info.compress_size or start + info.file_size > len(self._map):
            _corrupt(f"member {info.filename!r} reaches beyond the end of the file")
        return self._map[start : start + info.file_size]


def _archive_folder(by_name: dict[str, zipfile.ZipInfo]) -> str:
    """The one folder that holds data.pkl, with its slash."""
    folders = [n[: -len("data.pkl")] for n in by_name if n.count("/") == 1
               and n.endswith("/data.pkl")]  # fmt: skip
    if len(folders) != 1:
        raise UnsupportedFormat(
            "it is a zip archive without a NAME/data.pkl, so torch.save did not make it. "
            "Expected a .pth or .safetensors file."
        )
    folder = folders[0]
    if any(n == f"{folder}constants.pkl" or n.startswith(f"{folder}code/") for n in by_name):
        raise UnsupportedFormat(
            "it is a TorchScript program, not a weights file. Where it was made: "
            "torch.save(torch.jit.load(PATH).state_dict(), 'weights.pth')."
        )
    return folder


def _open_legacy(data: memoryview) -> tuple[Any, dict[str, memoryview]]:
    magic = read_pickle(data)
    if magic.value != LEGACY_MAGIC:
        raise UnsupportedFormat(
            "it is a pickle, but not one of torch.save. Expected a .pth or .safetensors file."
        )
    version = read_pickle(data, magic.end)
    if version.value != _LEGACY_VERSION:
        # Only a number is shown: the text of a nested tuple that shares its parts has no end.
        shown = version.value if isinstance(version.value, int) else "that is no number"
        raise UnsupportedFormat(
            f"its torch.save format has a version {shown}, expected "
            f"{_LEGACY_VERSION}. Save it again with a current PyTorch."
        )
    system = read_pickle(data, version.end)
    if not isinstance(system.value, dict) or system.value.get("little_endian") is not True:
        _big_endian()
    pickle = read_pickle(data, system.end)
    keys = read_pickle(data, pickle.end)
    return pickle.value, _legacy_storages(data, pickle, keys)


def _legacy_storages(data: memoryview, pickle: Pickle, keys: Pickle) -> dict[str, memoryview]:
    if not isinstance(keys.value, list) or set(map(type, keys.value)) - {str}:
        _corrupt("the list of its storages is no list of names")
    at, storages = keys.end, {}
    for key in keys.value:
        storage = pickle.storages.get(key)
        if storage is None:
            _corrupt(f"storage {key[:40]!r} belongs to nothing, so its size is unknown")
        if at + 8 > len(data):
            _corrupt(f"it is cut short at byte {len(data):,}, before storage {key!r}")
        numel = int.from_bytes(data[at : at + 8], "little", signed=True)
        at += 8
        size = numel * BY_NAME[storage.dtype].itemsize
        if not 0 <= size <= len(data) - at:
            _corrupt(
                f"storage {key!r} claims {size:,} bytes, but {len(data) - at:,} are left; "
                "the file is cut short or damaged"
            )
        storages[key] = _checked_size(storage, data[at : at + size])
        at += size
    missing = sorted(set(pickle.storages) - set(storages))
    if missing:
        _corrupt(f"storage {missing[0]!r} is missing")
    return storages


def _checked_size(storage: StorageRef, raw: memoryview) -> memoryview:
    expected = storage.numel * BY_NAME[storage.dtype].itemsize
    if len(raw) != expected:
        _corrupt(
            f"storage {storage.key!r} has {len(raw):,} bytes, expected {expected:,} for "
            f"{storage.numel:,} elements of {storage.dtype}"
        )
    return raw


def _big_endian() -> NoReturn:
    raise UnsupportedFormat(
        "it was saved on a big-endian machine. Load it with PyTorch and save it again here."
    )


def _corrupt(fault: str) -> NoReturn:
    raise CorruptCheckpoint(f"not a sound .pth file: {fault}. Copy or download it again.")
