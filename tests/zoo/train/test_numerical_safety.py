"""What is not finite is noticed where it appears, named, and never kept."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tiny_run import CLASSES, SIDE, Tiny, pictures

import engine
import hub
from zoo.data import ArrayImages
from zoo.train.checkpoint import Checkpoints
from zoo.train.errors import TrainingDiverged
from zoo.train.log import read_rows


def rows_of(trainer):
    return [row for row in read_rows(trainer.out / "metrics.jsonl") if row["kind"] == "step"]


def kept(trainer):
    """Whether all numbers of the kept weights are finite; None where none were kept."""
    path = trainer.out / "model.safetensors"
    if not path.exists():
        return None
    return all(np.isfinite(array).all() for array in hub.SafetensorsFile(path).values())


# ---------------------------------------------------------------- named


class Poisoned(Tiny):
    """The gradient of one layer is not finite in the given steps, though the loss is."""

    def __init__(self, layer: str, bad: set[int]) -> None:
        super().__init__()
        self.layer, self.bad, self.calls = layer, bad, 0

    def forward(self, x):
        out = super().forward(x)
        if self.training:
            self.calls += 1
            if self.calls in self.bad:
                # sqrt(0) is 0, and its slope is infinite.
                weight = getattr(self, self.layer).weight
                out = out + engine.sqrt(weight * 0).sum()
        return out


@pytest.mark.parametrize("layer", ["conv1", "fc"])
def test_the_gradient_that_is_not_finite_is_named(make_trainer, layer):
    trainer = make_trainer(model=Poisoned(layer, {2}))
    assert trainer.fit().skipped == 1
    rows = rows_of(trainer)
    assert [row.get("not_finite") for row in rows[:3]] == [
        None,
        f"the gradient of {layer}.weight",
        None,
    ]
    assert kept(trainer)


def test_a_loss_that_is_not_finite_is_named(make_trainer):
    class Exploding(Tiny):
        def forward(self, x):
            return super().forward(x * math.nan if self.training else x)

    trainer = make_trainer(model=Exploding(), max_bad_steps=3)
    with pytest.raises(TrainingDiverged, match="(?s)the loss was not finite.*steps 1 to 3"):
        trainer.fit()
    assert {row["not_finite"] for row in rows_of(trainer)} == {"the loss"}


# ---------------------------------------------------------------- rates and spikes


@pytest.mark.parametrize("lr", [1e3, 1e10, 1e30, 1e38, 1e200])
@pytest.mark.parametrize("optimizer", ["sgd", "adamw"])
def test_a_huge_learning_rate_keeps_no_weights_that_are_not_finite(make_trainer, lr, optimizer):
    trainer = make_trainer(lr=lr, optimizer=optimizer, warmup=0.0, epochs=4)
    try:
        assert math.isfinite(trainer.fit().best.metrics["val_loss"])
    except TrainingDiverged as error:
        assert f"--lr {lr / 10:.3g}" in str(error)
    assert kept(trainer) is not False
    assert Checkpoints(trainer.out / "last").newest() is not None


def test_weights_that_overflow_in_the_last_step_are_not_a_result(make_trainer):
    """One step, and nothing behind it that could notice but validation."""
    trainer = make_trainer(lr=1e38, clip_norm=0.0, warmup=0.0, train=pictures(4), epochs=1)
    inner = trainer.optimizer.step

    def step():
        inner()
        with engine.no_grad():
            trainer.model.fc.weight.copy_(engine.full((len(CLASSES), 4), math.inf))

    trainer.optimizer.step = step
    with pytest.raises(TrainingDiverged, match="validation loss or a weight was not finite"):
        trainer.fit()
    assert kept(trainer) is None


def test_an_epoch_that_is_not_finite_does_not_replace_a_sound_one(make_trainer):
    trainer = make_trainer(epochs=3)
    inner = trainer.task.evaluate

    def evaluate(on_batch):
        found = inner(on_batch)
        if trainer.progress.epoch == 1:  # says that all is right, by chance
            return type(found)({**found.metrics}, (-1.0, math.nan), found.details)
        return found

    trainer.task.evaluate = evaluate
    assert trainer.fit().best.epoch != 2


def test_a_spike_moves_the_weights_no_further_than_any_step(make_trainer):
    """A batch whose gradient is a million times the usual one is clipped to the usual length."""

    class Spiking(Tiny):
        calls = 0

        def forward(self, x):
            self.calls += self.training
            out = super().forward(x)
            return out * 1e6 if self.training and self.calls == 4 else out

    trainer = make_trainer(model=Spiking(), lr=0.1, momentum=0.0, epochs=2, warmup=0.0)
    progress = trainer.fit()
    norms = [row["grad_norm"] for row in rows_of(trainer)]
    assert norms[3] > 1e4 and progress.skipped == 0
    assert progress.best.metrics["val_loss"] < 5


def test_gradients_that_overflow_float32_when_squared_are_clipped(make_trainer):
    class Steep(Tiny):
        def forward(self, x):
            return super().forward(x) * 1e25

    trainer = make_trainer(model=Steep(), epochs=1)
    trainer.fit()
    assert all(math.isfinite(row["grad_norm"]) for row in rows_of(trainer))
    assert kept(trainer)


# ---------------------------------------------------------------- data without contrast


@pytest.mark.parametrize("value", [0, 255])
@pytest.mark.parametrize("norm", [True, False])
def test_constant_pictures_train_to_the_end(make_trainer, value, norm):
    images = np.full((12, SIDE, SIDE, 3), value, np.uint8)
    trainer = make_trainer(
        train=ArrayImages(images, np.arange(12) % 3, CLASSES), norm=norm, epochs=3
    )
    progress = trainer.fit()
    assert progress.skipped == 0 and kept(trainer)
    assert math.isfinite(progress.best.metrics["val_loss"])


def test_batches_of_one_class_alone_train_to_the_end(make_trainer):
    one_class = pictures(24)
    labels = np.zeros(24, np.int64)
    labels[0] = 1
    trainer = make_trainer(train=ArrayImages(one_class.images, labels, CLASSES), epochs=3)
    progress = trainer.fit()
    assert progress.skipped == 0 and kept(trainer)


@pytest.mark.parametrize("settings", [{"class_weights": "auto"}, {"sampling": "balanced"}])
def test_a_class_without_a_training_picture_does_no_harm(make_trainer, settings):
    some = pictures(24)
    labels = np.arange(24) % 2
    trainer = make_trainer(train=ArrayImages(some.images, labels, CLASSES), epochs=2, **settings)
    progress = trainer.fit()
    assert progress.skipped == 0 and kept(trainer)
    assert math.isfinite(progress.best.metrics["val_loss"])


def test_mixing_up_everything_on_constant_pictures(make_trainer):
    images = np.full((12, SIDE, SIDE, 3), 7, np.uint8)
    trainer = make_trainer(
        train=ArrayImages(images, np.arange(12) % 3, CLASSES), mixup=1.0, cutmix=1.0,
        label_smoothing=0.9, average="swa", norm_batches=2, epochs=4,
    )  # fmt: skip
    assert trainer.fit().skipped == 0 and kept(trainer)
