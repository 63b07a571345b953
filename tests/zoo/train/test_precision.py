"""Training in mixed precision: on the CPU, where it gives a GPU's numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from test_numerical_safety import Poisoned, rows_of

import engine
import hub
from engine.amp import GradScaler
from zoo.train.config import TrainConfig
from zoo.train.errors import ConfigError, TrainingDiverged
from zoo.train.text_config import TextConfig


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_it_learns_what_float32_learns(make_trainer, weights_of, precision):
    trainers = [make_trainer(out=p, precision=p) for p in ("float32", precision)]
    found = [trainer.fit().best for trainer in trainers]
    assert found[1].metrics["val_accuracy"] == found[0].metrics["val_accuracy"] == 1.0
    exact, mixed = (weights_of(trainer.model) for trainer in trainers)
    assert all(value.dtype == exact[name].dtype for name, value in mixed.items())
    for name, value in mixed.items():
        np.testing.assert_allclose(value, exact[name], rtol=0.1, atol=0.05, err_msg=name)
    assert any((value != exact[name]).any() for name, value in mixed.items())
    kept = hub.SafetensorsFile(trainers[1].out / "model.safetensors")
    assert kept["conv1.weight"].dtype == np.float32


def test_products_are_computed_in_it(make_trainer):
    seen = []
    trainer = make_trainer(precision="bfloat16", epochs=1)
    inner = trainer.model.fc.forward
    trainer.model.fc.forward = lambda x: seen.append(inner(x)) or seen[-1]
    trainer.fit()
    in_training = [t for t in seen if t.requires_grad]
    assert in_training and all(t.dtype == engine.bfloat16 for t in in_training)
    validated = [t for t in seen if not t.requires_grad]  # as predictions are made
    assert validated and all(t.dtype == engine.float32 for t in validated)


def test_a_scale_that_is_too_large_is_lowered_and_counts_as_no_bad_step(make_trainer, weights_of):
    trainer = make_trainer(precision="float16", max_bad_steps=2)
    trainer.scaler = GradScaler(init_scale=2.0**20)
    done = trainer.fit()
    assert done.skipped == 0 and done.best.metrics["val_accuracy"] > 0.6
    rows = rows_of(trainer)
    left_out = [row["skipped"] for row in rows]
    assert left_out[:3] == [True] * 3 and not left_out[-1]
    scales = [row["loss_scale"] for row in rows]
    assert scales[:3] == [2.0**20, 2.0**19, 2.0**18] and scales[-1] < 2.0**18


def test_a_gradient_that_is_never_finite_ends_the_run(make_trainer):
    trainer = make_trainer(
        model=Poisoned("fc", set(range(100))), precision="float16", max_bad_steps=2, epochs=9
    )
    trainer.scaler = GradScaler(init_scale=8.0)
    with pytest.raises(TrainingDiverged, match="the gradient of fc.weight was not finite"):
        trainer.fit()
    assert len(rows_of(trainer)) == 3 + 2  # at 8, 4 and 2 the scale might have been to blame


def test_a_loss_that_is_not_finite_is_nothing_that_a_scale_can_mend(make_trainer):
    class Overflowing(Poisoned):
        def forward(self, x):
            return super().forward(x) * math.inf if self.training else super().forward(x)

    trainer = make_trainer(model=Overflowing("fc", set()), precision="float16", max_bad_steps=2)
    with pytest.raises(TrainingDiverged, match="the loss was not finite"):
        trainer.fit()
    assert len(rows_of(trainer)) == 2


def test_a_cpu_is_told_that_it_gains_nothing(make_trainer):
    said = []
    trainer = make_trainer(precision="bfloat16")
    type(trainer)(trainer.task, trainer.config, trainer.out, trainer.origin, say=said.append)
    assert len(said) == 1 and "takes longer than float32" in said[0]


@pytest.mark.parametrize("kind", [TrainConfig, TextConfig])
def test_other_precisions_are_refused(kind):
    with pytest.raises(ConfigError, match="precision='int8'; expected float32 or bfloat16"):
        kind(precision="int8")
