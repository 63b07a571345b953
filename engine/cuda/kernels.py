"""The engine's own library of CUDA kernels, as far as Python calls it directly."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

from engine import _C
from engine._C import Device
from engine.cuda import libraries

FILE = Path(__file__).parents[1] / "_cuda.so"

_handle: ctypes.CDLL | None = None


def library() -> ctypes.CDLL:
    """The library that is loaded, its functions declared. Raises NotImplementedError, saying why,
    where none is.

    >>> library().zoo_cuda_allow_tf32(0)  # doctest: +SKIP
    """
    if _C._backend_info() is None:
        raise NotImplementedError(f"device 'cuda' is not available: {_C._backend_absence()}")
    return _handle if _handle is not None else open_at(FILE)


def open_at(path: Path) -> ctypes.CDLL:
    """Declares the functions of the library at `path`, which the engine has loaded or is about to,
    and tells it where NVIDIA's libraries lie.

    >>> open_at(FILE)  # doctest: +SKIP
    """
    global _handle
    _handle = handle = ctypes.CDLL(str(path))
    handle.zoo_cuda_allow_tf32.argtypes, handle.zoo_cuda_allow_tf32.restype = [ctypes.c_int], None
    handle.zoo_cuda_stream.argtypes = [ctypes.c_int]
    handle.zoo_cuda_stream.restype = ctypes.c_void_p
    handle.zoo_cuda_set_library_folders.argtypes = [ctypes.c_char_p]
    handle.zoo_cuda_set_library_folders.restype = None
    folders = dict.fromkeys(
        str(folder)
        for needed in (libraries.CUBLASLT, libraries.CUDNN)
        for folder in libraries.search_folders(needed)
    )
    handle.zoo_cuda_set_library_folders(os.fsencode(":".join(folders)))
    return handle


def stream(device: Device) -> int | None:
    """Makes a GPU this thread's current one; the address of the stream that its work is put into.

    >>> stream(Device("cuda:0")) is not None  # doctest: +SKIP
    True
    """
    address: int | None = library().zoo_cuda_stream(device.index)
    return address
