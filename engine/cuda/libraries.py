"""NVIDIA's libraries: where they lie, which versions serve, and opening them.

Nothing here is linked: a library is opened when something first needs it. Folders are searched in
this order: those of the environment variable ZOO_CUDA_LIBRARIES (separated as in PATH), those that
the `nvidia-*` wheels of `pip install 'zoo[cuda]'` make in site-packages, and then wherever the
system's loader looks.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from engine.cuda.errors import CudaError

FOLDERS_VARIABLE = "ZOO_CUDA_LIBRARIES"
INSTALL = "pip install 'zoo[cuda]'"


class LibraryError(CudaError):
    """A library is missing, too old or too new, or cannot be opened; says what to install."""


def _size_t(name: str) -> Callable[[ctypes.CDLL], int]:
    """Of libraries whose function `name` returns the version."""

    def read(handle: ctypes.CDLL) -> int:
        function = getattr(handle, name)
        function.restype = ctypes.c_size_t
        return int(function())

    return read


def _out_parameter(name: str) -> Callable[[ctypes.CDLL], int]:
    """Of libraries whose function `name` writes the version to an int, and returns 0 if it did."""

    def read(handle: ctypes.CDLL) -> int:
        value = ctypes.c_int(0)
        status = getattr(handle, name)(ctypes.byref(value))
        if status != 0:
            raise OSError(f"{name} returned {status}")
        return value.value

    return read


@dataclass(frozen=True)
class Library:
    """One library that is opened while the program runs.

    name: what people call it. file: its file, which names the major version. folder: below a
    site-packages folder. package: the wheel that holds it. purpose: what it serves. oldest: the
    first version that serves, (major, minor, patch). read_version: its number, major * 10000 +
    minor * 100 + patch.
    """

    name: str
    file: str
    folder: str
    package: str
    purpose: str
    oldest: tuple[int, int, int]
    read_version: Callable[[ctypes.CDLL], int]


CUBLASLT = Library(
    "cuBLASLt", "libcublasLt.so.13", "nvidia/cu13/lib", "nvidia-cublas>=13,<14",
    "matrix products", (13, 0, 0), _size_t("cublasLtGetVersion"),
)  # fmt: skip
CUDNN = Library(
    "cuDNN", "libcudnn.so.9", "nvidia/cudnn/lib", "nvidia-cudnn-cu13>=9.10,<10",
    "convolutions", (9, 10, 0), _size_t("cudnnGetVersion"),
)  # fmt: skip
NCCL = Library(
    "NCCL", "libnccl.so.2", "nvidia/nccl/lib", "nvidia-nccl-cu13>=2.24,<3",
    "training on several GPUs", (2, 24, 0), _out_parameter("ncclGetVersion"),
)  # fmt: skip
LIBRARIES = (CUBLASLT, CUDNN, NCCL)


@dataclass(frozen=True)
class Opened:
    """A library that is open: where it was found ("system": where the loader looks) and its
    version, (major, minor, patch)."""

    library: Library
    path: str
    version: tuple[int, int, int]
    handle: ctypes.CDLL

    @property
    def version_text(self) -> str:
        """As in "13.0.2".

        >>> Opened(NCCL, "system", (2, 32, 3), ctypes.CDLL(None)).version_text
        '2.32.3'
        """
        return ".".join(map(str, self.version))


def search_folders(library: Library) -> list[Path]:
    """Folders that may hold the library, first choice first; those that exist.

    >>> all(folder.is_dir() for folder in search_folders(CUBLASLT))
    True
    """
    named = os.environ.get(FOLDERS_VARIABLE, "").split(os.pathsep)
    folders = [Path(name) for name in named if name]
    folders += [Path(entry or ".") / library.folder for entry in sys.path]
    unique = dict.fromkeys(folder.absolute() for folder in folders)
    return [folder for folder in unique if folder.is_dir()]


def locate(library: Library, folders: Iterable[Path] | None = None) -> Path | None:
    """The library's file, or None where no searched folder holds it; the system's loader may still
    know one.

    >>> locate(NCCL, folders=[]) is None
    True
    """
    for folder in search_folders(library) if folders is None else folders:
        path = Path(folder) / library.file
        if path.is_file():
            return path
    return None


def open_library(library: Library, folders: Iterable[Path] | None = None) -> Opened:
    """Opens a library and checks its version. Raises LibraryError, which says what to install.

    >>> open_library(NCCL, folders=[]).version >= NCCL.oldest  # doctest: +SKIP
    True
    """
    path = locate(library, folders)
    again = f"Install it again: pip install --force-reinstall '{library.package}'"
    try:
        handle = ctypes.CDLL(str(path) if path else library.file)
    except OSError as error:
        if path is not None:
            raise LibraryError(
                f"{library.name} lies at {path} but cannot be opened: {error}", again
            ) from None
        searched = search_folders(library) if folders is None else folders
        places = ", ".join([*map(str, searched), "the system's library folders"])
        raise LibraryError(
            f"{library.name} ({library.file}), which serves {library.purpose}, was not found in "
            f"{places}",
            f"Install it: {INSTALL}, or name the folder that has it in {FOLDERS_VARIABLE}",
            missing=True,
        ) from None
    where = str(path) if path else "system"
    try:
        number = library.read_version(handle)
    except (AttributeError, OSError) as error:
        raise LibraryError(
            f"{library.name} at {where} does not say its version ({error}), so it may be another "
            "file of that name",
            again,
        ) from None
    version = (number // 10000, number // 100 % 100, number % 100)
    if version < library.oldest or version[0] != library.oldest[0]:
        found, oldest = (".".join(map(str, v)) for v in (version, library.oldest))
        raise LibraryError(
            f"{library.name} at {where} is version {found}; expected {oldest} or newer, and below "
            f"{library.oldest[0] + 1}",
            f"Install it: pip install '{library.package}'",
        )
    return Opened(library, where, version, handle)


@functools.cache
def opened(library: Library) -> Opened:
    """The library, opened once for the whole process; a failure is tried again at the next call.

    >>> opened(NCCL) is opened(NCCL)  # doctest: +SKIP
    True
    """
    return open_library(library)
