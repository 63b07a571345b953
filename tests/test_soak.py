"""A slice of the soak (`python -m tests.soak`): what a run leaves behind in memory, handles,
threads and files. Time is not judged: a machine that runs tests has others to serve."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import pytest

from tests import soak

ROOT = Path(__file__).resolve().parents[1]
SLICE = """
import math, sys
from pathlib import Path
from tests import soak
work, count, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
sys.exit(not soak.soak(work, math.inf, count, soak.EVERY[work], folder, slower=math.inf))
"""


@pytest.mark.parametrize(("work", "count"), [("finetune", 20), ("predict", 1000), ("load", 300)])
def test_nothing_grows(
    work: str, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZOO_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MPLBACKEND", "agg")
    done = subprocess.run(
        [sys.executable, "-c", SLICE, work, str(count), str(tmp_path)],
        capture_output=True, text=True, cwd=ROOT,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]


def test_what_grows_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kept: list[bytes] = []

    def leaking(folder: Path):
        home = folder / "home"
        home.mkdir()

        def once(number: int) -> None:
            kept.append(b"x" * 2_000_000)
            (home / str(number)).touch()

        return once

    monkeypatch.setitem(soak.WORK, "leak", leaking)
    assert not soak.soak("leak", math.inf, 60, 2, tmp_path, slower=math.inf)
    grown = [line for line in capsys.readouterr().out.splitlines() if line.endswith("ROSE")]
    assert [line.split("  ")[1].strip() for line in grown] == ["resident MB", "files in the cache"]
