"""NVIDIA's driver, asked directly: which GPUs there are, without starting anything on them."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

from engine.cuda.errors import CudaError

FILE = "libcuda.so.1"
# The driver speaks for a CUDA version; the kernels are built with this one.
OLDEST = (13, 0)
# The kernels' machine code; newer chips compile what is stored beside it.
OLDEST_CAPABILITY = (8, 0)

AGAIN = "`nvidia-smi` says more; after an update of the driver, restart the machine"

_NO_DEVICE = 100
_CAPABILITY_MAJOR, _CAPABILITY_MINOR = 75, 76


class DriverError(CudaError):
    """There is no driver, or it does not answer; says what to do."""


@dataclass(frozen=True)
class Gpu:
    """A GPU: its number, name, compute capability and memory in bytes.

    >>> Gpu(0, "NVIDIA H200", (9, 0), 150 * 10**9).supported
    True
    """

    index: int
    name: str
    capability: tuple[int, int]
    memory_bytes: int

    @property
    def supported(self) -> bool:
        """Whether the kernels run on it: Ampere (8.0) or newer.

        >>> Gpu(0, "Tesla V100", (7, 0), 16 * 2**30).supported
        False
        """
        return self.capability >= OLDEST_CAPABILITY


@dataclass(frozen=True)
class Driver:
    """What the driver says: the CUDA version it speaks, (major, minor), and the GPUs."""

    version: tuple[int, int]
    gpus: tuple[Gpu, ...]


def read(file: str | None = None) -> Driver:
    """Asks the driver. Raises DriverError where there is none, or it does not answer.

    >>> read("no such driver")
    Traceback (most recent call last):
    ...
    engine.cuda.driver.DriverError: no NVIDIA driver: no such driver cannot be opened. On a \
machine with an NVIDIA GPU, install the driver for CUDA 13 or newer; without one everything runs \
on the CPU
    """
    file = FILE if file is None else file
    try:
        cuda = ctypes.CDLL(file)
    except OSError:
        raise DriverError(
            f"no NVIDIA driver: {file} cannot be opened",
            f"On a machine with an NVIDIA GPU, install the driver for CUDA {OLDEST[0]} or newer; "
            "without one everything runs on the CPU",
            missing=True,
        ) from None

    def call(name: str, *arguments: object) -> int:
        return int(getattr(cuda, name)(*arguments))

    def number(name: str, *arguments: object) -> int:
        value = ctypes.c_int(0)
        status = call(name, ctypes.byref(value), *arguments)
        if status != 0:
            raise DriverError(f"the NVIDIA driver does not answer: {name} returned {status}", AGAIN)
        return value.value

    version = number("cuDriverGetVersion")
    speaks = (version // 1000, version % 1000 // 10)
    status = call("cuInit", 0)
    if status == _NO_DEVICE:
        return Driver(speaks, ())
    if status != 0:
        raise DriverError(f"the NVIDIA driver does not start: cuInit returned {status}", AGAIN)
    gpus = []
    for i in range(number("cuDeviceGetCount")):
        name = ctypes.create_string_buffer(256)
        status = call("cuDeviceGetName", name, 256, i)
        size = ctypes.c_size_t(0)
        status = status or call("cuDeviceTotalMem_v2", ctypes.byref(size), i)
        if status != 0:
            raise DriverError(
                f"the NVIDIA driver does not answer for GPU {i}: error {status}", AGAIN
            )
        capability = (
            number("cuDeviceGetAttribute", _CAPABILITY_MAJOR, i),
            number("cuDeviceGetAttribute", _CAPABILITY_MINOR, i),
        )
        gpus.append(Gpu(i, name.value.decode("utf-8", "replace"), capability, size.value))
    return Driver(speaks, tuple(gpus))
