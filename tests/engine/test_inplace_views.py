"""In-place changes of views, and of tensors that have views, inside a graph."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable

import numpy as np
import pytest

import engine
from tests.gradcheck import gradcheck, gradgradcheck

Function = Callable[..., engine.Tensor]


def leaf(values: object) -> engine.Tensor:
    t = engine.asarray(values, dtype=engine.float64)
    t.requires_grad = True
    return t


def scaled_row(x: engine.Tensor, w: engine.Tensor) -> engine.Tensor:
    y = x * 1.0
    y[1].mul_(w)
    return y * y


def view_made_before(x: engine.Tensor, w: engine.Tensor) -> engine.Tensor:
    y = x * 2.0
    before = y[0:1]
    y[:, 1:].mul_(w[1:])
    return before * y


def base_changed_after_the_view(x: engine.Tensor, w: engine.Tensor) -> engine.Tensor:
    y = x * 2.0
    row = y[1]
    y *= w
    return row * w


def changed_through_two_views(x: engine.Tensor, w: engine.Tensor) -> engine.Tensor:
    y = x * 2.0
    a, b = y[0], y.T
    a.add_(w)
    b.mul_(x.T)
    a.mul_(w)
    return y + engine.stack([a, a, a])


def view_of_a_view(x: engine.Tensor, w: engine.Tensor) -> engine.Tensor:
    y = x.T * 1.0
    inner = y[1:].reshape(2, 3)[:, ::-1]
    inner.mul_(2.0)
    inner[0].copy_(w[0] * engine.ones(3, dtype=engine.float64))
    return y * inner.sum()


def filled_with_a_constant(x: engine.Tensor, w: engine.Tensor) -> engine.Tensor:
    y = x * w
    y[1].fill_(3.0)
    return y * y


def reversed_and_diagonal(x: engine.Tensor, w: engine.Tensor) -> engine.Tensor:
    y = x * 1.0
    engine.diagonal(engine.flip(y, axis=0)).mul_(w)
    return y * y


def buffer_written_by_rows(x: engine.Tensor, w: engine.Tensor) -> engine.Tensor:
    out = engine.zeros((3, 3), dtype=engine.float64)
    rows = [out[i] for i in range(3)]
    for i, row in enumerate(rows):
        row.copy_(x[i] * w)
    return out * rows[0]


def assignment_through_a_view(x: engine.Tensor, w: engine.Tensor) -> engine.Tensor:
    y = x * 1.0
    view = y[1:]
    view[0, 1:] = w[:2] * 3.0
    return y * view[0]


def broadcast_view_of_a_changed_base(x: engine.Tensor, w: engine.Tensor) -> engine.Tensor:
    y = w * 1.0
    wide = engine.broadcast_to(y, (3, 3))
    y.mul_(w)
    return wide * x


FUNCTIONS = [
    scaled_row, view_made_before, base_changed_after_the_view, changed_through_two_views,
    view_of_a_view, filled_with_a_constant, reversed_and_diagonal, buffer_written_by_rows,
    assignment_through_a_view, broadcast_view_of_a_changed_base,
]  # fmt: skip


@pytest.mark.parametrize("fn", FUNCTIONS, ids=lambda fn: fn.__name__)
def test_gradients_match_finite_differences(fn: Function) -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal((3, 3)), rng.standard_normal(3)]
    gradcheck(fn, arrays)
    gradgradcheck(fn, arrays)


def test_a_filled_tensor_forgets_what_it_came_from() -> None:
    for change in (lambda y: y.fill_(3.0), lambda y: y.zero_(), lambda y: engine.uniform_(y)):
        x = leaf([1.0, 2.0])
        y = x * 2.0
        change(y)
        (y * x).sum().backward()
        assert x.grad.tolist() == y.tolist()


def test_a_copied_layout_keeps_its_gradients() -> None:
    pictures = leaf(np.random.default_rng(0).standard_normal((1, 2, 2, 3)))
    y = (pictures * 1.0).contiguous("channels_last")
    y[:, 0].mul_(3.0)
    y.sum().backward()
    assert pictures.grad[0, :, 0, 0].tolist() == [3, 1]


def test_what_would_be_wrong_is_refused() -> None:
    x = leaf([1.0, 2.0])
    with pytest.raises(engine.AutogradError, match="add: .*view of a leaf"):
        x[0:1].add_(1)
    with engine.no_grad():
        y = x * 1.0
        hidden = (leaf([1.0]) * 1.0)[0:1]
    with pytest.raises(engine.AutogradError, match="nothing is recorded"):
        hidden.mul_(x[0:1])
    with pytest.raises(ValueError, match=r"share memory"):
        engine.broadcast_to(y, (3, 2)).add_(1.0)


def test_a_saved_view_that_was_changed_is_noticed() -> None:
    x = leaf([1.0, 2.0])
    y = x * 1.0
    z = engine.exp(y[0:1])
    w = z * z
    z[0:1].mul_(2.0)
    with pytest.raises(engine.AutogradError, match="in place"):
        w.backward()


def test_views_close_no_cycle() -> None:
    def build() -> weakref.ref:
        a = np.ones(3).view(type("A", (np.ndarray,), {}))
        alive = weakref.ref(a)
        x = engine.from_numpy(a)
        x.requires_grad = True
        y = x * 2.0
        view = y[0:2]
        view.mul_(x[1:])
        y.mul_(2.0)
        (view.sum() + y[1:].mul_(3.0).sum()).backward()
        return alive

    gc.disable()
    try:
        assert build()() is None
    finally:
        gc.enable()
