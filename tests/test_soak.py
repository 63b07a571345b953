"""A slice of the soak (`python -m tests.soak`): what a run leaves behind in memory, handles,
threads and files. Time is not judged: a machine that runs tests has others to serve."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SLICE = """
import math, sys
from pathlib import Path
from tests import soak
work, count, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
sys.exit(not soak.soak(work, math.inf, count, folder, slower=math.inf))
"""


LEAK = """
kept = []
def leaking(folder):
    home = folder / "home"
    home.mkdir()
    def once(number):
        kept.append(b"x" * 2_000_000)
        (home / str(number)).touch()
    return once
soak.WORK["leak"], soak.EVERY["leak"] = leaking, 2
"""


def run(work: str, count: int, folder: Path, before: str = "") -> subprocess.CompletedProcess[str]:
    """A slice in a process of its own: this one has memory to spare from other tests."""
    code = SLICE.replace("work, count", before + "work, count", 1)
    return subprocess.run(
        [sys.executable, "-c", code, work, str(count), str(folder)],
        capture_output=True, text=True, cwd=ROOT,
        env={**os.environ, "ZOO_HOME": str(folder / "home"), "MPLBACKEND": "agg"},
    )  # fmt: skip


@pytest.mark.parametrize(("work", "count"), [("finetune", 20), ("predict", 1000), ("load", 300)])
def test_nothing_grows(work: str, count: int, tmp_path: Path) -> None:
    done = run(work, count, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]


def test_what_grows_is_seen(tmp_path: Path) -> None:
    done = run("leak", 60, tmp_path, LEAK)
    assert done.returncode == 1, done.stdout + done.stderr
    grown = [line.strip() for line in done.stdout.splitlines() if line.endswith("ROSE")]
    assert [line.partition("  ")[0] for line in grown] == ["resident MB", "files in the cache"]
