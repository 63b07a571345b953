"""Libraries that stand for NVIDIA's, compiled from tests/gpu/fakes, so that what calls them runs on
machines without a GPU."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.gpu.emulate import CSRC, compiler

FAKES = Path(__file__).parent / "fakes"
# Source, and the file name that the engine looks for.
FILES = {
    "cublaslt": "libcublasLt.so.13",
    "cudnn": "libcudnn.so.9",
    "nccl": "libnccl.so.2",
    "nccl_between_processes": "libnccl.so.2",
    "driver": "libcuda.so.1",
}
VERSIONS = {"cublaslt": 130002, "cudnn": 91501, "nccl": 23203, "driver": 13000}
VERSIONS["nccl_between_processes"] = VERSIONS["nccl"]


def build(name: str, folder: Path, **defines: int) -> Path:
    """Compiles one of them into a folder; `defines` are macros, such as VERSION.

    It has no name of its own (soname): later tests of this process that ask for NVIDIA's would
    otherwise be given it, wherever it lies.
    """
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / FILES[name]
    macros = {"VERSION": VERSIONS[name], **defines}
    if name == "driver":
        macros = {"GPUS": 1, "INIT": 0, **macros}
    command = [
        compiler(), "-std=gnu++20", "-O1", "-shared", "-fPIC", "-fvisibility=hidden", "-Wall",
        "-Wextra", "-Wno-unused-parameter", "-Werror", f"-I{CSRC}",
        *(f"-D{macro}={value}" for macro, value in macros.items()),
        str(FAKES / f"{name}.cpp"), "-o", str(target),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return target
