"""Initial values: the published deviations and bounds, seeds, and leaving memory unfilled."""

from __future__ import annotations

import math

import numpy as np
import pytest

import engine
from engine import nn
from engine.nn import init

CONV = (64, 32, 3, 3)  # fan-in 288, fan-out 576


def filled(initialiser, shape=CONV, **kwargs) -> np.ndarray:
    return initialiser(engine.empty(shape), generator=engine.Generator(7), **kwargs).numpy()


@pytest.mark.parametrize("mode, fan", [("fan_in", 288), ("fan_out", 576)])
def test_kaiming_normal_has_hes_deviation(mode: str, fan: int) -> None:
    values = filled(init.kaiming_normal_, mode=mode)
    assert values.std() == pytest.approx(math.sqrt(2 / fan), rel=0.02)
    assert abs(values.mean()) < 4 * values.std() / math.sqrt(values.size)


def test_kaiming_uniform_fills_hes_interval() -> None:
    values, bound = filled(init.kaiming_uniform_), math.sqrt(6 / 288)
    assert 0.99 * bound < values.max() < bound and -bound <= values.min() < -0.99 * bound


def test_leaky_relu_narrows_the_gain() -> None:
    assert init.calculate_gain("leaky_relu", 1.0) == 1.0


def test_xavier_normal_has_glorots_deviation() -> None:
    assert filled(init.xavier_normal_).std() == pytest.approx(math.sqrt(2 / 864), rel=0.02)


def test_xavier_uniform_fills_glorots_interval() -> None:
    values, bound = filled(init.xavier_uniform_, gain=2.0), 2 * math.sqrt(6 / 864)
    assert 0.99 * bound < np.abs(values).max() < bound


def test_trunc_normal_stays_inside() -> None:
    values = filled(init.trunc_normal_, std=0.02, low=-0.04, high=0.04)
    assert -0.04 <= values.min() and values.max() <= 0.04
    # A normal distribution cut at two deviations has the deviation 0.8796.
    assert values.std() == pytest.approx(0.02 * 0.8796, rel=0.02)


def test_constants() -> None:
    assert init.ones_(engine.empty(3)).tolist() == [1, 1, 1]
    assert init.zeros_(engine.empty(3)).tolist() == [0, 0, 0]
    assert init.constant_(engine.empty(2), 0.5).tolist() == [0.5, 0.5]


def test_parameters_can_be_filled_and_stay_trainable_leaves() -> None:
    parameter = nn.Parameter(engine.empty((4, 4)))
    assert init.normal_(parameter) is parameter
    assert parameter.is_leaf and parameter.requires_grad


def test_the_engines_seed_decides() -> None:
    def draw(seed: int) -> list[list[float]]:
        engine.manual_seed(seed)
        return nn.Linear(3, 3).weight.tolist()

    assert draw(1) == draw(1) != draw(2)


@pytest.mark.parametrize("layer", [nn.Linear(100, 50), nn.Conv2d(4, 50, 5)])
def test_layers_start_uniform_by_their_fan_in(layer: nn.Module) -> None:
    for parameter in layer.parameters():
        values = np.abs(parameter.detach().numpy())
        assert 0.05 < values.max() < 0.1000001  # 1 / sqrt(100) each


def test_skip_random_draws_nothing() -> None:
    engine.manual_seed(0)
    before = engine.get_rng_state()
    with init.skip_random():
        nn.Linear(10, 10)
    assert engine.get_rng_state() == before
    nn.Linear(10, 10)
    assert engine.get_rng_state() != before


def test_skip_random_still_fills_constants() -> None:
    with init.skip_random():
        assert nn.BatchNorm2d(2).weight.tolist() == [1, 1]


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: init.kaiming_normal_(engine.empty(3)), "at least 2 axes"),
        (lambda: init.kaiming_normal_(engine.empty((3, 3)), mode="fan"), "mode='fan'"),
        (lambda: init.kaiming_normal_(engine.empty((3, 0))), "has no fan_in"),
        (lambda: init.calculate_gain("swish"), "nonlinearity='swish'"),
        (lambda: init.trunc_normal_(engine.empty(3), low=1, high=0), "expected std > 0 and low"),
    ],
)
def test_what_cannot_be_is_refused(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
