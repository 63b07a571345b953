"""What TensorBoard gets to see: the numbers of the log, after a resumption as well."""

from __future__ import annotations

import struct
import sys

import pytest
from tensorboardX.proto.event_pb2 import Event

from zoo.train.log import read_rows
from zoo.train.tensorboard import MissingExtra, TensorBoard


def scalars(folder):
    """(tag, step) -> value, as TensorBoard's format has them: length, check, event, check."""
    found = {}
    for path in sorted(folder.iterdir()):
        content, at = path.read_bytes(), 0
        while at < len(content):
            (length,) = struct.unpack_from("<Q", content, at)
            event = Event.FromString(content[at + 12 : at + 12 + length])
            at += 16 + length
            for value in event.summary.value:
                found[value.tag, event.step] = value.simple_value
    return found


def test_it_gets_the_numbers_of_the_log(make_trainer):
    trainer = make_trainer(epochs=2, callbacks=[TensorBoard()])
    trainer.fit()
    logged = scalars(trainer.out / "tensorboard")
    rows = read_rows(trainer.out / "metrics.jsonl")
    for row in rows:
        if row["kind"] == "step":
            assert logged["step/loss", row["step"]] == pytest.approx(row["loss"])
            assert logged["step/lr", row["step"]] == pytest.approx(row["lr"])
        else:
            assert logged["epoch/val_accuracy", row["step"]] == pytest.approx(row["val_accuracy"])
    assert len([tag for tag, _ in logged if tag == "step/loss"]) == trainer.progress.step


def test_without_the_extra_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(MissingExtra, match=r"pip install 'zoo\[tensorboard\]'"):
        TensorBoard()
