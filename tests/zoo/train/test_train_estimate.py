"""Plans: what is measured leaves no trace, and what is said of time and memory is about right."""

from __future__ import annotations

import numpy as np
import pytest

import engine
import zoo
from zoo.data import ArrayImages
from zoo.train.config import TrainConfig
from zoo.train.estimate import Estimate, estimate, fitting, free_bytes, resident_bytes
from zoo.train.planning import make_plan, rounded


@pytest.fixture
def network():
    engine.manual_seed(5)
    network = zoo.load("resnet20", None, 3)
    network.classes = ("a", "b", "c")
    return network


@pytest.fixture
def images():
    pixels = np.random.default_rng(0).integers(0, 256, (12, 32, 32, 3), dtype=np.uint8)
    return ArrayImages(pixels, np.arange(12) % 3, ["a", "b", "c"])


@pytest.mark.parametrize("freeze", ["none", "auto", "backbone"])
def test_measuring_leaves_everything_as_it_was(network, images, freeze):
    before = {name: value.numpy().copy() for name, value in network.state_dict().items()}
    random = engine.get_rng_state()
    wanted = [p.requires_grad for p in network.parameters()]
    modes = [m.training for m in network.modules()]
    estimate(network, images, TrainConfig(freeze=freeze, batch_size=4, threads=1))
    assert engine.get_rng_state() == random
    assert [p.requires_grad for p in network.parameters()] == wanted
    assert [m.training for m in network.modules()] == modes
    assert all(p.grad is None for p in network.parameters())
    for name, value in network.state_dict().items():
        assert np.array_equal(value.numpy(), before[name]), name


def test_a_training_step_costs_more_than_a_forward_pass_and_grows_with_the_batch(network, images):
    found = estimate(network, images, TrainConfig(freeze="none", batch_size=16))
    assert found.step > found.forward > 0
    assert found.read > 0 and found.view > 0  # alike here: these pictures need no decoding
    assert found.picture_bytes == 32 * 32 * 4
    # Activations of a training step: some dozens of maps of 16 channels of 32 x 32 floats.
    assert 1e6 < found.image_bytes < 2e7


def test_memory_of_a_step_is_foreseen(network):
    found = estimate(
        network,
        ArrayImages(np.zeros((4, 32, 32), np.uint8), [0, 1, 2, 0], ["a", "b", "c"]),
        TrainConfig(freeze="none", batch_size=64),
    )
    images = np.zeros((64, 32, 32, 3), np.uint8)
    network.train()
    before = engine.memory_stats()["allocated_bytes"]
    engine.reset_peak_memory_stats()
    logits = zoo.train.inference.forward(network, images, network.preprocessing)
    loss = engine.nn.functional.cross_entropy(logits, engine.from_numpy(np.zeros(64, np.int64)))
    loss.backward()
    taken = engine.memory_stats()["peak_allocated_bytes"] - before
    assert found.step_bytes + 64 * found.image_bytes == pytest.approx(taken, rel=0.25)


def test_batches_shrink_to_what_fits_and_steps_keep_their_pictures():
    found = Estimate(0, 0, 0, 0, 0, 50.0, 100.0, 1000.0, 50.0)
    config = TrainConfig(batch_size=16, accumulation=2)
    assert fitting(found, config, 10, free=1e6) == (16, 2)
    assert fitting(found, config, 10, free=1000) == (4, 8)
    assert fitting(found, config, 10, free=350) is None
    assert fitting(found, TrainConfig(batch_size=10), 10, free=900) == (5, 2)


def test_time_is_counted_by_what_each_epoch_does():
    found = Estimate(1.0, 3.0, 0.5, 0.0, 0.0, 0, 0, 0, 0)
    both = TrainConfig(epochs=4, freeze="auto", head_epochs=1)
    head = TrainConfig(epochs=4, freeze="backbone")
    # Report 10 * 1.5; features of 100 + 10 pictures once; then 3 epochs over all of it.
    features, report = 110 * 1.5, 10 * 1.5
    assert found.seconds(head, 100, 10, threads=1) == pytest.approx(report + features)
    full = 100 * (3 * 3 + 0.5) + 10 * (3 * 1 + 0.5)
    assert found.seconds(both, 100, 10, threads=1) == pytest.approx(report + features + full)
    assert found.seconds(both, 100, 10, threads=2) < found.seconds(both, 100, 10, threads=1)


def test_a_plan_takes_smaller_batches_where_memory_is_short(network, images, monkeypatch):
    prepared = zoo.data.PreparedFolder(images, images, zoo.demo.prepare_digits().audit)
    config = TrainConfig(freeze="none", batch_size=16, threads=1)
    plenty = make_plan(network, prepared, config)
    assert plenty.config == config and plenty.notes == ()
    need = plenty.estimate
    free = (need.fixed_bytes + need.step_bytes + 6 * need.image_bytes) / 0.85
    monkeypatch.setattr("zoo.train.planning.free_bytes", lambda device: free)
    short = make_plan(network, prepared, config)
    assert short.config.batch_size * short.config.accumulation == 16
    assert 2 <= short.config.batch_size <= 8
    assert short.memory < plenty.memory and "batch norms see fewer" in short.notes[0]
    monkeypatch.setattr("zoo.train.planning.free_bytes", lambda device: 1.0)
    assert "may not fit" in make_plan(network, prepared, config).notes[0]


def test_free_memory_is_known_here():
    assert 0 < resident_bytes() < 1e12
    assert 0 < free_bytes() < 1e15


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.1, "5 s"), (21, "30 s"), (61, "2 min"), (3700, "1 h 5 min")]
)
def test_times_are_rounded_up_to_what_can_be_known(seconds, text):
    assert rounded(seconds) == text
