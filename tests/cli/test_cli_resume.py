"""Runs that are killed or interrupted end, when resumed, as if nothing had happened."""

from __future__ import annotations

import json
import signal
import time

import numpy as np
import pytest

import hub


def rows(run):
    path = run / "metrics.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("}")]


def wait_for_step(process, run, step):
    """Return as soon as the log has that step."""
    deadline = time.monotonic() + 60
    while not any(row["step"] >= step for row in rows(run)):
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.01)


def assert_same_run(run, other):
    assert hub.sha256_file(run / "model.safetensors") == hub.sha256_file(
        other / "model.safetensors"
    )
    last = [
        hub.SafetensorsFile(sorted((folder / "last").glob("ckpt-*"))[-1]) for folder in (run, other)
    ]
    assert set(last[0]) == set(last[1])
    assert all(np.array_equal(last[0][name], last[1][name]) for name in last[0])
    steps = [[row for row in rows(folder) if row["kind"] == "step"] for folder in (run, other)]
    assert steps[0] == steps[1]


def test_a_run_killed_in_epoch_2_resumes_bit_for_bit(
    zoo, start, run, settings, two_classes, tmp_path
):
    killed = tmp_path / "killed"
    command = ("finetune", "resnet20", "--data", two_classes, *settings, "--out", killed)
    with start(*command) as process:
        wait_for_step(process, killed, 13)  # of 8 an epoch
        process.send_signal(signal.SIGKILL)
    assert not (killed / "summary.json").exists()
    resumed = zoo("finetune", "--resume", killed, "--threads", "2")
    assert resumed.returncode == 0, resumed.stderr
    assert_same_run(killed, run)


def test_ctrl_c_finishes_the_step_saves_and_exits_130(
    zoo, start, run, settings, two_classes, tmp_path
):
    stopped = tmp_path / "stopped"
    command = ("finetune", "resnet20", "--data", two_classes, *settings, "--out", "stopped")
    with start(*command) as process:
        wait_for_step(process, stopped, 10)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Stopping after this step" in error
    assert "zoo finetune --resume stopped" in error and "Traceback" not in error
    assert zoo("finetune", "--resume", "stopped").returncode == 0
    assert_same_run(stopped, run)


def test_resume_of_a_finished_run_says_its_results_again(zoo, run):
    before = hub.sha256_file(run / "model.safetensors")
    result = zoo("finetune", "--resume", "run")
    assert result.returncode == 0, result.stderr
    assert "Validation accuracy" in result.stdout
    assert hub.sha256_file(run / "model.safetensors") == before


def test_resume_may_repeat_the_whole_command(zoo, run, settings, finished_run):
    command = ("finetune", "resnet20", "--data", finished_run[1], *settings, "--out", "run")
    result = zoo(*command, "--resume")
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--lr", "0.5"), "lr is 0.003, not 0.5"),
        (("--epochs", "9"), "epochs is 3, not 9"),
        (("--weights", "default"), "weights is none, not default"),
    ],
)
def test_resume_refuses_other_settings(zoo, run, arguments, says):
    result = zoo("finetune", "--resume", "run", *arguments)
    assert result.returncode == 2
    assert says in result.stderr


def test_resume_refuses_another_model(zoo, run):
    result = zoo("finetune", "resnet18", "--resume", "run")
    assert result.returncode == 2
    assert "model is resnet20, not resnet18" in result.stderr


def test_resume_finds_pictures_that_were_moved(zoo, run, two_classes):
    result = zoo("finetune", "--resume", "run", "--data", two_classes)
    assert result.returncode == 0, result.stderr


def test_resume_refuses_changed_pictures(zoo, run, two_classes):
    (two_classes / "red" / "0.png").unlink()
    result = zoo("finetune", "--resume", "run", "--data", two_classes)
    assert result.returncode == 1
    assert "39 now, 40 then" in result.stderr
