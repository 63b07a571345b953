"""What callbacks are told, and what they may do."""

from __future__ import annotations

import pytest

from zoo.train.callbacks import Callback
from zoo.train.log import read_rows


class Recorder(Callback):
    """Notes each call."""

    def __init__(self):
        self.calls = []
        self.rows = []

    def on_start(self, trainer):
        self.calls.append("start")

    def on_epoch_start(self, trainer):
        self.calls.append("epoch start")

    def on_step(self, trainer, row):
        self.calls.append("step")
        self.rows.append(row)

    def on_validation(self, trainer):
        self.calls.append("validation")

    def on_epoch(self, trainer, row):
        self.calls.append("epoch")
        self.rows.append(row)

    def on_save(self, trainer):
        self.calls.append("save")

    def on_end(self, trainer):
        self.calls.append("end")


def test_callbacks_are_called_in_the_order_of_what_happens(make_trainer):
    recorder = Recorder()
    make_trainer(epochs=1, batch_size=12, callbacks=[recorder]).fit()
    assert recorder.calls == [
        "start", "save", "epoch start", "step", "step", "validation", "epoch", "save", "end"
    ]  # fmt: skip


def test_callbacks_get_the_rows_of_the_log(make_trainer):
    recorder = Recorder()
    trainer = make_trainer(epochs=2, callbacks=[recorder])
    trainer.fit()
    assert recorder.rows == read_rows(trainer.out / "metrics.jsonl")


def test_a_callback_can_end_the_run_after_an_epoch(make_trainer):
    class Enough(Callback):
        def on_step(self, trainer, row):
            if row["step"] == 8:
                trainer.end_early("that is enough")

    progress = make_trainer(epochs=5, callbacks=[Enough()]).fit()  # 6 steps an epoch
    assert (progress.epoch, progress.step, progress.ended) == (2, 12, "that is enough")


def test_on_end_is_called_after_a_failure_and_the_log_is_closed(make_trainer):
    class Failing(Recorder):
        def on_step(self, trainer, row):
            raise OSError("no room for my own log")

    failing = Failing()
    trainer = make_trainer(callbacks=[failing])
    with pytest.raises(OSError, match="no room"):
        trainer.fit()
    assert failing.calls[-1] == "end"
    assert len(read_rows(trainer.out / "metrics.jsonl")) == 1
