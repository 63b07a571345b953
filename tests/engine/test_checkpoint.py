"""Checkpoints, and other ways to keep saved tensors; how early saved memory is given back."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import engine
from engine.autograd import checkpoint, saved_tensors_hooks


def leaf(values: object) -> engine.Tensor:
    t = engine.asarray(values, dtype=engine.float64)
    t.requires_grad = True
    return t


def block(x: engine.Tensor, w: engine.Tensor, power: float = 2.0) -> engine.Tensor:
    return engine.tanh(engine.exp(x) @ w) ** power


def inputs() -> tuple[engine.Tensor, engine.Tensor]:
    rng = np.random.default_rng(0)
    return leaf(rng.standard_normal((4, 3))), leaf(rng.standard_normal((3, 3)))


def test_gradients_are_those_of_the_plain_call() -> None:
    results = []
    for call in (lambda fn, *a, **k: fn(*a, **k), checkpoint):
        x, w = inputs()
        y = call(block, call(block, x * 1.0, w), w, power=3.0).sum()
        y.backward()
        results.append((y.tolist(), x.grad.tolist(), w.grad.tolist()))
    assert results[0] == results[1]


def test_gradients_of_gradients_are_too() -> None:
    results = []
    for call in (lambda fn, *a: fn(*a), checkpoint):
        x, w = inputs()
        (g,) = engine.grad(call(block, x * 1.0, w).sum(), x, create_graph=True)
        (g * g).sum().backward()
        results.append((x.grad.numpy(), w.grad.numpy()))
    np.testing.assert_allclose(results[0][0], results[1][0], rtol=1e-13)
    np.testing.assert_allclose(results[0][1], results[1][1], rtol=1e-13)


def test_parameters_that_fn_closes_over_get_gradients() -> None:
    x, w = inputs()
    checkpoint(lambda t: engine.sin(t @ w), x).sum().backward()
    expected = engine.grad(engine.sin(x @ w).sum(), [x, w])
    assert x.grad.tolist() == expected[0].tolist() and w.grad.tolist() == expected[1].tolist()


def test_dropout_repeats_and_the_generator_goes_on_undisturbed() -> None:
    x = leaf(np.ones(1000))

    def noisy(t: engine.Tensor) -> engine.Tensor:
        return engine.exp(engine.dropout(t, 0.5)) * engine.rand((1000,), dtype=engine.float64)

    engine.manual_seed(3)
    plain = noisy(x)
    plain.sum().backward()
    after, wanted = engine.rand((1,)).tolist(), x.grad.tolist()
    x.grad = None
    engine.manual_seed(3)
    y = checkpoint(noisy, x)
    assert y.tolist() == plain.tolist()
    y.sum().backward()
    assert x.grad.tolist() == wanted and engine.rand((1,)).tolist() == after


def test_only_the_arguments_are_kept() -> None:
    def deep(x: engine.Tensor) -> engine.Tensor:
        for _ in range(10):
            x = engine.sin(x * 1.0)
        return x

    used = []
    for call in (lambda fn, *a: fn(*a), checkpoint):
        x = leaf(np.ones(100_000))
        before = engine.memory_stats()["allocated_bytes"]
        y = call(deep, x)
        used.append(engine.memory_stats()["allocated_bytes"] - before)
        y.sum().backward()
    assert used[0] > 8_000_000 and used[1] < 1_000_000


def test_a_function_that_differs_the_second_time_is_named() -> None:
    calls = []

    def fickle(x: engine.Tensor) -> engine.Tensor:
        calls.append(1)
        return engine.exp(x) if len(calls) == 1 else engine.exp(engine.exp(x))

    with pytest.raises(engine.AutogradError, match="fickle saved 1 tensors .* and 2 when it ran"):
        checkpoint(fickle, leaf([1.0])).backward()


def test_a_checkpoint_leaves_no_cycle_and_records_nothing_under_no_grad() -> None:
    def build() -> weakref.ref:
        a = np.ones(3).view(type("A", (np.ndarray,), {}))
        alive = weakref.ref(a)
        x = engine.from_numpy(a)
        x.requires_grad = True
        checkpoint(lambda t: engine.exp(t * 2.0), x * 1.0).sum().backward()
        checkpoint(lambda t: engine.exp(t * 2.0), x * 1.0)
        return alive

    gc.disable()
    try:
        assert build()() is None
    finally:
        gc.enable()
    with engine.no_grad():
        assert not checkpoint(engine.exp, leaf([1.0])).requires_grad


def test_checkpoints_inside_checkpoints() -> None:
    x, w = inputs()

    def inner(t: engine.Tensor) -> engine.Tensor:
        return engine.sin(t @ w)

    def outer(t: engine.Tensor) -> engine.Tensor:
        return engine.exp(checkpoint(inner, engine.cos(t)))

    checkpoint(outer, x * 1.0).sum().backward()
    expected = engine.grad(engine.exp(inner(engine.cos(x))).sum(), [x, w])
    np.testing.assert_allclose(x.grad.numpy(), expected[0].numpy(), rtol=1e-13)
    np.testing.assert_allclose(w.grad.numpy(), expected[1].numpy(), rtol=1e-13)


def test_saved_tensors_are_packed_and_unpacked() -> None:
    packed: list[Any] = []

    def pack(t: engine.Tensor) -> np.ndarray:
        assert not t.requires_grad and not engine.is_grad_enabled()
        packed.append(t.tolist())
        return t.numpy().copy()

    x = leaf([1.0, 2.0])
    with saved_tensors_hooks(pack, engine.asarray):
        y = engine.exp(x * x)
    z = engine.sin(y)
    z.sum().backward()
    a = np.array([1.0, 2.0])
    np.testing.assert_allclose(x.grad.numpy(), np.cos(np.exp(a * a)) * np.exp(a * a) * 2 * a)
    assert packed == [np.exp(a * a).tolist()]  # x is a leaf and stays as it is


def test_an_unpacked_tensor_gets_the_memory_order_it_had() -> None:
    rng = np.random.default_rng(0)
    x, w = leaf(rng.standard_normal((1, 3, 5, 4))), leaf(rng.standard_normal((2, 3, 3, 3)))
    expected = engine.grad(engine.conv2d(x * 1.0, w).sum(), [x, w])
    with saved_tensors_hooks(lambda t: t.numpy().copy(order="C"), engine.asarray):
        y = engine.conv2d(x * 1.0, w)
    found = engine.grad(y.sum(), [x, w])
    for a, b in zip(expected, found, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_wrong_packers_are_named() -> None:
    x = leaf([1.0])
    with saved_tensors_hooks(lambda t: t, lambda t: "nothing"):
        y = engine.exp(x)
    with pytest.raises(TypeError, match="unpack must return an engine.Tensor, got 'nothing'"):
        y.backward()

    def broken(t: engine.Tensor) -> None:
        raise LookupError("full disk")

    with saved_tensors_hooks(broken, broken), pytest.raises(LookupError, match="full disk"):
        engine.exp(x)
    engine.exp(x).backward()


def test_saved_memory_goes_while_the_walk_goes_on() -> None:
    x = leaf(np.ones(100_000))
    y = x
    for _ in range(10):
        y = engine.sin(y * 1.0)
    held = []
    x.register_hook(lambda g: held.append(engine.memory_stats()["allocated_bytes"]))
    total = y.sum()
    del y
    before = engine.memory_stats()["allocated_bytes"]
    total.backward()
    # When the last rule has run, the ten saved operands are free.
    assert held[0] < before - 7_000_000


def test_what_no_rule_reads_is_not_kept() -> None:
    x = leaf(np.ones(100_000))
    before = engine.memory_stats()["allocated_bytes"]
    y = x
    for _ in range(10):
        y = y + 1.0
    assert engine.memory_stats()["allocated_bytes"] - before < 900_000


@pytest.mark.parametrize(
    "frozen",
    [
        lambda x: x * engine.ones(1, dtype=engine.float64),
        lambda x: x.reshape(100, 1000) @ engine.ones((1000, 1), dtype=engine.float64),
        lambda x: engine.linear(x.reshape(100, 1000), engine.ones((1, 1000), dtype=engine.float64)),
        lambda x: engine.conv2d(
            x.reshape(1, 1000, 10, 10).contiguous("channels_last"),
            engine.ones((1, 1000, 1, 1), dtype=engine.float64),
        ),
    ],
    ids=["multiply", "matmul", "linear", "conv2d"],
)
def test_what_only_a_frozen_factor_would_need_is_not_kept(frozen: Any) -> None:
    x = leaf(np.ones(100_000))
    before = engine.memory_stats()["allocated_bytes"]
    with engine.no_grad():
        spent = frozen(x)
    plain = engine.memory_stats()["allocated_bytes"] - before
    del spent
    before = engine.memory_stats()["allocated_bytes"]
    y = frozen(x * 1.0)
    kept = engine.memory_stats()["allocated_bytes"] - before
    assert kept < plain + 400_000  # the operand itself would be 800 000
    y.sum().backward()
    assert x.grad.tolist()[:2] == [1, 1]


def test_retain_graph_keeps_it() -> None:
    x = leaf(np.ones(100_000))
    y = engine.exp(x * 1.0)
    total = y.sum()
    del y
    before = engine.memory_stats()["allocated_bytes"]
    total.backward(retain_graph=True)
    after = engine.memory_stats()["allocated_bytes"]
    assert after >= before  # the gradient came, nothing went
    total.backward()
    assert engine.memory_stats()["allocated_bytes"] <= after - 800_000
