"""NVIDIA's driver and libraries: found, missing, of another version, broken."""

from __future__ import annotations

import dataclasses
import doctest
import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

import engine
from engine.cuda import driver, libraries, report
from engine.cuda.driver import DriverError
from engine.cuda.libraries import CUBLASLT, CUDNN, LIBRARIES, NCCL, Library, LibraryError
from tests.gpu import stand_ins

SOURCES = {CUBLASLT: "cublaslt", CUDNN: "cudnn", NCCL: "nccl"}
NAMES = [library.name for library in LIBRARIES]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("found")
    for name in SOURCES.values():
        stand_ins.build(name, made)
    return made


@pytest.mark.parametrize("library", LIBRARIES, ids=NAMES)
def test_a_library_is_opened_and_says_its_version(library: Library, folder: Path) -> None:
    found = libraries.open_library(library, [folder])
    assert found.path == str(folder / library.file)
    assert (
        found.version_text
        == {"cuBLASLt": "13.0.2", "cuDNN": "9.15.1", "NCCL": "2.32.3"}[library.name]
    )


@pytest.mark.parametrize("library", LIBRARIES, ids=NAMES)
def test_a_missing_library_says_where_it_was_sought_and_what_to_install(
    library: Library, tmp_path: Path
) -> None:
    absent = dataclasses.replace(library, file=f"no-{library.file}")  # the system has none either
    with pytest.raises(LibraryError) as caught:
        libraries.open_library(absent, [tmp_path])
    assert caught.value.missing
    assert str(tmp_path) in caught.value.problem and library.purpose in caught.value.problem
    assert "pip install 'zoo[cuda]'" in caught.value.advice
    assert "ZOO_CUDA_LIBRARIES" in caught.value.advice


@pytest.mark.parametrize("version", [91400 - 500, 100000], ids=["older", "newer"])
def test_another_version_is_refused_by_number(version: int, tmp_path: Path) -> None:
    stand_ins.build("cudnn", tmp_path, VERSION=version)
    with pytest.raises(LibraryError) as caught:
        libraries.open_library(CUDNN, [tmp_path])
    assert not caught.value.missing
    assert "expected 9.10.0 or newer, and below 10" in caught.value.problem
    assert "pip install 'nvidia-cudnn-cu13>=9.10,<10'" in caught.value.advice


def test_a_file_that_is_no_library_says_so(tmp_path: Path) -> None:
    (tmp_path / NCCL.file).write_text("not found\n")
    with pytest.raises(LibraryError, match="cannot be opened: .*--force-reinstall"):
        libraries.open_library(NCCL, [tmp_path])


def test_another_library_under_that_name_says_so(tmp_path: Path) -> None:
    stand_ins.build("driver", tmp_path).rename(tmp_path / CUBLASLT.file)
    with pytest.raises(LibraryError, match="does not say its version"):
        libraries.open_library(CUBLASLT, [tmp_path])


def test_named_folders_come_before_those_of_wheels(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheels = tmp_path / NCCL.folder
    wheels.mkdir(parents=True)
    (wheels / NCCL.file).touch()
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert libraries.locate(NCCL) == wheels / NCCL.file
    monkeypatch.setenv(libraries.FOLDERS_VARIABLE, os.pathsep.join(["/nowhere", str(folder)]))
    assert libraries.locate(NCCL) == folder / NCCL.file


def test_the_driver_names_its_gpus(tmp_path: Path) -> None:
    found = driver.read(str(stand_ins.build("driver", tmp_path, GPUS=2)))
    assert found.version == (13, 0)
    assert [(g.name, g.capability, g.supported) for g in found.gpus] == [
        ("Stand-in 0", (9, 0), True),
        ("Stand-in 1", (7, 0), False),
    ]
    assert found.gpus[0].memory_bytes == 16 * 2**30


def test_a_driver_without_gpus_is_no_error(tmp_path: Path) -> None:
    assert driver.read(str(stand_ins.build("driver", tmp_path, INIT=100))).gpus == ()


def test_a_driver_that_does_not_start_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(DriverError, match="cuInit returned 803.*nvidia-smi"):
        driver.read(str(stand_ins.build("driver", tmp_path, INIT=803)))


def rows(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, report.Finding]:
    monkeypatch.setenv(libraries.FOLDERS_VARIABLE, str(folder))
    monkeypatch.setattr(driver, "FILE", str(folder / "libcuda.so.1"))
    return {row.name: row for row in report.findings()}


def test_findings_of_a_machine_with_everything(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_ins.build("driver", folder, GPUS=2)
    found = rows(folder, monkeypatch)
    assert list(found) == ["NVIDIA driver", "GPU 0", "GPU 1", "CUDA kernels", *NAMES]
    assert found["NVIDIA driver"].detail == "for CUDA 13.0"
    assert found["GPU 0"].detail == "Stand-in 0, 16 GiB, compute capability 9.0"
    assert found["GPU 1"].state == "wrong" and "8.0 or more" in found["GPU 1"].advice
    assert found["cuDNN"] == report.Finding("cuDNN", "found", f"9.15.1, {folder / CUDNN.file}")


def test_findings_of_a_machine_with_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [])  # whatever wheels this environment has
    found = rows(tmp_path, monkeypatch)
    assert found["NVIDIA driver"].state == "missing"
    assert "everything runs on the CPU" in found["NVIDIA driver"].advice
    assert found["NCCL"].state in ("missing", "found")  # the system may have one
    assert "GPU 0" not in found


def test_an_old_driver_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_ins.build("driver", tmp_path, VERSION=12040, GPUS=0)
    found = rows(tmp_path, monkeypatch)
    assert found["NVIDIA driver"].state == "wrong" and "CUDA 12.4" in found["NVIDIA driver"].detail
    assert found["GPU"].state == "missing" and "CUDA_VISIBLE_DEVICES" in found["GPU"].advice


def test_without_a_gpu_the_module_says_so_and_loads_nothing() -> None:
    code = (
        "import sys, engine, engine.cuda as cuda\n"
        "assert cuda.is_available() == (cuda.device_count() > 0)\n"
        "assert 'ctypes' not in sys.modules or 'numpy' in sys.modules\n"
        "assert 'engine.cuda.libraries' not in sys.modules\n"
        "try:\n    cuda.get_device_name()\n"
        "except NotImplementedError as e:\n    assert \"'cuda' is not available\" in str(e), e\n"
        "else:\n    assert cuda.is_available()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", ["", ".driver", ".errors", ".kernels", ".libraries", ".nccl",
                                  ".report"])  # fmt: skip
def test_the_examples_in_docstrings(name: str) -> None:
    module = importlib.import_module(f"engine.cuda{name}")
    found = doctest.DocTestFinder().find(module, globs={**vars(module), "engine": engine})
    assert any(test.examples for test in found)
    report: list[str] = []
    for test in found:
        doctest.DocTestRunner().run(test, out=report.append)
    assert not report, "".join(report)
