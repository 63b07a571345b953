"""NVIDIA GPUs: what there is, what of it is used, and what is missing.

Tensors go to a GPU by `t.to("cuda")`, models by `model.to("cuda")`; see engine.device. Everything
here works, and says so, on a machine without one.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from engine import _C
from engine._C import Device

if TYPE_CHECKING:
    from engine.cuda import nccl
    from engine.cuda.report import Finding, findings

__all__ = [
    "Finding",
    "allow_tf32",
    "device_count",
    "empty_cache",
    "findings",
    "get_device_capability",
    "get_device_name",
    "is_available",
    "memory_stats",
    "nccl",
    "reset_peak_memory_stats",
    "synchronize",
    "versions",
]


def is_available() -> bool:
    """Whether tensors can go to a GPU: the build has CUDA kernels, and there are a driver and a
    device. `findings` says what is missing otherwise.

    >>> is_available() == (device_count() > 0)
    True
    """
    return device_count() > 0


def device_count() -> int:
    """How many GPUs can be used; 0 without kernels or a driver.

    >>> device_count() >= 0
    True
    """
    info = _C._backend_info()
    return 0 if info is None else int(info["device_count"])


def get_device_name(device: Device | str | int = 0) -> str:
    """What the maker calls a GPU. Raises ValueError where there is none of that number, and
    NotImplementedError, saying why, where there are none at all.

    >>> get_device_name()  # doctest: +SKIP
    'NVIDIA H200'
    """
    return str(_C._device_info(_index(device))["name"])


def get_device_capability(device: Device | str | int = 0) -> tuple[int, int]:
    """The compute capability of a GPU, (8, 0) for Ampere's first, (9, 0) for Hopper. Raises as
    `get_device_name`.

    >>> get_device_capability()  # doctest: +SKIP
    (9, 0)
    """
    major, minor = _C._device_info(_index(device))["capability"]
    return int(major), int(minor)


def mem_get_info(device: Device | str | int = 0) -> tuple[int, int]:
    """(free, total) memory of a GPU in bytes, as its driver sees it: what this and other programs
    hold is not free.

    >>> mem_get_info()  # doctest: +SKIP
    (149000000000, 150754820096)
    """
    info = _C._device_info(_index(device))
    return info["free_bytes"], info["total_bytes"]


def memory_stats(device: Device | str | int = 0) -> dict[str, int]:
    """What the allocator of a GPU holds, in bytes: in use, reserved, the peaks of both; how many
    requests there were, and how many it served without asking the driver.

    >>> memory_stats()["allocated_bytes"]  # doctest: +SKIP
    0
    """
    return _C.memory_stats(_name(device))


def reset_peak_memory_stats(device: Device | str | int = 0) -> None:
    """Peaks start again from what is in use now.

    >>> reset_peak_memory_stats()  # doctest: +SKIP
    """
    _C.reset_peak_memory_stats(_name(device))


def empty_cache(device: Device | str | int = 0) -> None:
    """Gives memory that is kept for reuse back to the driver, for other programs.

    >>> empty_cache()  # doctest: +SKIP
    """
    _C.empty_cache(_name(device))


def synchronize(device: Device | str | int = 0) -> None:
    """Waits until the GPU has done what it was given: before a clock is read.

    >>> synchronize()  # doctest: +SKIP
    """
    _C._synchronize(_name(device))


def allow_tf32(allow: bool) -> None:
    """Whether float32 products and convolutions may round their operands to TF32 (10 bits of
    mantissa), which tensor cores multiply several times faster. Off at first. Raises
    NotImplementedError without a GPU.

    >>> allow_tf32(True)  # doctest: +SKIP
    """
    from engine.cuda import kernels

    kernels.library().zoo_cuda_allow_tf32(int(allow))


def versions() -> dict[str, str]:
    """Versions and places of what was found: the driver's CUDA, cuBLASLt, cuDNN, NCCL; what is
    missing is left out. It opens each library, which can take a second.

    >>> set(versions()) <= {"NVIDIA driver", "cuBLASLt", "cuDNN", "NCCL"}
    True
    """
    from engine.cuda import libraries
    from engine.cuda.report import findings

    names = {"NVIDIA driver", *(library.name for library in libraries.LIBRARIES)}
    return {
        row.name: row.detail for row in findings() if row.name in names and row.state == "found"
    }


def _index(device: Device | str | int) -> int:
    if isinstance(device, int):
        return device
    chosen = Device(device)
    if chosen.type != "cuda":
        raise ValueError(f"expected a GPU, 'cuda' or 'cuda:1', got '{chosen}'")
    return chosen.index


def _name(device: Device | str | int) -> str:
    return f"cuda:{_index(device)}"


def __getattr__(name: str) -> Any:
    # Loaded when first used: importing the engine stays quick.
    if name in ("findings", "Finding"):
        return getattr(importlib.import_module("engine.cuda.report"), name)
    if name == "nccl":
        return importlib.import_module("engine.cuda.nccl")
    raise AttributeError(f"module 'engine.cuda' has no attribute '{name}'")
