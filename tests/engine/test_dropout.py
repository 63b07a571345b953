"""Dropout: how much it drops, and that the mask drawn again in backward is the same one."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine import _C
from tests.gradcheck import gradcheck
from tests.threads import assert_same_for_any_thread_count


def leaf(a: np.ndarray) -> engine.Tensor:
    t = engine.asarray(a)
    t.requires_grad = True
    return t


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_the_share_dropped_is_p_and_the_mean_stays(p) -> None:
    y = _C.dropout(engine.ones(200_000), p, engine.Generator(1)).numpy()
    assert abs((y == 0).mean() - p) < 0.005
    assert set(np.unique(y)) == {np.float32(0), np.float32(1 / (1 - p))}


def test_zero_changes_nothing_and_one_drops_everything() -> None:
    x = engine.asarray([1.0, 2.0])
    assert _C.dropout(x, 0.0).tolist() == [1, 2]
    assert _C.dropout(x, 1.0).tolist() == [0, 0]


@pytest.mark.parametrize("layout", ["contiguous", "channels_last"])
def test_backward_drops_what_forward_dropped(layout) -> None:
    x = leaf(np.ones((2, 3, 5, 7), np.float32))
    y = _C.dropout(x.contiguous(memory_format=layout), 0.4, engine.Generator(3))
    y.backward(engine.ones((2, 3, 5, 7)))
    np.testing.assert_array_equal(x.grad.numpy(), y.detach().numpy())


def test_a_gradient_in_another_memory_order_meets_the_same_mask() -> None:
    x = leaf(np.ones((40, 30)))
    y = _C.dropout(x, 0.5, engine.Generator(3))
    y.backward(engine.ones((30, 40), dtype=engine.float64).T)
    np.testing.assert_array_equal(x.grad.numpy(), y.detach().numpy())


def test_gradient_matches_finite_differences() -> None:
    x = np.random.default_rng(0).standard_normal((5, 30))
    gradcheck(lambda t: _C.dropout(t, 0.3, engine.Generator(11)), [x])


def test_the_second_derivative_keeps_the_mask() -> None:
    x = leaf(np.linspace(1.0, 2.0, 50))
    y = _C.dropout(x, 0.5, engine.Generator(2))
    (g,) = engine.grad([(y * y).sum()], [x], create_graph=True)
    g.sum().backward()
    mask = y.detach().numpy() / x.detach().numpy()
    np.testing.assert_allclose(x.grad.numpy(), 2 * mask**2)


def test_each_call_draws_another_mask_and_a_seed_repeats_it() -> None:
    generator = engine.Generator(5)
    x = engine.ones(1000)
    first, second = _C.dropout(x, 0.5, generator), _C.dropout(x, 0.5, generator)
    assert (first.numpy() != second.numpy()).any()
    again = _C.dropout(x, 0.5, engine.Generator(5))
    assert again.numpy().tobytes() == first.numpy().tobytes()


def test_nan_stays_visible() -> None:
    y = _C.dropout(engine.full((1000,), np.nan), 0.5, engine.Generator(0))
    assert np.isnan(y.numpy()).all()


def test_the_mask_is_the_same_for_any_thread_count() -> None:
    x = engine.ones((100, 1001))
    assert_same_for_any_thread_count(lambda: [_C.dropout(x, 0.5, engine.Generator(9))])


@pytest.mark.parametrize("p", [-0.1, 1.5, float("nan")])
def test_what_is_no_probability_is_refused(p) -> None:
    with pytest.raises(ValueError, match=f"probability {p}"):
        _C.dropout(engine.ones(3), p)
