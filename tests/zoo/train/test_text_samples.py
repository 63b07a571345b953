"""What a language model writes after each epoch is kept, and a resumed run keeps it once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from zoo.report.live import watch
from zoo.train.checkpoint import Checkpoints
from zoo.train.errors import Interrupted
from zoo.train.log import read_rows
from zoo.train.stop import StopRequest
from zoo.train.text_run import finetune_text, resume_text

SETTINGS: dict[str, Any] = {
    "weights": "none", "tokenizer": "bytes", "epochs": 3, "batch_size": 2, "block_size": 32,
    "say": lambda line: None,
}  # fmt: skip


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ZOO_HOME", str(tmp_path / "zoo-home"))
    monkeypatch.setattr("zoo.train.text_report.draw_text_curves", lambda rows, file, title: None)


@pytest.fixture
def book(tmp_path: Path) -> Path:
    path = tmp_path / "book.txt"
    path.write_text("the quick brown fox jumps over the lazy dog. " * 10)
    return path


class StopInTheSecondEpoch(StopRequest):
    """Asks for a stop once there is a sample."""

    @property
    def requested(self) -> bool:
        return (self.out / "samples.jsonl").stat().st_size > 0

    @requested.setter
    def requested(self, value: bool) -> None:
        pass

    out = Path()


def test_there_is_a_sample_for_each_epoch(book: Path, tmp_path: Path) -> None:
    finetune_text("gpt_nano", book, out=tmp_path / "run", **SETTINGS)
    rows = read_rows(tmp_path / "run" / "samples.jsonl")
    assert [row["epoch"] for row in rows] == [1, 2, 3] and all(row["text"] for row in rows)
    live = watch(tmp_path / "run")
    assert live.samples == rows and live.title == "gpt_nano on book.txt"
    assert live.result.keys() == {"val_loss", "val_perplexity"}


def test_a_resumed_run_writes_the_same_samples(
    book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    finetune_text("gpt_nano", book, out=tmp_path / "straight", **SETTINGS)
    with monkeypatch.context() as patched, pytest.raises(Interrupted):
        patched.setattr(StopInTheSecondEpoch, "out", tmp_path / "run")
        patched.setattr("zoo.train.trainer.StopRequest", StopInTheSecondEpoch)
        finetune_text("gpt_nano", book, out=tmp_path / "run", **SETTINGS)
    checkpoint = Checkpoints(tmp_path / "run" / "last").newest()
    assert checkpoint is not None
    resume_text(tmp_path / "run", checkpoint, say=lambda line: None)
    straight = read_rows(tmp_path / "straight" / "samples.jsonl")
    assert read_rows(tmp_path / "run" / "samples.jsonl") == straight
