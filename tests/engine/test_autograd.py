"""The tape: accumulation, graph lifetime, in-place changes, very long graphs, second gradients."""

from __future__ import annotations

import gc
import threading
import weakref

import numpy as np
import pytest

import engine
from engine.nn import functional as F
from tests.gradcheck import gradcheck


def leaf(values: object, dtype: engine.dtype = engine.float32) -> engine.Tensor:
    t = engine.asarray(values, dtype=dtype)
    t.requires_grad = True
    return t


def test_gradients_accumulate_until_they_are_cleared() -> None:
    x = leaf([1.0, 2.0])
    (x * x).sum().backward()
    (x * x).sum().backward()
    assert x.grad.tolist() == [4, 8]
    x.grad = None
    (x * 3).sum().backward()
    assert x.grad.tolist() == [3, 3]


def test_one_tensor_used_many_times() -> None:
    x = leaf([2.0])
    y = x * x
    (y * y + y + x).backward()
    assert x.grad.tolist() == [4 * 8 + 4 + 1]


def test_dynamic_graphs_follow_python() -> None:
    x = leaf([2.0])
    y = x
    while y.detach().item() < 100:
        y = y * x
    y.backward()
    assert x.grad.item() == 7 * 2**6


def test_nothing_is_recorded_under_no_grad() -> None:
    x = leaf([1.0])
    with engine.no_grad():
        y = x * 2
        with engine.enable_grad():
            z = x * 2
        assert not engine.is_grad_enabled()
    assert not y.requires_grad and z.requires_grad and engine.is_grad_enabled()

    @engine.no_grad()
    def double(t: engine.Tensor) -> engine.Tensor:
        return t * 2

    assert not double(x).requires_grad
    engine.set_grad_enabled(False)
    assert not (x * 2).requires_grad
    engine.set_grad_enabled(True)


def test_grad_mode_is_per_thread_and_survives_exceptions() -> None:
    seen = []
    with pytest.raises(RuntimeError), engine.no_grad():
        thread = threading.Thread(target=lambda: seen.append(engine.is_grad_enabled()))
        thread.start()
        thread.join()
        raise RuntimeError
    assert seen == [True] and engine.is_grad_enabled()


def test_detach_cuts_the_graph_and_shares_memory() -> None:
    x = leaf([1.0, 2.0])
    y = (x * 2).detach()
    assert not y.requires_grad
    assert x.detach().data_ptr() == x.data_ptr()


def test_only_floats_have_gradients() -> None:
    with pytest.raises(TypeError, match="int64"):
        engine.arange(3).requires_grad = True


def test_backward_needs_a_single_element_or_a_gradient() -> None:
    x = leaf([1.0, 2.0])
    with pytest.raises(engine.AutogradError, match=r"\(2,\)"):
        (x * 2).backward()
    (x * 2).backward(engine.asarray([1.0, 10.0]))
    assert x.grad.tolist() == [2, 20]
    with pytest.raises(engine.AutogradError, match="does not require"):
        engine.ones(1).backward()


def test_a_freed_graph_says_how_to_keep_it() -> None:
    x = leaf([1.0])
    y = engine.exp(x)
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.item() == pytest.approx(2 * np.e)
    where = r"'exp' \(.*test_autograd.py:\d+\).*retain_graph"
    with pytest.raises(engine.AutogradError, match=where):
        y.backward()


def test_e07_a_changed_result_is_noticed_and_named() -> None:
    x = leaf([0.0])
    y = engine.exp(x)
    y *= 2
    with pytest.raises(engine.AutogradError, match=r"'exp' \(.*test_autograd.py:\d+\).*in place"):
        y.backward()


def test_e07_also_through_a_view_or_a_detached_alias() -> None:
    for change in (lambda y: y.detach().fill_(3), lambda y: y.detach()[0:1].add_(1)):
        x = leaf([0.0, 1.0])
        y = engine.exp(x)
        change(y)
        with pytest.raises(engine.AutogradError, match="in place"):
            y.sum().backward()


def test_e07_a_changed_matmul_input_is_noticed() -> None:
    a, b = leaf(np.eye(2, dtype=np.float32)), engine.ones((2, 2))
    y = a @ b
    b.fill_(5)
    with pytest.raises(engine.AutogradError, match="matmul"):
        y.sum().backward()


def test_in_place_changes_that_harm_nothing_are_differentiated() -> None:
    x = leaf([1.0, 2.0])
    y = x * 1
    y += x
    y *= 3
    y -= engine.asarray([1.0, 1.0])
    y.sum().backward()
    assert x.grad.tolist() == [6, 6]
    w = leaf([5.0, 7.0])
    z = x * 1
    z *= w
    z.sum().backward()
    assert w.grad.tolist() == [1, 2] and x.grad.tolist() == [11, 13]


def test_leaves_are_not_changed_in_place() -> None:
    x = leaf([1.0, 2.0])
    with pytest.raises(engine.AutogradError, match="leaf"):
        x += 1
    with engine.no_grad():
        x += 1
    assert x.tolist() == [2, 3] and x.is_leaf
    with pytest.raises(engine.AutogradError, match="view of a leaf"):
        x[0:1].add_(1)


def test_assignment_is_differentiable() -> None:
    x, v = leaf([1.0, 2.0, 3.0]), leaf([10.0])
    y = x * 1
    y[1:2] = v * 2
    (y * engine.asarray([1.0, 10.0, 100.0])).sum().backward()
    assert x.grad.tolist() == [1, 0, 100] and v.grad.tolist() == [20]


def test_copy_in_place_is_differentiable() -> None:
    v = leaf([3.0])
    buffer = engine.zeros((2, 1))
    buffer.copy_(v)
    (buffer * engine.asarray([[1.0], [4.0]])).sum().backward()
    assert v.grad.tolist() == [5]


def chain(length: int) -> tuple[engine.Tensor, engine.Tensor]:
    x = leaf([1.0])
    y = x
    for _ in range(length):
        y = y + 0.0
    return x, y


def test_e08_very_long_graphs_are_walked_and_freed() -> None:
    x, y = chain(300_000)
    y.backward()
    assert x.grad.tolist() == [1]
    x, y = chain(300_000)
    del y
    gc.collect()
    results = []

    def work() -> None:
        x, y = chain(300_000)
        y.backward()
        results.append(x.grad.item())

    threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(0)
    assert results == [1]


def test_e10_broadcast_and_repeated_operands() -> None:
    x = leaf([1.0, 2.0, 3.0, 4.0])
    (x[0:1] * x).sum().backward()
    assert x.grad.tolist() == [11, 1, 1, 1]
    a, b = leaf(np.ones((2, 1, 4, 64), np.float32)), leaf(np.ones((2, 1, 4, 1), np.float32))
    (a * b).sum().backward()
    assert a.grad.shape == a.shape and b.grad.shape == b.shape
    assert b.grad.tolist() == [[[[64.0]] * 4]] * 2
    x = leaf([1.0, 2.0])
    x[[0, 0, 1]].sum().backward()
    assert x.grad.tolist() == [2, 1]
    w = leaf(np.ones((3, 2), np.float32))
    engine.embedding(w, engine.asarray([[0, 2], [2, 2]])).sum().backward()
    assert w.grad.tolist() == [[1, 1], [0, 0], [3, 3]]


def test_graphs_hold_no_cycles() -> None:
    class Witness:
        pass

    def build() -> weakref.ref:
        a = np.ones(3, np.float32).view(type("A", (np.ndarray,), {}))
        alive = weakref.ref(a)
        x = engine.from_numpy(a)
        x.requires_grad = True
        y = engine.exp(x * 2)
        y += y.detach()
        with engine.no_grad():
            x.add_(1)
        buffer = engine.zeros(3)
        z = buffer * x
        buffer.add_(z)
        return alive

    gc.disable()
    try:
        assert build()() is None
    finally:
        gc.enable()


def test_a_leaf_may_go_before_its_graph() -> None:
    x, w = leaf([1.0]), leaf([2.0])
    y = x * w
    del x
    gc.collect()
    y.backward()
    assert w.grad.item() == 1


def test_gradient_belongs_to_its_leaf_alone() -> None:
    x, w = leaf([1.0]), leaf([1.0])
    (x + w).backward()
    x.grad += 1
    assert w.grad.tolist() == [1]


def test_grad_returns_gradients_and_leaves_grad_alone() -> None:
    x, w = leaf([3.0]), leaf([2.0])
    y = x * x
    z = y * w
    gy, gx = engine.grad([z], [y, x])
    assert gy.item() == 2 and gx.item() == 12
    assert x.grad is None and w.grad is None
    assert engine.grad(x * 2, w, allow_unused=True) == (None,)
    with pytest.raises(engine.AutogradError, match=r"input 0 \(float32 \(1,\)\).*allow_unused"):
        engine.grad([x * 2], [w])
    with pytest.raises(engine.AutogradError, match="input 0"):
        engine.grad([x * 1], [engine.ones(1)])


def test_gradients_of_gradients() -> None:
    x = leaf([0.5, 1.5], engine.float64)
    y = (engine.exp(x) * engine.sin(x)).sum()
    (g,) = engine.grad([y], [x], create_graph=True)
    g.sum().backward()
    np.testing.assert_allclose(
        x.grad.numpy(), 2 * np.exp([0.5, 1.5]) * np.cos([0.5, 1.5]), rtol=1e-12
    )


@pytest.mark.parametrize("name", ["tanh", "sigmoid", "sqrt", "log", "square", "gelu", "silu"])
def test_second_derivatives_match_finite_differences(name: str) -> None:
    fn = getattr(engine, name)

    def first_derivative(x: engine.Tensor) -> engine.Tensor:
        with engine.enable_grad():
            x = x if x.requires_grad else leaf(x, engine.float64)
            (g,) = engine.grad([fn(x).sum()], [x], create_graph=True)
        return g

    gradcheck(first_derivative, [np.array([0.3, 0.9, 1.7])])


def test_matmul_and_reductions_twice() -> None:
    def first(a: engine.Tensor, b: engine.Tensor) -> engine.Tensor:
        with engine.enable_grad():
            a = a if a.requires_grad else leaf(a, engine.float64)
            (g,) = engine.grad([((a @ b) ** 2).mean(axis=0).sum()], [a], create_graph=True)
        return g

    rng = np.random.default_rng(0)
    gradcheck(first, [rng.standard_normal((3, 2)), rng.standard_normal((2, 4))])


def test_errors_leave_the_engine_usable() -> None:
    x = leaf([1.0, 2.0])
    y = engine.exp(x)
    y.detach().fill_(0)
    with pytest.raises(engine.AutogradError):
        y.sum().backward()
    x.grad = None
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_backward_in_several_threads_at_once() -> None:
    w = engine.asarray(np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32))
    results: list[bytes] = []

    def work() -> None:
        x = leaf(np.ones((64, 64), np.float32))
        for _ in range(20):
            x.grad = None
            engine.tanh(x @ w).sum().backward()
        results.append(x.grad.numpy().tobytes())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(results) == 4 and len(set(results)) == 1


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("product", [engine.matmul, lambda x, w: F.linear(x, w.T)])
def test_gradients_of_products_have_the_memory_order_of_the_factor(product, turned):
    # Else an optimizer has to bring each into the order of its parameter first.
    rng = np.random.default_rng(0)
    x, w = (engine.asarray(rng.standard_normal(s)) for s in ((5, 3), (3, 4)))
    if turned:
        w = engine.asarray(np.array(w).T.copy()).T
    w.requires_grad = True
    (product(x, w) * engine.arange(20, dtype=engine.float64).reshape((5, 4))).sum().backward()
    assert w.grad.strides() == w.strides()
    expected = np.array(x).T @ np.arange(20.0).reshape(5, 4)
    np.testing.assert_allclose(np.array(w.grad), expected, rtol=1e-12)
