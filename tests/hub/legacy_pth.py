"""Writes the format of PyTorch 0.1.10 to 1.5: five pickles, then the storages.

PYTHONPATH=. python -m tests.hub.legacy_pth     (where PyTorch is: it reads what is written here)
"""

from __future__ import annotations

import sys
import tempfile
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import numpy as np

from tests.hub.legacy_tar import STORAGES, Kept, Named, Pickler

_MAGIC, _VERSION = 0x1950A86A20F9469CFC6C, 1001
_SYSTEM = {
    "protocol_version": 1001,
    "little_endian": True,
    "type_sizes": {"short": 2, "int": 4, "long": 4},
}


@dataclass
class Called:
    """Stands for what a function of that name returns in a pickle."""

    function: Named
    arguments: tuple[Any, ...]


class _Pickler(Pickler):
    def save(self, value: Any, save_persistent_id: bool = True) -> None:
        if isinstance(value, Called):
            self.save(value.function)
            self.save(value.arguments)
            self.write(b"R")
        else:
            super().save(value, save_persistent_id)


def _pickled(value: Any) -> bytes:
    out = BytesIO()
    _Pickler(out, protocol=2).dump(value)
    return out.getvalue()


def legacy_file(arrays: Mapping[str, np.ndarray]) -> bytes:
    """The file for a state dict of contiguous arrays, each with a storage of its own."""
    state: OrderedDict[str, Any] = OrderedDict()
    storages = []
    for number, (name, array) in enumerate(arrays.items()):
        key = str(10**14 + number)  # PyTorch takes addresses
        kind = Named("torch", STORAGES[array.dtype.name])
        strides = tuple(stride // array.itemsize for stride in array.strides)
        state[name] = Called(
            Named("torch._utils", "_rebuild_tensor_v2"),
            (
                Kept(("storage", kind, key, "cpu", array.size, None)),
                0,
                array.shape,
                strides,
                False,
                OrderedDict(),
            ),
        )
        storages.append((key, array.size.to_bytes(8, "little") + array.tobytes()))
    head = [_MAGIC, _VERSION, _SYSTEM, state, [key for key, _ in storages]]
    return b"".join([*map(_pickled, head), *(content for _, content in storages)])


def main() -> None:
    import torch

    rng = np.random.default_rng(0)
    arrays = {
        "weight": rng.standard_normal((3, 4)).astype(np.float32),
        "double": rng.standard_normal(5),
        "count": np.array(7),
    }
    with tempfile.NamedTemporaryFile() as file:
        file.write(legacy_file(arrays))
        file.flush()
        loaded = torch.load(file.name, weights_only=True)
    for name, array in arrays.items():
        np.testing.assert_array_equal(loaded[name].numpy(), array, strict=True)
    print(f"PyTorch {torch.__version__} reads the {len(loaded)} tensors")


if __name__ == "__main__":
    sys.exit(main())
