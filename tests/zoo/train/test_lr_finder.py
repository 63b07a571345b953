"""The learning-rate range test."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from zoo.train.average import full_state
from zoo.train.lr_finder import NoRateFound, RateTest, draw_rates, range_test


def test_rates_rise_and_the_suggestion_trains(make_trainer):
    task = make_trainer().task
    found = range_test(task, task.config, epoch=1)
    assert list(found.rates) == sorted(found.rates) and found.rates[0] == pytest.approx(1e-6)
    assert found.losses[-1] > min(found.losses)
    lowest = found.rates[int(np.argmin(found.losses))]
    assert found.suggestion == pytest.approx(lowest / 10)
    assert make_trainer(out="b", lr=found.suggestion, epochs=30).fit().best.metrics[
        "val_accuracy"
    ] == pytest.approx(1.0)


def test_the_model_is_left_as_it_was(make_trainer):
    task = make_trainer().task
    before = full_state(task.model)
    range_test(task, task.config, epoch=0, steps=20)
    after = full_state(task.model)
    assert all(np.array_equal(before[name], after[name]) for name in before)
    assert all(p.grad is None for p in task.model.parameters())


def test_a_loss_that_is_never_finite_is_refused(make_trainer):
    trainer = make_trainer()
    trainer.model.fc.bias.detach().numpy()[:] = np.nan
    with pytest.raises(NoRateFound, match="not finite"):
        range_test(trainer.task, trainer.task.config, epoch=0)


def test_the_drawing_is_a_picture_with_the_suggestion_in_it():
    file = BytesIO()
    draw_rates(RateTest((1e-3, 1e-2, 1e-1), (2.0, 1.0, 3.0), 1e-3), file, "title")
    pixels = np.asarray(Image.open(file).convert("RGB")).astype(int)
    marked = np.abs(pixels - [0x1B, 0x99, 0x8B]).sum(axis=2) < 30
    assert marked.sum() > 50
