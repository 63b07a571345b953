"""Clipping by the norm of all gradients."""

from __future__ import annotations

import math

import numpy as np
import pytest

import engine
from engine.nn import Parameter
from engine.optim import NonFiniteGradientError, clip_grad_norm_


def with_grads(*grads: list[float]) -> list[Parameter]:
    parameters = []
    for grad in grads:
        p = Parameter(engine.zeros(len(grad)))
        p.grad = engine.asarray(np.array(grad, np.float32))
        parameters.append(p)
    return parameters


def test_long_gradients_are_scaled_to_the_norm_asked_for() -> None:
    parameters = with_grads([3.0], [0.0, 4.0])
    assert clip_grad_norm_(parameters, 1.0) == 5.0
    np.testing.assert_allclose(parameters[0].grad.tolist(), [0.6], rtol=1e-6)
    np.testing.assert_allclose(parameters[1].grad.tolist(), [0, 0.8], rtol=1e-6)


def test_short_gradients_stay_bit_for_bit() -> None:
    parameters = with_grads([0.3, 0.1])
    clip_grad_norm_(parameters, 1.0)
    assert parameters[0].grad.tolist() == with_grads([0.3, 0.1])[0].grad.tolist()


def test_parameters_without_gradient_do_not_count() -> None:
    assert clip_grad_norm_([*with_grads([3.0, 4.0]), Parameter([1.0])], 10.0) == 5.0


def test_no_gradients_at_all_have_norm_zero() -> None:
    assert clip_grad_norm_([Parameter([1.0])], 1.0) == 0.0


def test_a_norm_beyond_float32_is_clipped_right() -> None:
    """Field case C-07, first half: the squares of 1e20 overflow float32."""
    parameters = with_grads(*[[1e20]] * 100)
    assert clip_grad_norm_(parameters, 1.0) == pytest.approx(1e21)
    for p in parameters:
        assert p.grad.item() == pytest.approx(0.1)


@pytest.mark.parametrize("bad", [math.inf, -math.inf, math.nan])
def test_a_gradient_that_is_not_finite_is_reported_and_nothing_changed(bad: float) -> None:
    """Field case C-07, second half."""
    parameters = with_grads([1e20], [bad], [2.0])
    with pytest.raises(NonFiniteGradientError, match="skip this step") as caught:
        clip_grad_norm_(parameters, 1.0)
    assert not math.isfinite(caught.value.norm)
    np.testing.assert_array_equal(
        [p.grad.item() for p in parameters], np.array([1e20, bad, 2.0], np.float32)
    )


def test_the_caller_may_check_the_norm_instead() -> None:
    parameters = with_grads([math.inf], [2.0])
    assert clip_grad_norm_(parameters, 1.0, error_if_nonfinite=False) == math.inf
    assert parameters[1].grad.item() == 2.0


@pytest.mark.parametrize("max_norm", [0.0, -1.0, math.nan])
def test_a_norm_that_is_not_above_zero_is_refused(max_norm: float) -> None:
    with pytest.raises(ValueError, match="max_norm"):
        clip_grad_norm_(with_grads([1.0]), max_norm)
