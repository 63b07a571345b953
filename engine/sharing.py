"""Tensors in memory that several processes see, for queues and pools of multiprocessing.

A shared tensor is sent to another process as the number of an open file, and both look at one
memory: a pool can fill it in place. The memory has no name, so nothing is left behind when a
process dies, and it goes when the last tensor over it does.
"""

from __future__ import annotations

import mmap
import os
import tempfile
import weakref
from multiprocessing import reduction
from typing import Any

import numpy as np

from engine import _C
from engine._C import AutogradError, Tensor

# Address of each shared region that this process has mapped -> its file and size.
_regions: dict[int, tuple[int, int]] = {}


def _forget(address: int, file: int) -> None:
    _regions.pop(address, None)
    os.close(file)


def _map(file: int, size: int) -> np.ndarray[Any, Any]:
    """The bytes of an open file as an array; closes the file when the array goes."""
    array = np.frombuffer(mmap.mmap(file, size), np.uint8)
    address = array.__array_interface__["data"][0]
    _regions[address] = (file, size)
    weakref.finalize(array, _forget, address, file)
    return array


def _new_file(size: int) -> int:
    if hasattr(os, "memfd_create"):
        file = os.memfd_create("engine_tensor")
    else:
        file, path = tempfile.mkstemp(prefix="engine_tensor")
        os.unlink(path)
    os.ftruncate(file, size)
    return file


def _region_of(t: Tensor) -> tuple[int, int, int] | None:
    """Address, file and size of the shared region that holds the tensor."""
    first = t.data_ptr()
    for address, (file, size) in _regions.items():
        if address <= first < address + size:
            return address, file, size
    return None


def is_shared(self: Tensor) -> bool:
    """See Tensor.is_shared."""
    return _region_of(self) is not None


def share_memory_(self: Tensor) -> Tensor:
    """See Tensor.share_memory_."""
    if is_shared(self):
        return self
    if not self.is_leaf:
        raise AutogradError(
            f"share_memory_: this tensor is the result of '{self.grad_fn}'; use .detach().clone()"
        )
    size = max(self.nbytes, 1)
    steps, step = [], 1
    for n in reversed(self.shape):
        steps.append(step)
        step *= n
    shared = _C._tensor_over(
        _map(_new_file(size), size), self.dtype, self.shape, tuple(reversed(steps)), 0
    )
    shared.copy_(self.detach())
    for kind in (type(self), Tensor):  # views of a Parameter are plain tensors
        reduction.ForkingPickler.register(kind, _send)
    _C._adopt_memory(self, shared)
    return self


def _receive(
    kind: type[Tensor], file: Any, size: int, dtype: Any, shape: Any, strides: Any, offset: int,
    requires_grad: bool,
) -> Tensor:  # fmt: skip
    tensor = _C._tensor_over(_map(file.detach(), size), dtype, shape, strides, offset)
    reduction.ForkingPickler.register(kind, _send)
    if kind is not Tensor:
        return kind(tensor, requires_grad)  # type: ignore[call-arg]
    tensor.requires_grad = requires_grad
    return tensor


def _send(t: Tensor) -> Any:
    """How multiprocessing pickles a tensor: a shared one as its open file, any other as values."""
    region = _region_of(t) if t.is_leaf else None
    if region is None:
        return t.__reduce_ex__(5)
    address, file, size = region
    offset, rest = divmod(t.data_ptr() - address, t.dtype.itemsize)
    assert rest == 0
    return _receive, (
        type(t), reduction.DupFd(file), size, t.dtype, t.shape, t.strides(), offset,
        t.requires_grad,
    )  # fmt: skip
