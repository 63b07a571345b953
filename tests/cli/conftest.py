"""The real command in a process of its own, and folders of pictures to give it."""

from __future__ import annotations

import colorsys
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import cli

COLOURS = {
    "red": (200, 30, 30),
    "green": (30, 160, 40),
    "blue": (40, 60, 200),
    "white": (235, 235, 235),
}
SETTINGS = (
    "--weights", "none", "--epochs", "3", "--batch-size", "4", "--lr", "0.003", "--save-every", "3",
    "--threads", "1",
)  # fmt: skip
Process = subprocess.Popen[str]
Result = subprocess.CompletedProcess[str]


def environment_in(folder: Path) -> dict[str, str]:
    """Of a command: the packages under test, an empty cache below `folder`, and no network."""
    return {
        **os.environ,
        "PYTHONPATH": str(Path(cli.__file__).parents[1]),
        "PYTHONWARNINGS": "error",
        "ZOO_HOME": str(folder / "zoo-home"),
        "ZOO_OFFLINE": "1",
        "COLUMNS": "100",
    }


def start_in(folder: Path, environment: dict[str, str], arguments: Any, **options: Any) -> Process:
    """Start `zoo ARGUMENTS...` in a folder."""
    return subprocess.Popen(
        [sys.executable, "-m", "cli.main", *map(str, arguments)],
        cwd=folder,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **{"stdin": subprocess.DEVNULL, **options},
    )


def finish(process: Process) -> Result:
    """Wait for the end of a command."""
    try:
        out, error = process.communicate(timeout=120)
    finally:
        process.kill()
    return Result(process.args, process.returncode, out, error)


def write_pictures(root: Path, counts: dict[str, int], side: int = 36) -> Path:
    """Fill `root` with a folder of noisy one-coloured pictures for each class of `counts`."""
    rng = np.random.default_rng(0)
    for number, (class_name, count) in enumerate(counts.items()):
        # A hue of its own for each class whose name is no colour.
        hue = np.multiply(colorsys.hsv_to_rgb(number / len(counts), 1, 1), 255)
        colour = COLOURS.get(class_name, hue)
        folder = root / class_name
        folder.mkdir(parents=True)
        for index in range(count):
            noise = rng.integers(-20, 21, (side, side, 3))
            pixels = np.clip(np.asarray(colour) + noise, 0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(folder / f"{index}.png")
    return root


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Of the commands that `start` and `zoo` run; may be changed."""
    return environment_in(tmp_path)


@pytest.fixture
def start(tmp_path: Path, environment: dict[str, str]) -> Callable[..., Process]:
    """Start `zoo ARGUMENTS...` in tmp_path; for tests that stop it half-way."""
    return lambda *arguments, **options: start_in(tmp_path, environment, arguments, **options)


@pytest.fixture
def zoo(start: Callable[..., Process]) -> Callable[..., Result]:
    """Run `zoo ARGUMENTS...` to its end: zoo("list").stdout."""
    return lambda *arguments, **options: finish(start(*arguments, **options))


@pytest.fixture
def make_pictures(tmp_path: Path) -> Callable[..., Path]:
    """A folder of pictures: make_pictures({"red": 5, "blue": 5}), or other names."""
    return lambda counts, name="pictures": write_pictures(tmp_path / name, counts)


@pytest.fixture
def two_classes(make_pictures: Callable[..., Path]) -> Path:
    """20 red and 20 blue pictures: 16 of each to train."""
    return make_pictures({"red": 20, "blue": 20})


@pytest.fixture(scope="session")
def zoo_in() -> Callable[..., Result]:
    """Run `zoo ARGUMENTS...` in a folder: for what is made once for many tests."""
    return lambda folder, *arguments: finish(start_in(folder, environment_in(folder), arguments))


@pytest.fixture(scope="session")
def pictures_in() -> Callable[..., Path]:
    """A folder of pictures: pictures_in(folder, {"red": 5, "blue": 5})."""
    return write_pictures


@pytest.fixture(scope="session")
def finished_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """(run, pictures): three epochs of 8 steps on `two_classes`, left alone. Not to be changed."""
    folder = tmp_path_factory.mktemp("finished")
    pictures = write_pictures(folder / "pictures", {"red": 20, "blue": 20})
    arguments = ("finetune", "resnet20", "--data", pictures, *SETTINGS, "--out", "run")
    result = finish(start_in(folder, environment_in(folder), arguments))
    assert result.returncode == 0, result.stderr
    return folder / "run", pictures


@pytest.fixture
def settings() -> tuple[str, ...]:
    """The flags that `run` was made with."""
    return SETTINGS


@pytest.fixture
def run(finished_run: tuple[Path, Path], tmp_path: Path) -> Path:
    """A copy of a finished run at tmp_path/run, made with `settings` on `two_classes`."""
    return Path(shutil.copytree(finished_run[0], tmp_path / "run"))
