"""What people reported of training with other tools, as it must go here (area C)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tiny_run import CLASSES, SIDE, Tiny, pictures

import engine
from engine import nn
from engine.optim import SGD, Scheduler, clip_grad_norm_
from engine.optim.schedule import CosineLR, StepLR
from zoo.data import ArrayImages
from zoo.train.metrics import Tally


class Narrow(Tiny):
    """Its last map is 1x1, so that a batch norm sees one value a channel and picture."""

    def __init__(self) -> None:
        super().__init__()
        self.bn2 = nn.BatchNorm2d(4)

    def forward(self, x):
        x = nn.functional.relu(self.bn1(self.conv1(x)))
        x = nn.functional.adaptive_avg_pool2d(x, 1)  # (N, 4, 1, 1)
        return self.fc(self.bn2(x).flatten(1))


@pytest.mark.parametrize("settings", [{}, {"accumulation": 2}, {"sampling": "balanced"}])
def test_c01_33_pictures_in_batches_of_32_train_to_the_end(make_trainer, settings):
    trainer = make_trainer(model=Narrow(), train=pictures(33), batch_size=32, epochs=1, **settings)
    progress = trainer.fit()
    assert progress.seen == 33 and progress.skipped == 0
    assert math.isfinite(progress.best.metrics["val_loss"])


def test_c03_accumulated_losses_of_unequal_batches_are_the_mean_over_all_samples(make_trainer):
    # One picture of loss 4 and three of loss 1, in two batches: 1.75, not the 2.5 of the means.
    trainer = make_trainer(batch_size=2, label_smoothing=0.0, norm=False)

    def of_loss(loss, count):
        logits = np.zeros((count, 3), np.float32)
        logits[:, 0] = -math.log((math.exp(loss) - 1) / 2)  # of label 0 against two others
        return logits

    groups = [of_loss(4.0, 1), of_loss(1.0, 3)]
    seen = iter(groups)
    trainer.task._logits = lambda inputs: engine.from_numpy(next(seen)) * _one(trainer)
    batches = [
        type(next(trainer.task.batches(0, 0)))(np.zeros(1), np.zeros(len(g), np.int64), None)
        for g in groups
    ]
    sums = trainer.task.backward(batches, 4)
    assert sums.loss / 4 == pytest.approx(1.75, rel=1e-6)


def _one(trainer):
    """A parameter of value 1, so that there is something to differentiate."""
    return trainer.model.fc.bias.sum() * 0 + 1


@pytest.mark.parametrize("schedule", [StepLR(100.0, step_size=4), CosineLR(100.0, total_steps=7)])
def test_c04_a_resumed_schedule_gives_the_rates_of_one_that_never_stopped(schedule):
    def scheduler():
        return Scheduler(SGD([nn.Parameter(engine.ones(1))], lr=100.0), schedule)

    def rates(of, steps):
        found = []
        for _ in range(steps):
            found.append(of.optimizer.param_groups[0]["lr"])
            of.step()
        return found

    straight = rates(scheduler(), 7)
    first, second = scheduler(), scheduler()
    before = rates(first, 3)
    second.load_state_dict(first.state_dict())
    assert before + rates(second, 4) == pytest.approx(straight, rel=1e-12)
    if isinstance(schedule, StepLR):
        assert straight == pytest.approx([100, 100, 100, 100, 10, 10, 10], rel=1e-12)


@pytest.mark.parametrize("batch_size", [1, 2, 3])
def test_c05_the_validation_loss_is_over_samples_not_over_batches(batch_size):
    wanted = [10.0, 10.0, 9.0]
    logits = np.array([[-math.log(math.expm1(loss)), 0.0] for loss in wanted])
    tally = Tally(classes=2)
    for start in range(0, 3, batch_size):
        some = logits[start : start + batch_size]
        tally.add(some, np.zeros(len(some), np.int64))
    assert tally.loss == pytest.approx(29 / 3, rel=1e-9)


def test_c07_clipping_survives_gradients_whose_squares_overflow():
    parameters = [nn.Parameter(engine.ones(1)) for _ in range(100)]
    for parameter in parameters:
        parameter.grad = engine.full((1,), 1e20)
    norm = clip_grad_norm_(parameters, 1.0)
    assert norm == pytest.approx(1e21, rel=1e-5)
    assert all(p.grad.item() == pytest.approx(0.1, rel=1e-5) for p in parameters)


def test_c07_an_infinite_gradient_changes_nothing_and_is_counted(make_trainer, weights_of):
    trainer = make_trainer(train=pictures(4), epochs=1)
    inner = trainer.task.backward

    def backward(group, weight):
        sums = inner(group, weight)
        trainer.model.fc.bias.grad = engine.full((3,), math.inf)
        return sums

    trainer.task.backward = backward
    before = weights_of(trainer.model)
    assert trainer.fit().skipped == 1
    assert all(np.array_equal(v, before[name]) for name, v in weights_of(trainer.model).items())


def test_dropping_no_tail_trains_on_a_set_smaller_than_a_batch(make_trainer):
    assert make_trainer(train=pictures(3), batch_size=16, epochs=1).fit().seen == 3


def test_equal_pictures_get_other_views_in_every_epoch_and_position(make_trainer):
    image = np.arange(SIDE * SIDE * 3, dtype=np.uint8).reshape(1, SIDE, SIDE, 3)
    same = ArrayImages(np.repeat(image, 6, axis=0), [0, 1, 2, 0, 1, 2], CLASSES)
    task = make_trainer(train=same, batch_size=3).task
    views = [row.tobytes() for e in (0, 1) for b in task.batches(e, 0) for row in b.inputs]
    assert len(set(views)) > 8
