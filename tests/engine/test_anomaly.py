"""Anomaly mode, and errors in backward: both name the line of the user's program."""

from __future__ import annotations

import inspect
import re
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import engine
from engine.autograd import Function, detect_anomaly


def leaf(values: object) -> engine.Tensor:
    t = engine.asarray(values, dtype=engine.float64)
    t.requires_grad = True
    return t


def here() -> int:
    """The line of the caller."""
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    return frame.f_back.f_lineno


def test_the_first_bad_gradient_is_named_with_its_line() -> None:
    x = leaf([[1.0, 0.0], [4.0, 0.0]])
    y, line = engine.sqrt(x), here()
    z = (y * 3.0).sum()
    with detect_anomaly(), pytest.raises(engine.AutogradError) as caught:
        z.backward()
    text = str(caught.value)
    assert re.search(rf"'sqrt' \(.*test_anomaly.py:{line}\)", text)
    assert "2 of 4 elements are not finite, the first, inf, at (0, 1)" in text
    assert x.grad is None


def test_nothing_is_said_outside() -> None:
    x = leaf([0.0])
    with detect_anomaly():
        engine.exp(x).backward()
    engine.sqrt(x).backward()
    assert x.grad.tolist() == [np.inf]


@detect_anomaly(check_forward=True)
def decorated(x: engine.Tensor) -> engine.Tensor:
    return engine.log(x)


def test_results_are_checked_when_asked() -> None:
    x = leaf([-1.0])
    with detect_anomaly():
        engine.log(x)
    with pytest.raises(
        engine.AutogradError, match=r"'log' \(.*test_anomaly.py:\d+\).*nan, at \(0,\)"
    ):
        decorated(x)
    engine.log(x)


def test_the_gradient_a_walk_starts_from_is_checked() -> None:
    y = leaf([1.0]) * 2.0
    with detect_anomaly(), pytest.raises(engine.AutogradError, match="starts from.*nan"):
        y.backward(engine.asarray([np.nan], dtype=engine.float64))


def test_custom_rules_are_checked_both_ways() -> None:
    class Broken(Function):
        @staticmethod
        def forward(ctx: Any, x: engine.Tensor) -> engine.Tensor:
            return x / (x - x)

        @staticmethod
        def backward(ctx: Any, grad: engine.Tensor) -> engine.Tensor:
            return grad / (grad - grad)

    with detect_anomaly(check_forward=True), pytest.raises(engine.AutogradError, match="'Broken'"):
        Broken.apply(leaf([1.0]))
    y = Broken.apply(leaf([1.0]))
    with detect_anomaly(), pytest.raises(engine.AutogradError, match="backward of 'Broken'"):
        y.backward()


def test_the_mode_is_per_thread_and_nests() -> None:
    seen = []

    def work() -> None:
        x = leaf([0.0])
        engine.sqrt(x).backward()
        seen.append(x.grad.item())

    with detect_anomaly(check_forward=True):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        with detect_anomaly():
            pass
        with pytest.raises(engine.AutogradError):
            engine.log(leaf([-1.0]))
    assert seen == [np.inf]


# Each kind of node, made to fail in its backward rule. All name the forward line.
def changed_operand(x: engine.Tensor) -> engine.Tensor:
    y = engine.exp(x)
    z = y * y
    y.detach().fill_(0)
    return z


def changed_in_a_layer(x: engine.Tensor) -> engine.Tensor:
    w = engine.ones((2, 2), dtype=engine.float64)
    z = engine.linear(x, w)
    w.fill_(2)
    x.detach().fill_(2)
    return z


def wrong_custom_rule(x: engine.Tensor) -> engine.Tensor:
    class Wrong(Function):
        @staticmethod
        def forward(ctx: Any, x: engine.Tensor) -> engine.Tensor:
            return x * 1.0

        @staticmethod
        def backward(ctx: Any, grad: engine.Tensor) -> engine.Tensor:
            return grad @ engine.ones((7, 7), dtype=engine.float64)  # a native error, inside

    return Wrong.apply(x)


def wrong_hook(x: engine.Tensor) -> engine.Tensor:
    y = engine.tanh(x)
    y.register_hook(lambda g: g.reshape(3))
    return y


def unpacked_wrongly(x: engine.Tensor) -> engine.Tensor:
    with engine.autograd.saved_tensors_hooks(lambda t: t, lambda t: t.flatten()):
        return engine.sin(x * 1.0)


@pytest.mark.parametrize(
    "fn",
    [changed_operand, changed_in_a_layer, wrong_custom_rule, wrong_hook, unpacked_wrongly],
    ids=lambda fn: fn.__name__,
)
def test_errors_in_any_rule_name_the_forward_line(fn: Callable[..., engine.Tensor]) -> None:
    with pytest.raises((engine.AutogradError, ValueError)) as caught:
        fn(leaf([[1.0, 2.0]])).sum().backward()
    text = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
    lines, first = inspect.getsourcelines(fn)
    found = re.search(r"test_anomaly.py:(\d+)\)", text)
    assert found is not None, text
    assert first <= int(found[1]) < first + len(lines)
