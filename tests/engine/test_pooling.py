"""Pooling beyond the rows of op_specs.py: NaN, layouts, edges of windows, gradients."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine import _C
from tests import reference as ref
from tests.gradcheck import gradcheck
from tests.threads import assert_same_for_any_thread_count

rng = np.random.default_rng(2012)


def pictures(*shape: int, dtype: str = "float64") -> np.ndarray:
    """Distinct values, so that the largest of a window is no tie."""
    n = int(np.prod(shape))
    return (rng.permutation(n).reshape(shape) * 0.01).astype(dtype)


def leaf(a: np.ndarray) -> engine.Tensor:
    t = engine.asarray(np.array(a))
    t.requires_grad = True
    return t


def test_max_pool_passes_nan_on_wherever_it_stands() -> None:
    for row in ([np.nan, 1, 2, 3], [1, np.nan, 2, 3]):
        x = engine.asarray(np.array(row, np.float32).reshape(1, 1, 1, 4))
        y = _C.max_pool2d(x, (1, 2), (1, 2)).numpy().ravel()
        assert np.isnan(y[0]) and y[1] == 3


def test_max_pool_of_minus_infinity_sends_its_gradient_somewhere() -> None:
    x = leaf(np.full((1, 1, 2, 2), -np.inf))
    y = _C.max_pool2d(x, (2, 2), (2, 2))
    y.backward(engine.ones_like(y))
    assert y.item() == -np.inf
    assert x.grad.numpy().ravel().tolist() == [1, 0, 0, 0]


def test_padding_never_wins_a_maximum() -> None:
    y = _C.max_pool2d(engine.full((1, 1, 3, 3), -5.0), (3, 3), (2, 2), (1, 1))
    assert (y.numpy() == -5).all()


def test_ties_send_the_gradient_to_the_first() -> None:
    x = leaf(np.ones((1, 1, 2, 3)))
    _C.max_pool2d(x, (2, 3), (1, 1)).sum().backward()
    assert x.grad.numpy().ravel().tolist() == [1, 0, 0, 0, 0, 0]


def test_overlapping_windows_add_up_their_gradients() -> None:
    x = leaf(np.array([0.0, 1.0, 9.0, 1.0, 0.0]).reshape(1, 1, 1, 5))
    _C.max_pool2d(x, (1, 3), (1, 1)).sum().backward()
    assert x.grad.numpy().ravel().tolist() == [0, 0, 3, 0, 0]


# 3, 16 and 67 channels: less than a vector, whole vectors, and whole vectors with a rest.
@pytest.mark.parametrize("channels", [3, 16, 67])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_max_pool_matches_the_naive_one(channels, dtype) -> None:
    x = pictures(2, channels, 9, 8, dtype=dtype)
    y = _C.max_pool2d(engine.asarray(x), (3, 3), (2, 2), (1, 1))
    np.testing.assert_array_equal(y.numpy(), ref.max_pool2d(x, (3, 3), (2, 2), (1, 1)))


@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize("dilation", [(1, 1), (2, 1)])
def test_max_pool_gradient_matches_finite_differences(ceil_mode, dilation) -> None:
    x = pictures(2, 5, 6, 7)
    gradcheck(lambda t: _C.max_pool2d(t, (3, 2), (2, 3), (1, 1), dilation, ceil_mode), [x])


@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize("include", [False, True])
def test_avg_pool_gradient_matches_finite_differences(ceil_mode, include) -> None:
    x = rng.standard_normal((2, 3, 7, 6))
    gradcheck(lambda t: _C.avg_pool2d(t, (3, 2), (2, 2), (1, 1), ceil_mode, include), [x])


@pytest.mark.parametrize("size", [(1, 1), (2, 3), (5, 7), (8, 9)])
def test_adaptive_pool_covers_every_size(size) -> None:
    x = rng.standard_normal((2, 3, 5, 7))
    y = _C.adaptive_avg_pool2d(engine.asarray(x), size)
    np.testing.assert_allclose(y.numpy(), ref.adaptive_avg_pool2d(x, size), rtol=1e-12, atol=1e-14)
    gradcheck(lambda t: _C.adaptive_avg_pool2d(t, size), [x[:1, :2]])


def test_ceil_mode_adds_no_window_that_starts_in_the_padding() -> None:
    x = engine.ones((1, 1, 5, 5))
    assert _C.max_pool2d(x, (2, 2), (3, 3), (1, 1), (1, 1), True).shape == (1, 1, 2, 2)
    assert _C.max_pool2d(x, (2, 2), (2, 2), (0, 0), (1, 1), True).shape == (1, 1, 3, 3)


def test_global_mean_of_a_large_picture_does_not_drift() -> None:
    x = engine.full((1, 3, 600, 700), 0.1)
    y = _C.adaptive_avg_pool2d(x, (1, 1)).numpy()
    np.testing.assert_allclose(y, np.float32(0.1), rtol=1e-6)


def test_results_are_channels_last() -> None:
    y = _C.max_pool2d(engine.ones((2, 3, 4, 4)), (2, 2), (2, 2))
    assert y.is_contiguous(memory_format="channels_last")


def test_an_empty_batch_pools_to_an_empty_batch() -> None:
    x = leaf(np.zeros((0, 3, 4, 4)))
    y = _C.max_pool2d(x, (2, 2), (2, 2))
    assert y.shape == (0, 3, 2, 2)
    y.sum().backward()
    assert x.grad.shape == (0, 3, 4, 4)


def test_pooling_is_the_same_for_any_thread_count() -> None:
    x = pictures(4, 20, 31, 29, dtype="float32")

    def compute():
        t = leaf(x)
        results = [
            _C.max_pool2d(t, (3, 3), (2, 2), (1, 1)),
            _C.avg_pool2d(t, (3, 3), (2, 2), (1, 1)),
            _C.adaptive_avg_pool2d(t, (1, 1)),
        ]
        for y in results:
            y.backward(y.detach())
        return [*results, t.grad]

    assert_same_for_any_thread_count(compute)


@pytest.mark.parametrize(
    "args, message",
    [
        (((9, 9), (1, 1)), "window of 9 does not fit into the height 4"),
        (((2, 2), (1, 1), (2, 2)), "padding 2 must be between 0 and half the kernel size 2"),
        (((2, 2), (0, 1)), "stride 0"),
    ],
)
def test_impossible_windows_are_refused(args, message) -> None:
    with pytest.raises(ValueError, match=message):
        _C.max_pool2d(engine.ones((1, 1, 4, 4)), *args)


def test_pooling_needs_four_axes() -> None:
    with pytest.raises(ValueError, match=r"\(3, 4, 4\), expected pictures \(N, C, H, W\)"):
        _C.adaptive_avg_pool2d(engine.ones((3, 4, 4)), (1, 1))


@pytest.mark.parametrize("op", ["max_pool2d", "avg_pool2d"])
def test_second_derivatives(op) -> None:
    def first(x: engine.Tensor) -> engine.Tensor:
        with engine.enable_grad():
            x = x if x.requires_grad else leaf(x.numpy())
            y = getattr(_C, op)(x, (2, 3), (1, 2), (1, 1))
            (gradient,) = engine.grad([(y * y * y).sum()], [x], create_graph=True)
        return gradient

    gradcheck(first, [pictures(2, 2, 4, 5)])
