"""Runs under signals, without memory, and two at once: each ends as promised, and in words."""

from __future__ import annotations

import signal
import time

import pytest
from test_cli_resume import assert_same_run, wait_for_step


def test_sigterm_is_taken_as_ctrl_c(zoo, start, run, settings, two_classes, tmp_path):
    command = ("finetune", "resnet20", "--data", two_classes, *settings, "--out", "stopped")
    with start(*command) as process:
        wait_for_step(process, tmp_path / "stopped", 10)
        process.send_signal(signal.SIGTERM)
        _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "zoo finetune --resume stopped" in error and "Traceback" not in error
    assert zoo("finetune", "--resume", "stopped").returncode == 0
    assert_same_run(tmp_path / "stopped", run)


def test_two_runs_with_one_folder_for_results(zoo, start, run, settings, two_classes, tmp_path):
    (tmp_path / "out").mkdir()
    command = ("finetune", "resnet20", "--data", two_classes, *settings, "--out", "out")
    with start(*command) as one, start(*command) as other:
        ends = [process.communicate(timeout=120) for process in (one, other)]
    codes = [one.returncode, other.returncode]
    assert sorted(codes) == [0, 1], ends
    refusal = ends[codes.index(1)][1]
    assert "nothing was changed" in refusal and "--out" in refusal and "Traceback" not in refusal
    assert_same_run(tmp_path / "out", run)


def test_a_run_that_is_going_on_cannot_be_resumed_beside_itself(
    zoo, start, settings, two_classes, tmp_path
):
    command = ("finetune", "resnet20", "--data", two_classes, *settings, "--out", "out")
    with start(*command) as process:
        wait_for_step(process, tmp_path / "out", 2)
        process.send_signal(signal.SIGSTOP)
        try:
            result = zoo("finetune", "--resume", "out")
        finally:
            process.send_signal(signal.SIGCONT)
        assert process.wait(timeout=120) == 0
    assert result.returncode == 1
    assert "another process is writing to this run" in result.stderr


def test_no_memory_for_a_run(zoo, two_classes, tmp_path):
    resource = pytest.importorskip("resource")
    most = 3 * 2**30
    began = time.monotonic()
    result = zoo(
        "finetune", "resnet20", "--data", two_classes, "--weights", "none", "--out", "new/run",
        "--recipe", "scratch", "--size", "1536", "--batch-size", "16", "--threads", "1",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most)),
    )  # fmt: skip
    assert result.returncode == 1, result.stdout
    assert "out of memory" in result.stderr and "--batch-size" in result.stderr
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "new").exists()
    assert time.monotonic() - began < 60


def test_a_million_threads(zoo, two_classes):
    result = zoo("finetune", "resnet20", "--data", two_classes, "--threads", "1000000")
    assert result.returncode == 2
    assert "threads=1000000; expected 0 to 1024" in result.stderr
