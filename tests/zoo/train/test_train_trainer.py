"""The training loop: what it updates, what it leaves alone, and what it keeps."""

from __future__ import annotations

import json
import os
import signal

import numpy as np
import pytest
from tiny_run import Tiny, pictures

import hub
from zoo.train.checkpoint import Checkpoints
from zoo.train.errors import Interrupted, TrainingDiverged
from zoo.train.log import read_rows
from zoo.train.progress import Best
from zoo.train.task import Evaluation


def rows_of(trainer, kind):
    return [r for r in read_rows(trainer.out / "metrics.jsonl") if r["kind"] == kind]


def test_it_learns(make_trainer):
    assert make_trainer(epochs=30, lr=0.3).fit().best.metrics["val_accuracy"] == 1.0


@pytest.mark.parametrize("optimizer", ["sgd", "adamw"])
def test_accumulated_batches_of_unequal_size_step_like_one_batch(
    make_trainer, weights_of, optimizer
):
    # 7 pictures in batches of 2: groups of 2 + 2 + 3 pictures (the tail of one is merged).
    settings = {
        "train": pictures(7),
        "norm": False,
        "epochs": 1,
        "augment": "none",
        "flip": 0.0,
        "optimizer": optimizer,
        "weight_decay": 0.01,
        "warmup": 0.0,
    }
    pieces = make_trainer(out="pieces", batch_size=2, accumulation=3, **settings)
    whole = make_trainer(out="whole", batch_size=7, **settings)
    pieces.fit()
    whole.fit()
    for name, value in weights_of(whole.model).items():
        np.testing.assert_allclose(weights_of(pieces.model)[name], value, rtol=1e-4, atol=1e-6)
    losses = [rows_of(trainer, "step")[0]["loss"] for trainer in (pieces, whole)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)


def test_a_tail_of_one_picture_is_trained_with_the_batch_before(make_trainer):
    trainer = make_trainer(train=pictures(9), batch_size=4, epochs=1)
    assert trainer.fit().seen == 9
    assert len(rows_of(trainer, "step")) == 2


def test_frozen_parts_keep_weights_and_running_averages(make_trainer, weights_of):
    trainer = make_trainer(freeze="backbone")
    before = weights_of(trainer.model)
    trainer.fit()
    after = weights_of(trainer.model)
    changed = {name for name in before if not np.array_equal(before[name], after[name])}
    assert changed == {"fc.weight", "fc.bias"}


def test_head_first_thaws_the_rest_after_its_epochs(make_trainer, weights_of):
    trainer = make_trainer(freeze="auto", head_epochs=1, epochs=2)
    before = weights_of(trainer.model)
    seen = []
    trainer.say = lambda line: seen.append(weights_of(trainer.model))
    trainer.fit()
    after_first_epoch, after_all = seen[-2], seen[-1]
    for name in ("conv1.weight", "bn1.running_mean"):
        assert np.array_equal(before[name], after_first_epoch[name])
        assert not np.array_equal(before[name], after_all[name])


def test_norms_and_biases_are_not_decayed(make_trainer):
    trainer = make_trainer(weight_decay=0.5)
    decayed = {
        name
        for group in trainer.optimizer.param_groups
        for name in group["names"]
        if group["weight_decay"] > 0
    }
    assert decayed == {"conv1.weight", "fc.weight"}


def test_the_rest_learns_at_its_fraction_of_the_rate(make_trainer):
    trainer = make_trainer(lr=0.2, backbone_lr=0.1, warmup=0.0)
    rates = {n: g["lr"] for g in trainer.optimizer.param_groups for n in g["names"]}
    assert rates["fc.bias"] == pytest.approx(0.2)
    assert rates["conv1.bias"] == pytest.approx(0.02)


def test_gradients_are_clipped_to_the_longest_allowed(make_trainer, weights_of):
    settings = {"train": pictures(4), "epochs": 1, "momentum": 0.0, "lr": 1.0, "warmup": 0.0}
    trainer = make_trainer(clip_norm=0.01, weight_decay=0.0, **settings)
    before = weights_of(trainer.model)
    trainer.fit()
    after = weights_of(trainer.model)
    names = [name for name, _ in trainer.model.named_parameters()]
    moved = np.sqrt(sum(np.square(after[n] - before[n], dtype=np.float64).sum() for n in names))
    assert rows_of(trainer, "step")[0]["grad_norm"] > 0.01
    assert moved == pytest.approx(0.01, rel=1e-3)


class Exploding(Tiny):
    """Its output is not a number in the steps whose numbers (from 1) are in `bad`."""

    def __init__(self, bad: set[int]) -> None:
        super().__init__()
        self.bad = bad
        self.calls = 0

    def forward(self, x):
        if self.training:
            self.calls += 1
            if self.calls in self.bad:
                x = x * float("nan")
        return super().forward(x)


def test_a_step_that_is_not_finite_changes_nothing_and_is_counted(make_trainer, weights_of):
    trainer = make_trainer(model=Exploding({1}), train=pictures(4), epochs=1)
    before = weights_of(trainer.model)
    progress = trainer.fit()
    assert progress.skipped == 1
    for name, value in weights_of(trainer.model).items():
        assert np.array_equal(value, before[name]), name
    assert rows_of(trainer, "step")[0]["skipped"] is True


def test_training_goes_on_after_a_few_steps_that_are_not_finite(make_trainer):
    progress = make_trainer(model=Exploding({2, 3}), epochs=10, lr=0.3).fit()
    assert progress.skipped == 2
    assert np.isfinite(progress.best.metrics["val_loss"])


def test_a_run_ends_when_steps_in_a_row_are_not_finite(make_trainer):
    trainer = make_trainer(model=Exploding({2, 3, 4}), max_bad_steps=3)
    with pytest.raises(TrainingDiverged, match=r"(?s)steps 2 to 4.*--lr 0\.01"):
        trainer.fit()


@pytest.mark.parametrize(
    ("new", "old", "wins"),
    [
        ((0.9, 1.0), (0.8, 0.5), True),
        ((0.8, 0.4), (0.8, 0.5), True),
        ((0.8, 0.5), (0.8, 0.5), False),
        ((0.8, 0.6), (0.8, 0.5), False),
        ((0.8, float("nan")), (0.8, 0.5), False),
        ((0.8, 0.5), (0.8, float("nan")), True),
    ],
)
def test_best_is_by_accuracy_then_by_loss_then_the_earlier(new, old, wins):
    one, other = (
        Best.of(number, number, Evaluation({}, order=(-accuracy, loss)))
        for number, (accuracy, loss) in ((2, new), (1, old))
    )
    assert one.beats(other) is wins


def stop_after(trainer, steps):
    """Let the trainer meet Ctrl-C in its step number `steps`."""
    inner = trainer.optimizer.step
    left = [steps]

    def step():
        inner()
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGINT)

    trainer.optimizer.step = step


@pytest.mark.parametrize("steps", [1, 4, 6, 8, 12])  # 6 steps an epoch: mid-epoch and at its end
@pytest.mark.parametrize(
    "settings",
    [
        {"optimizer": "sgd"},
        {"optimizer": "adamw", "lr": 0.01, "accumulation": 1, "freeze": "auto", "epochs": 3},
        {"optimizer": "sgd", "precision": "float16"},
    ],
    ids=["sgd", "adamw, head first", "float16"],
)
def test_a_resumed_run_ends_bit_for_bit_like_one_that_never_stopped(
    make_trainer, weights_of, steps, settings
):
    settings = {"dropout": 0.3, "epochs": 2, **settings}
    straight = make_trainer(out="straight", **settings)
    straight.fit()
    stopped = make_trainer(out="stopped", **settings)
    stop_after(stopped, steps)
    with pytest.raises(Interrupted, match="--resume"):
        stopped.fit()
    resumed = make_trainer(out="stopped", **settings)
    resumed.restore(Checkpoints(resumed.out / "last").newest())
    assert resumed.progress.step == steps
    resumed.fit()
    for name, value in weights_of(straight.model).items():
        assert np.array_equal(weights_of(resumed.model)[name], value), name
    best = [(t.out / "model.safetensors").read_bytes() for t in (straight, resumed)]
    assert best[0] == best[1]


def test_a_resumed_run_logs_the_rows_of_one_that_never_stopped(make_trainer):
    straight = make_trainer(out="straight")
    straight.fit()
    stopped = make_trainer(out="stopped")
    stop_after(stopped, 7)
    with pytest.raises(Interrupted):
        stopped.fit()
    resumed = make_trainer(out="stopped")
    resumed.restore(Checkpoints(resumed.out / "last").newest())
    resumed.fit()
    assert rows_of(resumed, "step") == rows_of(straight, "step")  # learning rates among them
    timed = {"seconds", "images_per_second", "features_per_second"}
    for one, other in zip(rows_of(resumed, "epoch"), rows_of(straight, "epoch"), strict=True):
        assert {k: v for k, v in one.items() if k not in timed} == {
            k: v for k, v in other.items() if k not in timed
        }


def test_a_checkpoint_is_written_before_the_first_step(make_trainer):
    trainer = make_trainer(model=Exploding({1}), max_bad_steps=1)
    with pytest.raises(TrainingDiverged):
        trainer.fit()
    assert Checkpoints(trainer.out / "last").newest().state["progress"]["step"] == 0


def test_checkpoints_come_every_so_many_steps(make_trainer):
    trainer = make_trainer(model=Exploding({6}), save_every=2, max_bad_steps=1)
    with pytest.raises(TrainingDiverged):
        trainer.fit()
    assert Checkpoints(trainer.out / "last").newest().state["progress"]["step"] == 4


def test_the_kept_weights_are_those_of_the_best_epoch(make_trainer, weights_of):
    trainer = make_trainer(epochs=4, lr=0.3)
    by_epoch = []
    trainer.say = lambda line: by_epoch.append(weights_of(trainer.model))
    best = trainer.fit().best
    kept = hub.SafetensorsFile(trainer.out / "model.safetensors")
    expected = by_epoch[best.epoch]  # the first line is the table's head
    assert all(np.array_equal(kept[name], expected[name]) for name in expected)
    assert json.loads(kept.metadata["result"])["epoch"] == best.epoch


def test_weights_carry_what_is_needed_to_use_them(make_trainer):
    trainer = make_trainer()
    trainer.fit()
    metadata = hub.SafetensorsFile(trainer.out / "model.safetensors").metadata
    assert json.loads(metadata["classes"]) == ["dark", "bright", "striped"]
    assert json.loads(metadata["preprocessing"])["size"] == 8
    assert json.loads(metadata["arch"]) == "tiny"
    assert json.loads(metadata["recipe"])["lr"] == 0.1
    assert json.loads(metadata["source"]) == {"name": "random", "sha256": None}
    assert json.loads(metadata["data"])["fingerprint"] == "f"
    assert {"step", "versions", "config"} <= set(metadata)
