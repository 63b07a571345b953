"""Convolution: pixels that no window reads, and every way of computing it against finite
differences."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from tests import reference
from tests.gradcheck import gradcheck
from tests.threads import assert_same_for_any_thread_count


def test_e09_pixels_that_no_window_reads_have_gradient_zero() -> None:
    x, w = engine.ones((1, 1, 6, 6)), engine.ones((1, 1, 3, 3))
    x.requires_grad = w.requires_grad = True
    engine.conv2d(x, w, None, (2, 2)).backward(engine.ones((1, 1, 2, 2)))
    gradient = x.grad.numpy()[0, 0]
    assert gradient.shape == (6, 6)
    assert gradient.sum(1).tolist() == [6, 6, 12, 6, 6, 0]
    assert not gradient[-1].any() and not gradient[:, -1].any()
    assert w.grad.numpy().tolist() == [[[[4.0] * 3] * 3]]


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("dilation", [(1, 1), (2, 2)])
@pytest.mark.parametrize("stride", [(1, 1), (2, 3)])
def test_e09_gradients_with_uneven_padding(
    groups: int, dilation: tuple[int, int], stride: tuple[int, int]
) -> None:
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((1, 4, 7, 6)), rng.standard_normal((4, 4 // groups, 3, 3))
    gradcheck(lambda x, w: engine.conv2d(x, w, None, stride, (1, 2), dilation, groups), [x, w])


@pytest.mark.parametrize("shape", [(2, 16, 9, 13, 24), (1, 64, 28, 28, 64), (3, 8, 5, 5, 8)])
def test_winograd_gradients_match_the_direct_ones(shape: tuple[int, ...]) -> None:
    n, c, h, w, k = shape
    rng = np.random.default_rng(1)
    x = rng.standard_normal((n, c, h, w)).astype(np.float32)
    weight = rng.standard_normal((k, c, 3, 3)).astype(np.float32)
    g = engine.asarray(rng.standard_normal((n, k, h, w)).astype(np.float32))

    def run(algorithm: str) -> list[np.ndarray]:
        engine.set_conv_algorithm(algorithm)
        a, b = engine.asarray(x), engine.asarray(weight)
        a.requires_grad = b.requires_grad = True
        y = engine.conv2d(a, b, None, (1, 1), (1, 1))
        y.backward(g)
        return [y.detach().numpy(), a.grad.numpy(), b.grad.numpy()]

    try:
        for direct, winograd in zip(run("direct"), run("winograd"), strict=True):
            assert np.abs(direct - winograd).max() < 2e-5 * np.abs(direct).max()
    finally:
        engine.set_conv_algorithm("auto")


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    rng = np.random.default_rng(2)
    x = rng.standard_normal((4, 32, 20, 20)).astype(np.float32)
    w = rng.standard_normal((48, 32, 3, 3)).astype(np.float32)

    def run() -> list[engine.Tensor]:
        a, b = engine.asarray(x), engine.asarray(w)
        a.requires_grad = b.requires_grad = True
        y = engine.conv2d(a, b, None, (1, 1), (1, 1))
        (y * y).sum().backward()
        return [y, a.grad, b.grad]

    assert_same_for_any_thread_count(run)


def test_forward_matches_the_naive_loops_at_network_sizes() -> None:
    rng = np.random.default_rng(3)
    x = rng.standard_normal((2, 3, 33, 31)).astype(np.float32)
    w = rng.standard_normal((64, 3, 7, 7)).astype(np.float32)
    got = engine.conv2d(engine.asarray(x), engine.asarray(w), None, (2, 2), (3, 3)).numpy()
    wanted = reference.conv2d(x.astype(np.float64), w.astype(np.float64), None, (2, 2), (3, 3))
    np.testing.assert_allclose(got, wanted, atol=2e-5 * np.abs(wanted).max())
