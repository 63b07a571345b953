"""Custom operations in plain Python: engine.autograd.Function."""

from __future__ import annotations

import gc
import traceback
import weakref
from typing import Any

import numpy as np
import pytest

import engine
from engine.autograd import Function, once_differentiable
from tests.gradcheck import gradcheck


def leaf(values: object, dtype: engine.dtype = engine.float64) -> engine.Tensor:
    t = engine.asarray(values, dtype=dtype)
    t.requires_grad = True
    return t


class Scaled(Function):
    """scale * x * y, with its rule in engine operations."""

    @staticmethod
    def forward(ctx: Any, x: engine.Tensor, y: engine.Tensor, scale: float) -> engine.Tensor:
        ctx.save_for_backward(x, y)
        ctx.scale = scale
        return scale * x * y

    @staticmethod
    def backward(ctx: Any, grad: engine.Tensor) -> tuple[Any, ...]:
        x, y = ctx.saved_tensors
        return ctx.scale * grad * y, ctx.scale * grad * x, None


class Exp(Function):
    """exp(x), which saves its result."""

    @staticmethod
    def forward(ctx: Any, x: engine.Tensor) -> engine.Tensor:
        y = engine.exp(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, grad: engine.Tensor) -> engine.Tensor:
        (y,) = ctx.saved_tensors
        return grad * y


def returning(*gradients: object) -> type[Function]:
    class Wrong(Function):
        @staticmethod
        def forward(ctx: Any, x: engine.Tensor, k: object) -> engine.Tensor:
            return x * 2.0

        @staticmethod
        def backward(ctx: Any, grad: engine.Tensor) -> Any:
            return gradients if len(gradients) > 1 else gradients[0]

    return Wrong


def test_gradients_of_several_inputs() -> None:
    gradcheck(lambda x, y: Scaled.apply(x, y, 3.0), [np.array([1.0, -2.0]), np.array([0.5, 4.0])])


def test_gradients_of_gradients_through_inputs_and_results() -> None:
    x = leaf([0.5, 1.5])
    y = Exp.apply(Scaled.apply(x, x, 1.0)).sum()  # exp(x^2)
    (g,) = engine.grad([y], [x], create_graph=True)
    g.sum().backward()
    a = np.array([0.5, 1.5])
    np.testing.assert_allclose(x.grad.numpy(), (2 + 4 * a**2) * np.exp(a**2), rtol=1e-12)


def test_forward_is_not_recorded_and_backward_only_on_demand() -> None:
    seen = []

    class Spy(Function):
        @staticmethod
        def forward(ctx: Any, x: engine.Tensor) -> engine.Tensor:
            seen.append(engine.is_grad_enabled())
            return x * 1.0

        @staticmethod
        def backward(ctx: Any, grad: engine.Tensor) -> engine.Tensor:
            seen.append(engine.is_grad_enabled())
            return grad

    x = leaf([1.0])
    Spy.apply(x).backward()
    engine.grad([Spy.apply(x)], [x], create_graph=True)
    assert seen == [False, False, False, True]
    assert engine.is_grad_enabled()


def test_needs_input_grad_tells_what_is_wanted() -> None:
    seen = []

    class Spy(Function):
        @staticmethod
        def forward(ctx: Any, x: engine.Tensor, y: engine.Tensor, z: int) -> engine.Tensor:
            seen.append(ctx.needs_input_grad)
            return x + y

        @staticmethod
        def backward(ctx: Any, grad: engine.Tensor) -> tuple[Any, ...]:
            seen.append(ctx.needs_input_grad)
            return grad, grad, None

    y = Spy.apply(leaf([1.0]), engine.ones(1, dtype=engine.float64), 3)
    y.backward()
    assert seen == [(True, False, False)] * 2
    with engine.no_grad():
        assert not Spy.apply(leaf([1.0]), leaf([1.0]), 3).requires_grad
    assert seen[2] == (False, False, False)


class Divided(Function):
    """Quotient, remainder as integers, and a word."""

    materialize = True

    @staticmethod
    def forward(ctx: Any, x: engine.Tensor, n: float) -> tuple[Any, ...]:
        ctx.n = n
        ctx.set_materialize_grads(Divided.materialize)
        floor = engine.floor(x)
        ctx.mark_non_differentiable(floor)
        return x / n, x * n, floor, x.astype(engine.int64), "word"

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
        total = None
        for g, factor in ((grads[0], 1 / ctx.n), (grads[1], ctx.n)):
            if g is not None:
                total = g * factor if total is None else total + g * factor
        return total, None


def test_several_outputs_of_any_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(Divided, "backward", staticmethod(_seen_by(seen, Divided.backward)))
    x = leaf([3.0])
    quotient, product, floor, whole, word = Divided.apply(x, 2.0)
    assert quotient.requires_grad and product.requires_grad and word == "word"
    assert not floor.requires_grad and not whole.requires_grad
    product.backward()
    assert x.grad.tolist() == [2.0]
    assert seen == [[[0.0], [1.0], [0.0], [0], None]]
    seen.clear()
    monkeypatch.setattr(Divided, "materialize", False)
    Divided.apply(x, 2.0)[0].backward()
    assert seen == [[[1.0], None, None, None, None]]


def _seen_by(seen: list[Any], backward: Any) -> Any:
    def wrapper(ctx: Any, *grads: Any) -> Any:
        seen.append([None if g is None else g.tolist() for g in grads])
        return backward(ctx, *grads)

    return wrapper


def test_both_outputs_add_up() -> None:
    gradcheck(lambda x: (lambda a, b: a * b)(*Divided.apply(x, 2.0)[:2]), [np.array([3.0, -1.0])])


def test_an_input_may_be_returned_as_it_is() -> None:
    class Same(Function):
        @staticmethod
        def forward(ctx: Any, x: engine.Tensor) -> engine.Tensor:
            return x

        @staticmethod
        def backward(ctx: Any, grad: engine.Tensor) -> engine.Tensor:
            return -grad

    x = leaf([1.0])
    y = Same.apply(x)
    assert y.data_ptr() == x.data_ptr() and x.is_leaf and not y.is_leaf
    y.backward()
    assert x.grad.tolist() == [-1]


def test_a_saved_tensor_that_was_changed_is_noticed_and_named() -> None:
    x = leaf([1.0])
    y = Exp.apply(x)
    y.detach().fill_(0)
    with pytest.raises(engine.AutogradError, match=r"'Exp' \(.*test_function.py:\d+\).*in place"):
        y.backward()


def test_saved_tensors_outside_backward_and_non_tensors_are_refused() -> None:
    kept = []

    class Keeps(Exp):
        @staticmethod
        def forward(ctx: Any, x: engine.Tensor) -> engine.Tensor:
            kept.append(ctx)
            return Exp.forward(ctx, x)

    y = Keeps.apply(leaf([1.0]))
    with pytest.raises(engine.AutogradError, match=r"Keeps: ctx.saved_tensors"):
        kept[0].saved_tensors  # noqa: B018
    y.backward()

    class Numbers(Exp):
        @staticmethod
        def forward(ctx: Any, x: engine.Tensor) -> engine.Tensor:
            ctx.save_for_backward(3.0)
            return x

    with pytest.raises(TypeError, match="Numbers: ctx.save_for_backward takes tensors.*float"):
        Numbers.apply(leaf([1.0]))


def test_a_freed_graph_says_how_to_keep_it() -> None:
    y = Exp.apply(leaf([1.0]))
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(engine.AutogradError, match=r"'Exp' .*retain_graph"):
        y.backward()


WRONG = [
    ((engine.ones(2),), r"returned 1 gradients, expected 2"),
    ((engine.ones(3), None), r"gradient of float32 \(3,\) for argument 0, which is float64 \(2,\)"),
    ((1.5, None), r"returned a float as gradient of argument 0"),
    ((engine.ones(2), engine.ones(2)), r"for argument 1 of forward, which is no tensor"),
    ((engine.ones(2, dtype=engine.int64), None), r"int64 \(2,\)"),
]


@pytest.mark.parametrize("gradients, message", WRONG)
def test_wrong_gradients_are_named(gradients: tuple[Any, ...], message: str) -> None:
    y = returning(*gradients).apply(leaf([1.0, 2.0]), 1).sum()
    where = r"'Wrong' \(.*test_function.py:\d+\) .*"
    with pytest.raises(engine.AutogradError, match=where + message):
        y.backward()


def test_a_gradient_takes_the_dtype_of_its_input() -> None:
    x = leaf([1.0, 2.0])
    returning(engine.ones(2), None).apply(x, 1).sum().backward()
    assert x.grad.dtype == engine.float64


def test_wrong_uses_are_named() -> None:
    with pytest.raises(TypeError, match="Exp is not made but applied"):
        Exp()
    with pytest.raises(NotImplementedError, match="forward"):
        type("Empty", (Function,), {}).apply(leaf([1.0]))

    class Word(Function):
        @staticmethod
        def forward(ctx: Any, x: engine.Tensor) -> Any:
            return "word"

    with pytest.raises(TypeError, match="Word.forward returned a str"):
        Word.apply(leaf([1.0]))


class Broken(Function):
    @staticmethod
    def forward(ctx: Any, x: engine.Tensor) -> engine.Tensor:
        return x * 1.0

    @staticmethod
    def backward(ctx: Any, grad: engine.Tensor) -> engine.Tensor:
        raise KeyError("lost")


def test_an_error_keeps_its_traceback_and_gains_the_forward_line() -> None:
    y = Broken.apply(leaf([1.0])) * 2.0
    with pytest.raises(KeyError, match="lost") as caught:
        y.backward()
    text = "".join(traceback.format_exception(caught.value))
    assert 'raise KeyError("lost")' in text
    assert "In backward of 'Broken' (" in text and "test_function.py:" in text


def test_an_error_leaves_the_engine_usable() -> None:
    x = leaf([1.0])
    with pytest.raises(KeyError):
        Broken.apply(x).backward()
    assert engine.is_grad_enabled()
    Exp.apply(x).backward()
    assert x.grad.tolist() == [np.e]


def test_once_differentiable_refuses_the_second_time() -> None:
    class Outside(Function):
        @staticmethod
        def forward(ctx: Any, x: engine.Tensor) -> engine.Tensor:
            ctx.y = np.exp(x.detach().numpy())
            return engine.asarray(ctx.y)

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, grad: engine.Tensor) -> engine.Tensor:
            return engine.asarray(grad.numpy() * ctx.y)

    gradcheck(Outside.apply, [np.array([0.5])])
    assert once_differentiable(Exp.backward).__doc__ == Exp.backward.__doc__
    x = leaf([1.0])
    with pytest.raises(engine.AutogradError, match="Outside.backward: declared.*once"):
        engine.grad([Outside.apply(x)], [x], create_graph=True)


class KeepsItsResult(Function):
    @staticmethod
    def forward(ctx: Any, x: engine.Tensor) -> engine.Tensor:
        ctx.y = x * 2.0
        ctx.save_for_backward(x, ctx.y)
        return ctx.y

    @staticmethod
    def backward(ctx: Any, grad: engine.Tensor) -> engine.Tensor:
        return grad * 2.0


@pytest.mark.parametrize("walked", [False, True])
def test_no_cycle_keeps_a_graph_alive(walked: bool) -> None:
    def build() -> weakref.ref:
        a = np.ones(3).view(type("A", (np.ndarray,), {}))
        alive = weakref.ref(a)
        x = engine.from_numpy(a)
        x.requires_grad = True
        y = KeepsItsResult.apply(x).sum()
        if walked:
            y.backward()
        return alive

    gc.disable()
    try:
        assert build()() is None
    finally:
        gc.enable()


def test_saved_tensors_go_as_soon_as_the_rule_has_run() -> None:
    x = leaf(np.ones(100_000))
    y = KeepsItsResult.apply(Exp.apply(x)).sum()
    before = engine.memory_stats()["allocated_bytes"]
    y.backward()
    # What both nodes saved is free; the gradient of x has come.
    assert engine.memory_stats()["allocated_bytes"] <= before - 800_000


def test_long_chains_are_walked_and_freed() -> None:
    x = leaf([1.0])
    y = x
    for _ in range(20_000):
        y = KeepsSign.apply(y)
    y.backward()
    assert x.grad.tolist() == [1]
    y = x
    for _ in range(20_000):
        y = KeepsSign.apply(y)
    del y
    gc.collect()


class KeepsSign(Function):
    @staticmethod
    def forward(ctx: Any, x: engine.Tensor) -> engine.Tensor:
        ctx.save_for_backward(x)
        return x * 1.0

    @staticmethod
    def backward(ctx: Any, grad: engine.Tensor) -> engine.Tensor:
        return grad
