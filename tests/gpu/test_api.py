"""The engine's own declarations of NVIDIA's interfaces beside the real headers and libraries:
`pip install '.[cuda]'`, then `python -m pytest -m packages tests/gpu`; CUDA's headers too."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from engine.cuda import libraries, nccl
from tests.gpu.emulate import CSRC, compiler

pytestmark = pytest.mark.packages
HERE = Path(__file__).parent


def header_folder(part: str) -> Path:
    for entry in sys.path:
        folder = Path(entry) / "nvidia" / part / "include"
        if folder.is_dir():
            return folder
    pytest.fail(f"no nvidia/{part}/include in {sys.path}: pip install '.[cuda]'")


def cuda_headers() -> Path:
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    for folder in (Path(nvcc).resolve().parents[1] / "include", Path("/usr/local/cuda/include")):
        if (folder / "cuda_runtime_api.h").is_file():
            return folder
    pytest.fail("no cuda_runtime_api.h: install the CUDA toolkit")


def test_declarations_of_cublaslt_and_cudnn_are_those_of_the_headers() -> None:
    folders = [CSRC, cuda_headers(), header_folder("cu13"), header_folder("cudnn")]
    command = [compiler(), "-std=gnu++20", "-fsyntax-only", *(f"-I{f}" for f in folders)]
    done = subprocess.run([*command, str(HERE / "check_api.cpp")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_numbers_of_nccl_are_those_of_the_header() -> None:
    text = (header_folder("nccl") / "nccl.h").read_text("utf-8")
    numbers = dict(re.findall(r"\b(nccl\w+)\s*=\s*(\d+)", text))
    for name, number in nccl._DTYPES.items():
        assert numbers[f"nccl{name.capitalize()}"] == str(number), name
    for name, number in nccl._OPERATIONS.items():
        assert numbers[f"nccl{name.capitalize()}"] == str(number), name
    assert f"NCCL_UNIQUE_ID_BYTES {nccl.ID_BYTES}" in text


@pytest.mark.parametrize("library", libraries.LIBRARIES, ids=lambda library: library.name)
def test_the_real_libraries_open_without_a_gpu(library: libraries.Library) -> None:
    assert libraries.open_library(library).version >= library.oldest
