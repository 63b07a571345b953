"""`zoo finetune --plan` and `--fix`."""

from __future__ import annotations

import os
import pty
import re
import shutil

import pytest


def contents(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_a_plan_says_what_is_there_and_writes_nothing(zoo, two_classes, tmp_path):
    shutil.copy(two_classes / "red" / "0.png", two_classes / "red" / "again.png")
    before = contents(two_classes)
    result = zoo("finetune", "resnet20", "--data", two_classes, "--weights", "none", "--plan")
    assert result.returncode == 0, result.stderr
    assert "41 pictures in 2 classes" in result.stdout
    assert "Identical files within a class: 1 group(s)" in result.stdout
    assert re.search(r"About \d+ .*(s|min) and \d+\.\d GiB of memory", result.stdout)
    assert contents(two_classes) == before
    assert not (tmp_path / "runs").exists()


def test_a_run_begins_with_its_plan(zoo, two_classes, settings):
    result = zoo("finetune", "resnet20", "--data", two_classes, *settings)
    first = result.stdout[: result.stdout.index("Results go to")]
    assert "GiB of memory" in first and "40 pictures in 2 classes" in first


def test_fix_asks_nothing_without_a_terminal_and_changes_nothing(zoo, two_classes):
    (two_classes / "red" / "cut.png").write_bytes(b"")
    before = contents(two_classes)
    result = zoo("finetune", "resnet20", "--data", two_classes, "--plan", "--fix")
    assert result.returncode == 2 and "needs a terminal" in result.stderr
    assert contents(two_classes) == before


@pytest.mark.parametrize("answer", ["y", "n", ""])
def test_fix_moves_only_what_was_agreed_to(start, two_classes, tmp_path, answer):
    (two_classes / "red" / "cut.png").write_bytes(b"")
    leader, follower = pty.openpty()
    process = start(
        "finetune", "resnet20", "--data", two_classes, "--weights", "none", "--plan", "--fix",
        stdin=follower,
    )  # fmt: skip
    os.write(leader, f"{answer}\n".encode())
    out, error = process.communicate(timeout=120)
    os.close(leader), os.close(follower)
    assert process.returncode == 0, error
    assert "1 file(s) not readable as pictures:\n  red/cut.png" in out
    aside = tmp_path / "pictures.aside" / "red" / "cut.png"
    assert aside.exists() == (answer == "y")
    assert (two_classes / "red" / "cut.png").exists() == (answer != "y")
    assert ("Unreadable, left out" in out) == (answer != "y")


def test_plan_is_not_for_a_run_that_is_resumed(zoo, run):
    result = zoo("finetune", "--resume", "run", "--plan")
    assert result.returncode == 2 and "--resume" in result.stderr
