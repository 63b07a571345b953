"""Device "cuda" without a GPU: the kernels' sources, built as C++, pass the tests of the device.

Here a part of the op specs runs; all, also with sanitizers and in other orders of threads, with
`pytest -m slow tests/gpu`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gpu import coverage, emulate

ROOT = Path(__file__).resolve().parents[2]
DEVICE = "tests/gpu/device"
RANKS = f"{DEVICE}/test_ranks.py"
ONE_PROCESS = ("--ignore", RANKS)
# One row for each kind of kernel: the rest is in the slow tests.
PART = "|".join(
    ("exp", "gelu", "add", "divide", "less", "logical_not", "bitwise_and", "where", "sum", "max",
     "argmax", "any", "cumsum", "cummax", "sort", "topk", "gather", "scatter_add", "take", "concat",
     "astype", "nonzero", "clip", "tile")
)  # fmt: skip


def run_device_tests(*arguments: str, sanitizer: str | None = None, **env: str) -> int:
    """Runs tests/gpu/device emulated; how many passed. All must."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-m",
        "cuda",
        *arguments,
    ]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True,
        env={**emulate.environment(sanitizer), "PYTHONPATH": str(ROOT), **env},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
    counts = re.search(r"(\d+) passed", done.stdout)
    assert counts and "skipped" not in done.stdout, done.stdout[-300:]
    return int(counts[1])


def test_tensors_on_the_device() -> None:
    assert run_device_tests(f"{DEVICE}/test_device.py") >= 20


def test_a_part_of_the_op_specs_passes() -> None:
    names = " or ".join(f"{name}-" for name in PART.split("|"))
    assert run_device_tests(f"{DEVICE}/test_specs.py", "-k", f"({names}) and not layout") >= 40


def test_mixed_precision() -> None:
    assert run_device_tests(f"{DEVICE}/test_amp.py") >= 15


def test_commands_predict_and_write_on_the_device() -> None:
    assert run_device_tests(f"{DEVICE}/test_commands.py", "-k", "text or heat or auto") == 3


def test_ranks_train_on_a_device_each() -> None:
    assert run_device_tests(RANKS, "-k", "more0 or refused") == 2


@pytest.mark.slow
def test_ranks_train_on_a_device_each_with_every_option() -> None:
    assert run_device_tests(RANKS) == 3


@pytest.mark.slow
@pytest.mark.parametrize("order", ["0", "reverse", "3"])
def test_all_op_specs_pass_in_any_order_of_threads(order: str) -> None:
    assert run_device_tests(DEVICE, *ONE_PROCESS, ZOO_EMULATION_ORDER=order) >= 500


@pytest.mark.slow
@pytest.mark.parametrize("sanitizer", emulate.SANITIZERS)
def test_all_op_specs_pass_with_sanitizers(sanitizer: str) -> None:
    assert run_device_tests(DEVICE, *ONE_PROCESS, sanitizer=sanitizer) >= 500


def test_the_caching_allocator_serves_the_device_too() -> None:
    assert run_device_tests(f"{DEVICE}/test_device.py", ZOO_CUDA_CACHE="1") >= 20


def test_uploads_may_come_late() -> None:
    assert run_device_tests(f"{DEVICE}/test_device.py", ZOO_EMULATION_UPLOADS="late") >= 20


def test_without_a_driver_the_import_is_silent_and_the_error_says_why() -> None:
    code = (
        "import sys, engine\n"
        "assert engine._C._backend_info() is None\n"
        "try:\n    engine.zeros(2, device='cuda')\n"
        "except NotImplementedError as error:\n    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT,
        env={**os.environ, "LD_LIBRARY_PATH": ""},
    )  # fmt: skip
    assert done.returncode == 0 and done.stderr == ""
    if not done.stdout:
        return  # a machine with a GPU and its library
    assert re.match(r"device 'cuda' is not available: (this build of the engine has no kernels|"
                    r"this machine has no NVIDIA driver)", done.stdout)  # fmt: skip


def test_the_page_of_what_runs_where_is_current() -> None:
    assert coverage.PAGE.read_text("utf-8") == coverage.page(), (
        "python -m tests.gpu.coverage makes it anew"
    )


def test_every_kernel_for_the_gpu_has_a_table() -> None:
    cpu, cuda = coverage.registered()
    assert cuda and cuda <= cpu
