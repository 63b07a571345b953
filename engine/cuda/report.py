"""What there is of CUDA on this machine, as rows that a command can print."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engine import _C
from engine.cuda import driver, kernels, libraries
from engine.cuda.errors import CudaError

State = Literal["found", "missing", "wrong"]


@dataclass(frozen=True)
class Finding:
    """One thing that was looked for.

    name: what. state: "found", "missing", or "wrong": it is there and does not serve. detail:
    version and place, or what went wrong. advice: what to do, or empty.

    >>> Finding("driver", "missing", "no libcuda.so.1", "install the driver").state
    'missing'
    """

    name: str
    state: State
    detail: str
    advice: str = ""


def findings() -> list[Finding]:
    """The NVIDIA driver, each GPU, the engine's own CUDA kernels, and NVIDIA's libraries: found,
    missing or wrong, and what to do about it. Raises nothing. It opens each library, which can
    take a second.

    >>> [row.name for row in engine.cuda.findings()][-3:]
    ['cuBLASLt', 'cuDNN', 'NCCL']
    """
    return [*_driver(), _kernels(), *map(_library, libraries.LIBRARIES)]


def _failure(name: str, error: CudaError) -> Finding:
    return Finding(name, "missing" if error.missing else "wrong", error.problem, error.advice)


def _driver() -> list[Finding]:
    name = "NVIDIA driver"
    try:
        found = driver.read()
    except driver.DriverError as error:
        return [_failure(name, error)]
    speaks, needs = (".".join(map(str, v)) for v in (found.version, driver.OLDEST))
    if found.version < driver.OLDEST:
        rows = [
            Finding(name, "wrong", f"for CUDA {speaks}, expected {needs} or newer",
                    f"install a driver for CUDA {needs} or newer")
        ]  # fmt: skip
    else:
        rows = [Finding(name, "found", f"for CUDA {speaks}")]
    if not found.gpus:
        rows.append(
            Finding("GPU", "missing", "the driver sees no GPU",
                    "look at CUDA_VISIBLE_DEVICES, and at what `nvidia-smi` says")
        )  # fmt: skip
    return rows + [_gpu(gpu) for gpu in found.gpus]


def _gpu(gpu: driver.Gpu) -> Finding:
    capability = ".".join(map(str, gpu.capability))
    detail = f"{gpu.name}, {gpu.memory_bytes / 2**30:.0f} GiB, compute capability {capability}"
    if gpu.supported:
        return Finding(f"GPU {gpu.index}", "found", detail)
    oldest = ".".join(map(str, driver.OLDEST_CAPABILITY))
    return Finding(
        f"GPU {gpu.index}", "wrong", detail, f"the kernels need compute capability {oldest} or more"
    )


def _kernels() -> Finding:
    path = kernels.FILE
    if not path.is_file():
        return Finding(
            "CUDA kernels",
            "missing",
            "this build of the engine has none",
            "where nvcc is installed, build again: pip install . "
            "--config-settings=cmake.define.ZOO_CUDA=ON",
        )
    info = _C._backend_info()
    if info is None:
        return Finding("CUDA kernels", "wrong", f"{path} is not loaded: {_C._backend_absence()}")
    runtime = f"{info['runtime_version'] // 1000}.{info['runtime_version'] % 1000 // 10}"
    return Finding("CUDA kernels", "found", f"built with CUDA {runtime}, {path}")


def _library(library: libraries.Library) -> Finding:
    try:
        found = libraries.open_library(library)
    except libraries.LibraryError as error:
        return _failure(library.name, error)
    return Finding(library.name, "found", f"{found.version_text}, {found.path}")
