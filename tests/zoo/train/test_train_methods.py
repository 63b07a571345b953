"""Methods of training beside the plain step: averages, weights, mixing, thawing, ending early."""

from __future__ import annotations

import numpy as np
import pytest
from tiny_run import Tiny, pictures

import engine
import hub
from engine import nn
from zoo.train.average import WeightAverage, full_state, replaced_state
from zoo.train.callbacks import Callback
from zoo.train.config import TrainConfig
from zoo.train.parts import class_weights, freeze_for_epoch, make_schedule, stages
from zoo.train.picture_task import Samples


class States(Callback):
    """The model's state after each step and each epoch."""

    def __init__(self):
        self.steps, self.epochs = [], []

    def on_step(self, trainer, row):
        self.steps.append(full_state(trainer.model))

    def on_validation(self, trainer):
        self.epochs.append(full_state(trainer.model))


def test_an_exponential_average_of_weights_and_running_averages_is_kept(make_trainer):
    states = States()
    trainer = make_trainer(epochs=1, average="ema", ema_decay=0.8, callbacks=[states])
    expected = full_state(trainer.model)
    trainer.fit()
    for count, state in enumerate(states.steps, 1):
        part = 1 - min(0.8, (1 + count) / (10 + count))
        for name, mean in expected.items():
            expected[name] = mean + part * (state[name] - mean)
    kept = hub.SafetensorsFile(trainer.out / "model.safetensors")
    for name in ("conv1.weight", "fc.bias", "bn1.running_var"):
        np.testing.assert_allclose(kept[name], expected[name], rtol=1e-4, atol=1e-6)
        assert not np.allclose(kept[name], states.steps[-1][name], rtol=1e-4, atol=1e-6)


def test_swa_keeps_the_mean_of_the_last_epochs_with_statistics_of_its_own(make_trainer):
    states = States()
    trainer = make_trainer(
        epochs=4, average="swa", swa_start=0.5, callbacks=[states], schedule="constant"
    )
    trainer.fit()
    mean = np.mean([s["conv1.weight"] for s in states.epochs[2:]], axis=0)
    np.testing.assert_allclose(trainer.average.tensors()["conv1.weight"], mean, rtol=1e-5)
    # Training itself goes on from its own weights.
    assert np.array_equal(
        full_state(trainer.model)["conv1.weight"], states.epochs[-1]["conv1.weight"]
    )


def test_averaging_what_never_changes_leaves_it_bit_for_bit():
    model = nn.Linear(3, 2)
    before = full_state(model)
    average = WeightAverage(model, "ema", 0.99)
    for _ in range(50):
        average.update()
    assert all(np.array_equal(average.tensors()[name], before[name]) for name in before)


def test_a_replaced_state_is_taken_back_even_after_an_error():
    model = nn.BatchNorm2d(2)
    before = full_state(model)
    with pytest.raises(KeyError):
        with replaced_state(model, {"weight": np.full(2, 7, np.float32)}):
            assert model.weight.detach().numpy().tolist() == [7, 7]
            model(engine.ones((2, 2, 3, 3)))
            raise KeyError
    assert all(np.array_equal(full_state(model)[name], before[name]) for name in before)


def test_statistics_measured_anew_are_those_of_the_weights(make_trainer):
    lagging = make_trainer(out="a", epochs=1, norm_batches=0, warmup=0.0)
    measured = make_trainer(out="b", epochs=1, norm_batches=6, warmup=0.0)
    lagging.fit()
    measured.fit()
    kept = [hub.SafetensorsFile(t.out / "model.safetensors") for t in (lagging, measured)]
    assert np.array_equal(kept[0]["conv1.weight"], kept[1]["conv1.weight"])
    model = measured.model
    batches = list(measured.task._train_loader.epoch(0))
    means = []
    with engine.no_grad():
        for batch in batches:
            x = engine.from_numpy(batch.images.astype(np.float32) / 255).permute_dims((0, 3, 1, 2))
            p = model.preprocessing
            mean, std = (
                engine.from_numpy(np.array(v, np.float32).reshape(1, 3, 1, 1))
                for v in (p.mean, p.std)
            )
            means.append(model.conv1((x - mean) / std).numpy().mean(axis=(0, 2, 3)))
    np.testing.assert_allclose(kept[1]["bn1.running_mean"], np.mean(means, axis=0), atol=1e-4)
    assert not np.allclose(kept[0]["bn1.running_mean"], np.mean(means, axis=0), atol=1e-3)


def test_class_weights_are_inverse_to_counts_and_one_on_average():
    counts = np.array([60, 20, 0, 10])
    weights = class_weights(counts, TrainConfig(class_weights="auto"))
    assert weights[2] == 0
    assert (weights * counts)[[0, 1, 3]] == pytest.approx([30, 30, 30])
    assert (weights * counts).sum() / counts.sum() == pytest.approx(1)


def test_mixed_targets_are_descended_by_their_shares(make_trainer):
    trainer = make_trainer(mixup=1.0, label_smoothing=0.0)
    batch = next(trainer.task.batches(0, 0))
    assert isinstance(batch, Samples) and batch.others is not None
    logits = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)
    loss = trainer.task._loss(engine.from_numpy(logits), batch).item()
    log_p = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    targets = np.zeros((4, 3))
    for row in range(4):
        targets[row, batch.labels[row]] += batch.share[row]
        targets[row, batch.others[row]] += 1 - batch.share[row]
    assert loss == pytest.approx(-(targets * log_p).sum(), rel=1e-5)


def test_a_run_ends_early_without_improvement(make_trainer):
    progress = make_trainer(lr=0.0, patience=2, epochs=9).fit()
    assert progress.epoch == 3
    assert "no improvement for 2 epochs" in progress.ended


def test_gradual_thawing_frees_one_more_stage_each_epoch():
    model = Tiny()
    config = TrainConfig(epochs=5, head_epochs=1, thaw="gradual")
    trained = []
    for epoch in range(5):
        freeze_for_epoch(model, config, epoch)
        names = {n.split(".")[0] for n, p in model.named_parameters() if p.requires_grad}
        trained.append(sorted(names))
    assert trained == [
        ["fc"], ["bn1", "fc"], ["bn1", "conv1", "fc"], ["bn1", "conv1", "fc"],
        ["bn1", "conv1", "fc"],
    ]  # fmt: skip


def test_the_first_layers_learn_slowest(make_trainer):
    trainer = make_trainer(lr=1.0, backbone_lr=0.1, first_lr=0.5, warmup=0.0)
    rates = {n: g["lr"] for g in trainer.optimizer.param_groups for n in g["names"]}
    assert rates["fc.weight"] == pytest.approx(1.0)
    assert rates["bn1.weight"] == pytest.approx(0.1)
    assert rates["conv1.weight"] == pytest.approx(0.05)


def test_stages_of_a_network_are_in_its_order():
    import zoo

    depths = stages(zoo.load("resnet20", None, 10))
    by_stage = {name.split(".")[0]: depth for name, depth in depths.items()}
    assert sorted(by_stage, key=by_stage.__getitem__) == [
        "conv1", "bn1", "layer1", "layer2", "layer3", "fc"
    ]  # fmt: skip


def test_the_rate_goes_up_and_down_once_for_the_last_layer_and_once_for_all():
    schedule = make_schedule(TrainConfig(epochs=6, head_epochs=2, lr=1.0, warmup=0.25), 10)
    rates = [schedule.lr_at(step) for step in range(60)]
    assert rates[5] == pytest.approx(1.0) and rates[19] < 0.05
    assert rates[30] == pytest.approx(1.0) and rates[59] < 0.05
    assert rates[20] == pytest.approx(1 / 25)


def test_frozen_norms_keep_their_averages_while_all_else_learns(make_trainer, weights_of):
    trainer = make_trainer(batch_norm="frozen")
    before = weights_of(trainer.model)
    trainer.fit()
    after = weights_of(trainer.model)
    same = {name for name in before if np.array_equal(before[name], after[name])}
    assert same == {"bn1.running_mean", "bn1.running_var", "bn1.num_batches_tracked"}


def test_balanced_sampling_shows_rare_classes_as_often(make_trainer):
    images = pictures(30)
    rare = np.flatnonzero(images.labels == 2)[:2]
    images = images.subset(np.r_[np.flatnonzero(images.labels < 2), rare])
    trainer = make_trainer(train=images, sampling="balanced")
    labels = np.concatenate([batch.labels for batch in trainer.task.batches(0, 0)])
    counts = np.bincount(labels)
    assert max(counts) - min(counts) <= 3
