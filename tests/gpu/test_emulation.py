"""The emulation finds what is wrong with a kernel: faults planted on purpose, and none without."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.gpu import emulate

BUILDS = {"plain": [], **emulate.SANITIZERS}


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The planted faults, built plainly and with each sanitizer."""
    folder = tmp_path_factory.mktemp("planted")
    running = {}
    for name, extra in BUILDS.items():
        command = [
            emulate.compiler(), *emulate.FLAGS, *extra, "-O0",
            str(emulate.EMULATION / "planted.cpp"), str(emulate.EMULATION / "emulation.cpp"),
            "-o", str(folder / name),
        ]  # fmt: skip
        running[name] = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    for process in running.values():
        _, errors = process.communicate()
        assert process.returncode == 0, errors
    return {name: folder / name for name in BUILDS}


def run(program: Path, fault: str, **env: str) -> subprocess.CompletedProcess[str]:
    options = {"ASAN_OPTIONS": "detect_leaks=0:allow_user_segv_handler=1"}
    return subprocess.run(
        [program, fault], capture_output=True, text=True, timeout=60,
        env={**os.environ, **options, **env},
    )  # fmt: skip


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("order", ["", "reverse", "5"])
def test_a_kernel_without_fault_runs(programs: dict[str, Path], build: str, order: str) -> None:
    env = {"ZOO_EMULATION_ORDER": order} if order else {}
    done = run(programs[build], "sum", **env)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "sum 100\n"


def test_a_write_beyond_a_block_of_device_memory_is_caught(programs: dict[str, Path]) -> None:
    done = run(programs["plain"], "beyond")
    assert done.returncode < 0
    assert "kernel beyond, block (1, 0, 0), thread (36, 0, 0) touched" in done.stderr


def test_address_sanitizer_names_the_line_of_a_write_beyond(programs: dict[str, Path]) -> None:
    done = run(programs["address"], "beyond")
    assert done.returncode != 0
    source = (emulate.EMULATION / "planted.cpp").read_text().splitlines()
    line = next(i for i, text in enumerate(source, 1) if "if (i <= n) x[i] = 1;" in text)
    assert f"planted.cpp:{line}" in done.stderr


def test_a_write_in_front_of_a_block_is_caught(programs: dict[str, Path]) -> None:
    assert "4 bytes before a block of 400 bytes" in run(programs["plain"], "in_front").stderr
    assert "use-after-poison" in run(programs["address"], "in_front").stderr


@pytest.mark.parametrize("build", ["plain", "address"])
def test_a_write_beyond_shared_memory_is_caught(programs: dict[str, Path], build: str) -> None:
    done = run(programs[build], "beyond_shared")
    assert done.returncode != 0 and "beyond_shared" in done.stderr


def test_threads_that_wait_in_different_places_are_caught(programs: dict[str, Path]) -> None:
    done = run(programs["plain"], "diverging")
    assert done.returncode < 0
    assert "kernel diverging, block (0, 0, 0): threads wait for each other" in done.stderr


def test_the_host_may_not_read_device_memory(programs: dict[str, Path]) -> None:
    done = run(programs["plain"], "host_access")
    assert done.returncode < 0 and "the host touched" in done.stderr


def test_a_race_between_threads_is_caught(programs: dict[str, Path]) -> None:
    done = run(programs["thread"], "racing")
    assert done.returncode != 0 and "data race" in done.stderr
    assert "racing" in done.stderr


def test_a_race_shows_in_another_order(programs: dict[str, Path]) -> None:
    outputs = {run(programs["plain"], "racing", ZOO_EMULATION_ORDER=o).stdout
               for o in ("0", "reverse")}  # fmt: skip
    assert len(outputs) == 2
