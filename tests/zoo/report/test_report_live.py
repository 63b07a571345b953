"""How a run stands, from its folder alone: while it runs, when it is silent, when it has ended."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from zoo.report.html import show
from zoo.report.live import charts, watch
from zoo.train.checkpoint import Checkpoints
from zoo.train.errors import NotARun

NOW = 1_800_000_000.0
STEPS = 10  # of an epoch


def write_run(
    folder: Path, steps: int, epochs: int = 4, seconds: float = 60.0, kind: str = "accuracy"
) -> Path:
    """A run after `steps` steps, in epochs of 10 steps and `seconds`, whose last row came now."""
    origin = {"model": "resnet20", "weights": "default", "data_path": "some/pets"}
    state = {"config": {"epochs": epochs}, "origin": origin}
    Checkpoints(folder / "last").save(0, 0, {"model/x": np.zeros(2, np.float32)}, state)
    rows: list[dict[str, Any]] = []
    for step in range(1, steps + 1):
        epoch = (step - 1) // STEPS + 1
        rows.append({"kind": "step", "step": step, "epoch": epoch, "lr": 0.1, "loss": 1 / step})
        if step % STEPS == 0:
            measured = {"val_loss": 1.5 / epoch, f"val_{kind}": 0.5 + epoch / 10}
            if kind == "accuracy":
                measured["train_accuracy"] = 0.4
            rows.append({"kind": "epoch", "step": step, "epoch": epoch, "lr": 0.1, "best": True,
                         "seconds": seconds * epoch, **measured})  # fmt: skip
    log = folder / "metrics.jsonl"
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    os.utime(log, (NOW, NOW))
    return folder


def test_before_the_first_epoch_nothing_is_promised(tmp_path: Path) -> None:
    live = watch(write_run(tmp_path, 5), NOW)
    assert (live.state, live.epoch, live.epochs, live.share) == ("running", 0, 4, 0.0)
    assert live.seconds_left is None and live.result == {}
    assert live.title == "resnet20 on pets"


def test_what_is_left_follows_from_the_last_epoch(tmp_path: Path) -> None:
    live = watch(write_run(tmp_path, 25), NOW)
    assert live.share == pytest.approx(25 / 40)
    assert live.seconds_left == pytest.approx(60 * 4 * 15 / 40)
    assert live.result == {"val_loss": 0.75, "val_accuracy": pytest.approx(0.7)}


def test_time_since_the_last_row_counts(tmp_path: Path) -> None:
    run = write_run(tmp_path, 25)
    left = watch(run, NOW).seconds_left
    assert left is not None and watch(run, NOW + 20).seconds_left == pytest.approx(left - 20)


def test_quick_first_epochs_on_features_do_not_count(tmp_path: Path) -> None:
    run = write_run(tmp_path, 20)
    log = run / "metrics.jsonl"
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    for row in rows:
        if row["kind"] == "epoch":
            row["seconds"] = {1: 2.0, 2: 102.0}[row["epoch"]]
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    os.utime(log, (NOW, NOW))
    assert watch(run, NOW).seconds_left == pytest.approx(200)


def test_a_run_without_news_is_silent_and_promises_nothing(tmp_path: Path) -> None:
    live = watch(write_run(tmp_path, 25), NOW + 3600)
    assert (live.state, live.seconds_left, live.silent_seconds) == ("silent", None, 3600.0)


def test_a_finished_run_is_finished_however_old(tmp_path: Path) -> None:
    run = write_run(tmp_path, 20)  # ended early: in half of its epochs
    (run / "summary.json").write_text("{}")
    live = watch(run, NOW + 1e6)
    assert (live.state, live.share, live.seconds_left) == ("finished", 1.0, None)


def test_a_line_that_is_being_written_is_left_out(tmp_path: Path) -> None:
    run = write_run(tmp_path, 12)
    with (run / "metrics.jsonl").open("a") as log:
        log.write('{"kind": "st')
    assert watch(run).rows[-1]["step"] == 12


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotARun, match="zoo finetune"):
        watch(tmp_path)


def test_looking_reads_no_tensors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = write_run(tmp_path, 12)
    monkeypatch.setattr("hub.sha256_file", lambda path: pytest.fail("it was hashed"))
    assert watch(run).epochs == 4


def test_a_checkpoint_that_was_just_replaced_is_passed_over(tmp_path: Path) -> None:
    checkpoints = Checkpoints(write_run(tmp_path, 12) / "last")
    newer = checkpoints.folder / f"ckpt-0001-000000010-{'0' * 16}.safetensors"
    newer.symlink_to(tmp_path / "gone")
    state = checkpoints.newest_state()
    assert state is not None and state["config"] == {"epochs": 4}


@pytest.mark.parametrize(
    ("kind", "titles"),
    [
        ("accuracy", ["loss", "accuracy", "learning rate"]),
        ("perplexity", ["loss", "perplexity", "learning rate"]),
    ],
)
def test_charts_are_of_what_the_run_measures(tmp_path: Path, kind: str, titles: list[str]) -> None:
    text = show(charts(watch(write_run(tmp_path, 25, kind=kind)).rows))
    assert text.count("<svg") == 3
    assert all(f"<b>{title}</b>" in text for title in titles)
    assert "over epoch" in text


def test_charts_before_the_first_epoch_are_over_steps(tmp_path: Path) -> None:
    text = show(charts(watch(write_run(tmp_path, 5)).rows))
    assert text.count("<svg") == 2 and "over step" in text
