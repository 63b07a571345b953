"""linear_cross_entropy against cross_entropy of the product."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import engine
from engine.nn import functional as F
from tests.gradcheck import gradcheck
from tests.threads import assert_same_for_any_thread_count

rng = np.random.default_rng(50257)


def draw(rows: int, width: int, classes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    target = rng.integers(0, classes, rows)
    target[rows // 2] = 1
    return rng.standard_normal((rows, width)), rng.standard_normal((classes, width)), target


def leaves(*arrays: np.ndarray, dtype=engine.float64) -> list[engine.Tensor]:
    made = [engine.asarray(a).astype(dtype) for a in arrays]
    for t in made:
        t.requires_grad = True
    return made


def composite(x, weight, target, **options) -> engine.Tensor:
    return F.cross_entropy(F.linear(x, weight), target, **options)


# Chunks and blocks of the kernel end in all ways; the last needs several chunks of 64 MiB.
SHAPES = [(1, 3, 2), (5, 8, 7), (70, 16, 300), (200, 4, 70000)]
OPTIONS = list(itertools.product(["mean", "sum"], [0.0, 0.2], [-100, 1]))


@pytest.mark.parametrize("reduction, smoothing, ignored", OPTIONS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_loss_and_gradients_are_those_of_the_two_steps(shape, reduction, smoothing, ignored):
    if shape[2] > 1000 and (reduction, smoothing) != ("mean", 0.2):
        shape = (20, *shape[1:])
    x, weight, target = draw(*shape)
    options = dict(reduction=reduction, label_smoothing=smoothing, ignore_index=ignored)
    results = []
    for function in (F.linear_cross_entropy, composite):
        a, b = leaves(x, weight)
        y = function(a, b, engine.asarray(target), **options)
        (y * 0.5).backward()
        results.append([y.detach().numpy(), a.grad.numpy(), b.grad.numpy()])
    if np.isnan(results[1][0]):  # a mean over nothing
        assert np.isnan(results[0][0]) and not results[0][1].any() and not results[0][2].any()
        return
    for got, wanted in zip(*results, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-12 * np.abs(wanted).max())


def test_float32_is_as_close_as_the_two_steps() -> None:
    x, weight, target = draw(130, 48, 1000)
    a, b = leaves(x, weight)
    composite(a, b, engine.asarray(target)).backward()
    c, d = leaves(x, weight, dtype=engine.float32)
    F.linear_cross_entropy(c, d, engine.asarray(target)).backward()
    for got, wanted in ((c.grad.numpy(), a.grad.numpy()), (d.grad.numpy(), b.grad.numpy())):
        assert np.abs(got - wanted).max() < 2e-6 * np.abs(wanted).max()


def test_rows_may_have_several_axes_and_any_strides() -> None:
    x, weight, target = draw(12, 5, 9)
    a = engine.asarray(x.reshape(3, 4, 5)).swapaxes(0, 1)
    y = F.linear_cross_entropy(a, engine.asarray(weight.T.copy()).T,
                               engine.asarray(target.reshape(3, 4)).T)  # fmt: skip
    wanted = composite(engine.asarray(x), engine.asarray(weight), engine.asarray(target))
    assert y.item() == pytest.approx(wanted.item(), rel=1e-12)


def test_first_and_second_gradients() -> None:
    x, weight, target = draw(4, 3, 5)
    t = engine.asarray(target)
    gradcheck(lambda a, b: F.linear_cross_entropy(a, b, t, label_smoothing=0.1), [x, weight])

    def first(a: engine.Tensor, b: engine.Tensor) -> engine.Tensor:
        with engine.enable_grad():
            for p in (a, b):
                if not p.requires_grad:
                    p.requires_grad = True
            y = F.linear_cross_entropy(a, b, t, label_smoothing=0.1)
            grads = engine.grad([y * y], [a, b], create_graph=True)
        return engine.concat([g.reshape((-1,)) for g in grads])

    gradcheck(first, [x, weight])


@pytest.mark.parametrize("which", [0, 1])
def test_gradient_of_one_of_them(which) -> None:
    x, weight, target = draw(6, 4, 10)
    both, one = leaves(x, weight), leaves(x, weight)
    one[1 - which].requires_grad = False
    for pair in (both, one):
        F.linear_cross_entropy(*pair, engine.asarray(target)).backward()
    np.testing.assert_array_equal(one[which].grad.numpy(), both[which].grad.numpy())
    assert one[1 - which].grad is None


def test_a_second_walk_adds_the_same_gradients_again() -> None:
    x, weight, target = draw(6, 4, 10)
    a, b = leaves(x, weight)
    y = F.linear_cross_entropy(a, b, engine.asarray(target))
    y.backward(retain_graph=True)
    once = [a.grad.numpy().copy(), b.grad.numpy().copy()]
    y.backward()
    np.testing.assert_allclose(a.grad.numpy(), 2 * once[0], rtol=1e-12)
    np.testing.assert_allclose(b.grad.numpy(), 2 * once[1], rtol=1e-12)


def test_no_rows() -> None:
    a, b = leaves(np.zeros((0, 4)), np.ones((3, 4)))
    y = F.linear_cross_entropy(a, b, engine.zeros(0, dtype=engine.int64), reduction="sum")
    y.backward()
    assert y.item() == 0 and a.grad.shape == (0, 4) and not b.grad.numpy().any()


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    x, weight, target = draw(150, 32, 5000)

    def compute() -> list[engine.Tensor]:
        a, b = leaves(x, weight, dtype=engine.float32)
        y = F.linear_cross_entropy(a, b, engine.asarray(target))
        y.backward()
        return [y, a.grad, b.grad]

    assert_same_for_any_thread_count(compute)


def test_memory_never_holds_the_logits_of_all_rows() -> None:
    rows, classes = 4000, 20000
    a, b = leaves(np.ones((rows, 2)), np.ones((classes, 2)), dtype=engine.float32)
    target = engine.zeros(rows, dtype=engine.int64)
    engine.empty_cache()
    engine.reset_peak_memory_stats()
    before = engine.memory_stats()["allocated_bytes"]
    F.linear_cross_entropy(a, b, target).backward()
    peak = engine.memory_stats()["peak_allocated_bytes"] - before
    assert peak < rows * classes * 4 / 3


ERRORS = [
    (lambda: F.linear_cross_entropy(engine.ones((2, 3)), engine.ones((4, 2)), engine.zeros(2)),
     ValueError, r"x has shape \(2, 3\), weight \(4, 2\)"),
    (lambda: F.linear_cross_entropy(engine.ones((2, 3)), engine.ones((4, 3)), engine.zeros(2)),
     TypeError, "target is float32"),
    (lambda: F.linear_cross_entropy(engine.ones((2, 3)), engine.ones((4, 3)),
                                    engine.asarray([1])), ValueError, r"target has shape \(1,\)"),
    (lambda: F.linear_cross_entropy(engine.ones((2, 3)), engine.ones((4, 3)),
                                    engine.asarray([1, 4])), IndexError, r"target 4 at \(1,\)"),
    (lambda: F.linear_cross_entropy(engine.ones((2, 3)), engine.ones((4, 3)),
                                    engine.asarray([1, 3]), reduction="none"),
     ValueError, r"cross_entropy\(linear\(x, weight\)"),
    (lambda: F.linear_cross_entropy(engine.ones((2, 3)), engine.ones((4, 3)),
                                    engine.asarray([1, 3]), label_smoothing=2.0),
     ValueError, "label_smoothing 2"),
    (lambda: F.linear_cross_entropy(engine.ones((2, 3)), engine.ones((4, 3), dtype=engine.float64),
                                    engine.asarray([1, 3])), TypeError, "they must agree"),
]  # fmt: skip


@pytest.mark.parametrize("call, error, text", ERRORS)
def test_errors(call, error, text) -> None:
    with pytest.raises(error, match=text):
        call()
