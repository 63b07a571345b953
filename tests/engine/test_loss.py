"""Cross-entropy beyond the rows of op_specs.py."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import engine
from engine import _C
from tests.gradcheck import gradcheck
from tests.threads import assert_same_for_any_thread_count

rng = np.random.default_rng(1948)


def naive(logits, target, weight=None, ignore_index=-100, reduction="mean", smoothing=0.0):
    """Cross-entropy between softmax(logits) and (1 - s) * one-hot + s / C, one sample at a time;
    the mass of class c counts weight[c] times."""
    classes = logits.shape[1]
    weight = np.ones(classes) if weight is None else weight
    losses, total = np.zeros(target.shape), 0.0
    for place in np.ndindex(target.shape):
        if target[place] == ignore_index:
            continue
        x = logits[(place[0], slice(None), *place[1:])]
        log_p = x - x.max() - np.log(np.exp(x - x.max()).sum())
        wanted = np.full(classes, smoothing / classes)
        wanted[target[place]] += 1 - smoothing
        losses[place] = -(wanted * weight * log_p).sum()
        total += weight[target[place]]
    return {"none": losses, "sum": losses.sum(), "mean": losses.sum() / total}[reduction]


CASES = list(itertools.product(["mean", "sum", "none"], [0.0, 0.1], [False, True], [(5,), (3, 2)]))


@pytest.mark.parametrize("reduction, smoothing, weighted, shape", CASES)
def test_every_combination_matches_the_definition(reduction, smoothing, weighted, shape) -> None:
    logits = rng.standard_normal((shape[0], 6, *shape[1:])) * 3
    target = rng.integers(0, 6, shape)
    target.flat[1] = 2
    weight = rng.uniform(0.2, 2, 6) if weighted else None
    options = dict(ignore_index=2, reduction=reduction, label_smoothing=smoothing)
    w = None if weight is None else engine.asarray(weight)
    y = _C.cross_entropy(engine.asarray(logits), engine.asarray(target), w, **options)
    wanted = naive(logits, target, weight, 2, reduction, smoothing)
    np.testing.assert_allclose(y.numpy(), wanted, rtol=1e-12)
    gradcheck(lambda t: _C.cross_entropy(t, engine.asarray(target), w, **options), [logits])


def test_uniform_logits_lose_the_logarithm_of_the_class_count() -> None:
    y = _C.cross_entropy(engine.zeros((4, 1000)), engine.asarray([0, 1, 2, 999]))
    assert y.item() == pytest.approx(np.log(1000), rel=1e-6)


def test_confident_logits_neither_overflow_nor_round_to_zero() -> None:
    x = engine.asarray(np.array([[1e4, 0.0], [0.0, 30.0]], np.float32))
    y = _C.cross_entropy(x, engine.asarray([1, 1]), reduction="none").numpy()
    assert y[0] == 1e4
    assert y[1] == pytest.approx(np.exp(-30.0), rel=1e-3)


@pytest.mark.parametrize("dtype", ["int32", "uint8", "int64"])
def test_targets_may_be_any_integers(dtype) -> None:
    target = engine.asarray(np.array([1, 0], dtype))
    y = _C.cross_entropy(engine.asarray([[0.0, 9.0], [9.0, 0.0]]), target)
    assert y.item() < 1e-3


def test_ignored_rows_get_no_gradient_even_if_they_hold_nan() -> None:
    x = engine.asarray([[np.nan, 1.0], [0.0, 1.0]])
    x.requires_grad = True
    y = _C.cross_entropy(x, engine.asarray([-100, 0]))
    y.backward()
    assert np.isfinite(y.item())
    assert x.grad.numpy()[0].tolist() == [0, 0] and (x.grad.numpy()[1] != 0).all()


def test_a_mean_over_nothing_is_nan() -> None:
    assert np.isnan(_C.cross_entropy(engine.zeros((2, 3)), engine.asarray([-100, -100])).item())


def test_target_is_kept_as_it_was_when_its_memory_is_reused() -> None:
    batch = np.array([0, 1])
    x = engine.asarray(np.zeros((2, 2)))
    x.requires_grad = True
    y = _C.cross_entropy(x, engine.from_numpy(batch))
    batch[:] = 1 - batch
    y.backward()
    assert x.grad.tolist() == [[-0.25, 0.25], [0.25, -0.25]]


def test_an_impossible_target_is_named_with_its_place_and_the_class_count() -> None:
    target = np.zeros((2, 3), np.int64)
    target[1, 2] = 7
    with pytest.raises(IndexError, match=r"target 7 at \(1, 2\) .* 5 classes, 0 to 4"):
        _C.cross_entropy(engine.zeros((2, 5, 3)), engine.asarray(target))
    with pytest.raises(IndexError, match=r"target -1 at \(0,\)"):
        _C.cross_entropy(engine.zeros((1, 5)), engine.asarray([-1]))


@pytest.mark.parametrize(
    "change, error, message",
    [
        (dict(target=[0.0, 1.0]), TypeError, "float.* expected integers"),
        (dict(target=[0, 1, 2]), ValueError, r"target has shape \(3,\), expected \(2,\)"),
        (dict(weight=[1.0]), ValueError, r"weight has shape \(1,\), expected \(3,\)"),
        (dict(reduction="average"), ValueError, "'average'"),
        (dict(label_smoothing=1.5), ValueError, "label_smoothing 1.5"),
    ],
)
def test_bad_arguments_are_named(change, error, message) -> None:
    arguments = dict(logits=engine.zeros((2, 3)), target=[0, 1]) | change
    for name in ("target", "weight"):
        if name in arguments:
            arguments[name] = engine.asarray(arguments[name])
    with pytest.raises(error, match=message):
        _C.cross_entropy(**arguments)


def test_loss_is_the_same_for_any_thread_count() -> None:
    logits = rng.standard_normal((500, 77)).astype(np.float32)
    target = engine.asarray(rng.integers(0, 77, 500))

    def compute():
        x = engine.asarray(logits.copy())
        x.requires_grad = True
        y = _C.cross_entropy(x, target, label_smoothing=0.1)
        y.backward()
        return [y, x.grad]

    assert_same_for_any_thread_count(compute)
