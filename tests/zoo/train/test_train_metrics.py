"""Counting loss and accuracy, and the log they go to."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import numpy as np
import pytest

from zoo.train.log import MetricsLog, read_rows
from zoo.train.metrics import Tally

# Two classes, label 0: a margin of m in favour of the other class costs log(1 + e^m), about m.
LOGITS = np.array([[0.0, 10.0], [0.0, 10.0], [0.0, 9.0]])
LABELS = np.zeros(3, dtype=np.int64)


@pytest.mark.parametrize("batch_size", [1, 2, 3])
def test_loss_is_a_mean_over_samples_for_any_batch_size(batch_size):
    tally = Tally(classes=2)
    for start in range(0, 3, batch_size):
        tally.add(LOGITS[start : start + batch_size], LABELS[start : start + batch_size])
    assert tally.loss == pytest.approx(29 / 3, abs=1e-3)  # 9.6667; batch means would give 9.5
    assert tally.count == 3


def test_loss_of_huge_logits_does_not_overflow():
    tally = Tally(classes=2)
    tally.add(np.array([[1e4, 0.0]], dtype=np.float32), np.array([1]))
    assert tally.loss == pytest.approx(1e4)


def test_accuracy_and_its_share_of_each_class():
    tally = Tally(classes=3)
    tally.add(np.eye(3)[[0, 1, 1, 0]], np.array([0, 1, 0, 0]))
    assert tally.accuracy == 0.75
    assert tally.per_class() == [(2, 3), (1, 1), (0, 0)]


def test_peak_memory_grows_with_what_is_held():
    # In a process of its own: this one's peak may be higher already.
    program = """
import numpy as np
from zoo.train.metrics import peak_memory_bytes
before = peak_memory_bytes()
held = np.ones(2**24)  # 128 MiB
print(peak_memory_bytes() - before, held.nbytes)
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    grown, held = map(int, ran.stdout.split())
    assert held / 2 < grown < 2 * held


def test_log_rows_come_back_in_order(tmp_path):
    log = MetricsLog(tmp_path / "log")
    log.append({"kind": "step", "step": 1, "loss": 0.5})
    log.append({"kind": "step", "step": 2, "loss": math.inf})
    log.close()
    rows = read_rows(tmp_path / "log")
    assert [(row["step"], row["loss"]) for row in rows] == [(1, 0.5), (2, None)]


def test_log_drops_unwanted_rows_and_a_torn_line(tmp_path):
    path = tmp_path / "log"
    rows = [{"kind": "step", "step": number} for number in (1, 2, 3)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + '{"step": 4, "lo')
    log = MetricsLog(path)
    log.keep(lambda row: row["step"] <= 2)
    log.append({**rows[2], "new": True})
    log.close()
    assert read_rows(path) == [*rows[:2], {**rows[2], "new": True}]
