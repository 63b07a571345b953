"""Writes the tar format of PyTorch before 0.1.10, which no installable PyTorch writes any more.

PYTHONPATH=. python -m tests.hub.legacy_tar     (where PyTorch is: it reads what is written here)
"""

from __future__ import annotations

import io
import pickle
import struct
import sys
import tarfile
import tempfile
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

STORAGES = {"float32": "FloatStorage", "float64": "DoubleStorage", "int64": "LongStorage",
            "float16": "HalfStorage", "uint8": "ByteStorage"}  # fmt: skip


@dataclass
class Named:
    """Stands for the global of that name in a pickle."""

    module: str
    name: str


@dataclass
class Kept:
    """Stands for what is kept outside of the pickle under this key."""

    key: Any


class Pickler(pickle._Pickler):
    """Writes `Named` as a global without importing it, and `Kept` as a persistent id."""

    def persistent_id(self, value: Any) -> Any:
        return value.key if isinstance(value, Kept) else None

    def save(self, value: Any, save_persistent_id: bool = True) -> None:
        if isinstance(value, Named):
            self.write(f"c{value.module}\n{value.name}\n".encode())
        else:
            super().save(value, save_persistent_id)


def pickled(value: Any) -> bytes:
    out = io.BytesIO()
    Pickler(out, protocol=2).dump(value)
    return out.getvalue()


def tar_members(arrays: Mapping[str, np.ndarray], value: Any = None) -> dict[str, bytes]:
    """The members for a state dict of arrays, of which views of one base share its storage."""
    bases: dict[int, np.ndarray] = {}
    storages, tensors = [], []
    for number, array in enumerate(arrays.values()):
        base = array if array.base is None else array.base
        flat = base.reshape(-1)
        key = 1000 + id(base) % 10**9
        kind = STORAGES[flat.dtype.name]
        if key not in bases:
            bases[key] = base
            head = pickled((key, "cpu", Named("torch", kind)))
            storages.append(head + struct.pack("<q", flat.size) + flat.tobytes())
        offset = array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        size = array.itemsize
        tensors.append(
            pickled((number + 1, key, Named("torch", kind.replace("Storage", "Tensor"))))
            + struct.pack("<ii", array.ndim, 0)
            + struct.pack(f"<{array.ndim}q", *array.shape)
            + struct.pack(f"<{array.ndim}q", *(stride // size for stride in array.strides))
            + struct.pack("<q", offset // size)
        )
    state = OrderedDict((name, Kept(str(n + 1))) for n, name in enumerate(arrays))
    system = {"protocol_version": 1000, "little_endian": True, "type_sizes": {"int": 4}}
    return {
        "sys_info": pickled(system),
        "pickle": pickled(state if value is None else value),
        "tensors": pickled(len(tensors)) + b"".join(tensors),
        "storages": pickled(len(storages)) + b"".join(storages) + pickled([]),
    }


def tar_file(members: Mapping[str, bytes], format: int = tarfile.GNU_FORMAT) -> bytes:
    """A tar archive of these members."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=format) as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


def sample() -> dict[str, np.ndarray]:
    """Arrays of every layout: plain, transposed, a tail of another's memory, a scalar, empty."""
    rng = np.random.default_rng(0)
    base = rng.standard_normal((3, 4)).astype(np.float32)
    arrays = {
        "plain": base,
        "transposed": base.T,
        "tail": base.reshape(-1)[8:],
        "double": rng.standard_normal(5),
        "half": rng.standard_normal(3).astype(np.float16),
        "count": np.array(7),
    }
    return arrays


def main() -> None:
    import torch

    with tempfile.NamedTemporaryFile() as file:
        file.write(tar_file(tar_members(sample())))
        file.flush()
        loaded = torch.load(file.name, weights_only=False)
    for name, array in sample().items():
        np.testing.assert_array_equal(loaded[name].numpy(), array, strict=True)
        assert loaded[name].stride() == tuple(s // array.itemsize for s in array.strides)
    print(f"PyTorch {torch.__version__} reads the {len(loaded)} tensors")


if __name__ == "__main__":
    sys.exit(main())
