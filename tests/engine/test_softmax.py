"""Softmax and log-softmax beyond the rows of op_specs.py."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine import _C
from tests import reference as ref
from tests.gradcheck import gradcheck
from tests.threads import assert_same_for_any_thread_count

rng = np.random.default_rng(50257)
BOTH = pytest.mark.parametrize("name", ["softmax", "log_softmax"])


def leaf(a: np.ndarray) -> engine.Tensor:
    t = engine.asarray(np.array(a))
    t.requires_grad = True
    return t


@BOTH
@pytest.mark.parametrize("axis", [0, 1, 2, 3, -1])
def test_any_axis_of_a_channels_last_tensor(name, axis) -> None:
    x = rng.standard_normal((3, 17, 4, 5)) * 5
    y = getattr(_C, name)(engine.asarray(x).contiguous("channels_last"), axis)
    np.testing.assert_allclose(y.numpy(), getattr(ref, name)(x, axis), rtol=1e-12, atol=1e-13)


@BOTH
@pytest.mark.parametrize("width", [1, 7, 64, 65, 1000, 5003])
def test_float32_rows_of_any_width(name, width) -> None:
    x = (rng.standard_normal((3, width)) * 10).astype(np.float32)
    y = getattr(_C, name)(engine.asarray(x), -1).numpy()
    wanted = getattr(ref, name)(x.astype(np.float64), -1)
    np.testing.assert_allclose(y, wanted, rtol=2e-6, atol=1e-7)


@BOTH
def test_gradient_through_another_axis(name) -> None:
    gradcheck(lambda t: getattr(_C, name)(t, 1), [rng.standard_normal((2, 5, 3))])


@BOTH
def test_second_derivative_matches_finite_differences(name) -> None:
    v = engine.asarray(rng.standard_normal((2, 4)))

    def gradient(x: engine.Tensor) -> engine.Tensor:
        with engine.enable_grad():
            t = x if x.requires_grad else leaf(x.numpy())
            y = (getattr(_C, name)(t, -1) * v).sum()
            return engine.grad([y], [t], create_graph=True)[0]

    gradcheck(gradient, [rng.standard_normal((2, 4))], rtol=1e-4)


@BOTH
def test_huge_values_do_not_overflow(name) -> None:
    y = getattr(_C, name)(engine.asarray([[3e38, 0.0, -3e38]]), -1).numpy()[0]
    assert y[0] == (1 if name == "softmax" else 0)
    assert not np.isnan(y).any()


def test_minus_infinity_has_probability_zero() -> None:
    y = _C.softmax(engine.asarray([[0.0, -np.inf, 0.0]]), -1)
    assert y.tolist() == [[0.5, 0.0, 0.5]]


@BOTH
@pytest.mark.parametrize("width", [3, 40])
def test_nan_spreads_over_its_row_only(name, width) -> None:
    x = np.zeros((2, width), np.float32)
    x[0, width // 2] = np.nan
    y = getattr(_C, name)(engine.asarray(x), -1).numpy()
    assert np.isnan(y[0]).all() and np.isfinite(y[1]).all()


@BOTH
def test_empty_tensors_stay_empty(name) -> None:
    assert getattr(_C, name)(engine.zeros((0, 4)), -1).shape == (0, 4)
    assert getattr(_C, name)(engine.zeros((4, 0)), -1).shape == (4, 0)


@BOTH
def test_bad_axes_and_dtypes_are_refused(name) -> None:
    with pytest.raises(IndexError, match="axis 2 is out of range"):
        getattr(_C, name)(engine.ones((2, 3)), 2)
    with pytest.raises(TypeError, match=r"int64 \(2, 3\)"):
        getattr(_C, name)(engine.ones((2, 3), dtype=engine.int64), 1)


def test_results_are_the_same_for_any_thread_count() -> None:
    x = rng.standard_normal((300, 211)).astype(np.float32)

    def compute():
        t = leaf(x)
        y = _C.log_softmax(t, 0) + _C.softmax(t, 1)
        y.backward(engine.asarray(x))
        return [y, t.grad]

    assert_same_for_any_thread_count(compute)
