"""The check of gradients finds what is wrong, and is silent where nothing is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import engine
from engine.autograd import Function, gradcheck, gradgradcheck, once_differentiable

X = np.array([[0.3, -1.2, 2.0], [0.1, 0.7, -0.4]])


class Scaled(Function):
    """x * y, with gradients that are off by a factor."""

    factors = (1.0, 1.0)

    @staticmethod
    def forward(ctx: Any, x: engine.Tensor, y: engine.Tensor) -> engine.Tensor:
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx: Any, grad: engine.Tensor) -> tuple[engine.Tensor, engine.Tensor]:
        x, y = ctx.saved_tensors
        of_x, of_y = Scaled.factors
        return grad * y * of_x, grad * x * of_y


@pytest.mark.parametrize("wrong", [0, 1])
def test_a_wrong_gradient_is_told_by_its_input(monkeypatch: Any, wrong: int) -> None:
    gradcheck(Scaled.apply, [X, X + 1])
    factors = [1.0, 1.0]
    factors[wrong] = 1.001
    monkeypatch.setattr(Scaled, "factors", tuple(factors))
    with pytest.raises(AssertionError, match=f"gradient of input {wrong}"):
        gradcheck(Scaled.apply, [X, X + 1])


def test_a_wrong_second_gradient_is_found() -> None:
    class Cube(Function):
        @staticmethod
        def forward(ctx: Any, x: engine.Tensor) -> engine.Tensor:
            ctx.x = x.detach()  # a constant: its own gradient is lost
            return x * x * x

        @staticmethod
        def backward(ctx: Any, grad: engine.Tensor) -> engine.Tensor:
            return grad * 3.0 * ctx.x * ctx.x

    gradcheck(Cube.apply, [X])
    with pytest.raises(AssertionError, match="gradient of input 0"):
        gradgradcheck(Cube.apply, [X])
    gradgradcheck(lambda x: x * x * x, [X])


def test_a_backward_that_computes_outside_is_refused_a_second_gradient() -> None:
    class Exp(Function):
        @staticmethod
        def forward(ctx: Any, x: engine.Tensor) -> engine.Tensor:
            ctx.y = np.exp(x.detach().numpy())
            return engine.asarray(ctx.y)

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, grad: engine.Tensor) -> engine.Tensor:
            return engine.asarray(grad.numpy() * ctx.y)

    gradcheck(Exp.apply, [X])
    with pytest.raises(engine.AutogradError, match="declared differentiable once"):
        gradgradcheck(Exp.apply, [X])


def test_inputs_may_be_tensors_of_any_kind_and_are_not_changed() -> None:
    x = engine.asarray(X.astype(np.float32))
    x.requires_grad = True
    before = x.detach().numpy().copy()
    gradcheck(lambda t: (t.sum(), engine.sin(t).T, engine.argmax(t)), [x])
    assert x.grad is None
    np.testing.assert_array_equal(x.detach().numpy(), before)
