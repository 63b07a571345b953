"""Hooks on tensors, nodes and modules; what a node shows of itself."""

from __future__ import annotations

import gc
import re
import traceback
import weakref
from typing import Any

import numpy as np
import pytest

import engine
from engine import nn


def leaf(values: object) -> engine.Tensor:
    t = engine.asarray(values, dtype=engine.float64)
    t.requires_grad = True
    return t


def test_a_hook_sees_the_whole_gradient_of_its_tensor() -> None:
    x = leaf([1.0, 2.0])
    y = x * 2.0
    seen: list[Any] = []
    y.register_hook(lambda g: seen.append(g.tolist()))
    (y * 3.0 + y).sum().backward()
    assert seen == [[4, 4]] and x.grad.tolist() == [8, 8]


def test_a_hook_may_replace_the_gradient() -> None:
    x = leaf([1.0, 2.0])
    y = x * 2.0
    y.register_hook(lambda g: g * 10.0)
    y.register_hook(lambda g: g + 1.0)
    x.register_hook(lambda g: -g)
    y.sum().backward()
    assert x.grad.tolist() == [-22, -22]


def test_hooks_are_removed_by_their_handles() -> None:
    x = leaf([1.0])
    calls: list[int] = []
    first = x.register_hook(lambda g: calls.append(1))
    x.register_hook(lambda g: calls.append(2))
    with x.register_hook(lambda g: calls.append(3)):
        (x * 1.0).backward()
    first.remove()
    first.remove()
    (x * 1.0).backward()
    assert calls == [1, 2, 3, 2]


def test_a_hook_may_remove_itself() -> None:
    x = leaf([1.0])
    calls: list[int] = []

    def once(g: engine.Tensor) -> None:
        calls.append(1)
        handle.remove()

    handle = x.register_hook(once)
    for _ in range(2):
        (x * 1.0).backward()
    assert calls == [1]


def test_hooks_run_for_grad_too_but_not_where_nothing_flows() -> None:
    x, w = leaf([1.0]), leaf([2.0])
    y = x * w
    w.register_hook(lambda g: pytest.fail("no gradient of w was asked for"))
    x.register_hook(lambda g: g * 5.0)
    assert engine.grad(y, x)[0].tolist() == [10]


def test_hooks_are_recorded_under_create_graph() -> None:
    x = leaf([3.0])
    y = x * x
    y.register_hook(lambda g: g * x.detach() * 2.0)
    (g,) = engine.grad(y, x, create_graph=True)  # 2x * 6
    g.backward()
    assert x.grad.tolist() == [12]


def test_wrong_hooks_are_named() -> None:
    x = leaf([1.0, 2.0])
    y = engine.exp(x)
    y.register_hook(lambda g: g.sum())
    with pytest.raises(
        engine.AutogradError, match=r"hook of 'exp' \(.*test_hooks.py:\d+\).*\(2,\)"
    ):
        y.sum().backward()
    y = engine.exp(x)
    y.register_hook(lambda g: 3)
    with pytest.raises(TypeError, match=r"'exp' \(.*test_hooks.py:\d+\).*a hook returned 3"):
        y.sum().backward()
    with pytest.raises(engine.AutogradError, match="does not require gradients"):
        engine.ones(2).register_hook(print)


def test_an_error_in_a_hook_keeps_its_traceback_and_gains_the_line() -> None:
    def broken(g: engine.Tensor) -> None:
        raise LookupError("lost")

    y = engine.exp(leaf([1.0]))
    y.register_hook(broken)
    with pytest.raises(LookupError, match="lost") as caught:
        y.backward()
    text = "".join(traceback.format_exception(caught.value))
    assert re.search(r"in broken\n", text) and re.search(r"'exp' \(.*test_hooks.py:\d+\)", text)


def test_post_accumulate_hooks_get_the_leaf_with_its_gradient() -> None:
    x = leaf([1.0])
    seen: list[Any] = []

    def step(p: engine.Tensor) -> None:
        seen.append((p is x, p.grad.tolist()))
        p.grad = None

    handle = x.register_post_accumulate_grad_hook(step)
    (x * 3.0).backward()
    assert x.grad is None
    handle.remove()
    (x * 3.0).backward()
    assert seen == [(True, [3])] and x.grad.tolist() == [3]
    with pytest.raises(engine.AutogradError, match="expected a leaf.*'multiply'"):
        (x * 1.0).register_post_accumulate_grad_hook(step)


def test_retained_gradients_of_results() -> None:
    x = leaf([2.0])
    y = x * x
    y.retain_grad()
    y.retain_grad()
    (y * 3.0).backward(retain_graph=True)
    assert y.grad.tolist() == [3] and x.grad.tolist() == [12]
    del y
    gc.collect()
    with pytest.raises(engine.AutogradError, match="retain_grad"):
        engine.ones(1).retain_grad()


def test_a_node_shows_the_graph() -> None:
    x, w = leaf([1.0]), leaf([2.0])
    y = engine.exp(x * w)
    node = y.grad_fn
    assert isinstance(node, engine.autograd.Node) and node.name() == "exp"
    assert re.fullmatch(r".*test_hooks.py:\d+", node.location)
    assert re.fullmatch(r"<exp at .*test_hooks.py:\d+>", repr(node))
    ((multiply, nr),) = node.next_functions
    assert multiply.name() == "multiply" and nr == 0 and multiply is (node.next_functions[0][0])
    assert [n.name() for n, _ in multiply.next_functions] == ["accumulate_grad"] * 2
    assert (x * 2.0).grad_fn.next_functions[1][0] is None and x.grad_fn is None


def test_node_hooks_see_and_replace_gradients() -> None:
    x, w = leaf([3.0]), leaf([2.0])
    y = x * w
    seen: list[Any] = []

    def before(grads: tuple[engine.Tensor, ...]) -> tuple[engine.Tensor, ...]:
        seen.append([g.tolist() for g in grads])
        return (grads[0] * 10.0,)

    def after(results: Any, grads: Any) -> Any:
        seen.append(([g.tolist() for g in results], [g.tolist() for g in grads]))
        return results[0], results[1] + 1.0

    y.grad_fn.register_prehook(before)
    handle = y.grad_fn.register_hook(after)
    y.backward(retain_graph=True)
    assert seen == [[[1]], ([[20], [30]], [[10]])]
    assert x.grad.tolist() == [20] and w.grad.tolist() == [31]
    handle.remove()
    y.backward()
    assert w.grad.tolist() == [61]


def test_hooks_go_with_their_graph() -> None:
    class Witness:
        pass

    witness = Witness()
    alive = weakref.ref(witness)
    y = leaf([1.0]) * 2.0
    handle = y.register_hook(lambda g, keep=witness: None)
    del witness
    assert alive() is not None
    del y
    gc.collect()
    assert alive() is None
    handle.remove()


# ---- modules -----------------------------------------------------------------------------------


def layer() -> nn.Linear:
    made = nn.Linear(2, 1)
    with engine.no_grad():
        made.weight.copy_(engine.asarray([[2.0, 3.0]]))
        made.bias.zero_()
    return made


def test_forward_hooks_see_and_replace() -> None:
    model = layer()
    seen: list[Any] = []
    before = model.register_forward_pre_hook(lambda m, args: args[0] * 10.0)

    def after(m: nn.Module, args: Any, output: engine.Tensor) -> engine.Tensor:
        seen.append((m is model, args[0].tolist(), output.tolist()))
        return output + 1.0

    model.register_forward_hook(after)
    x = engine.asarray([[1.0, 1.0]])
    assert model(x).tolist() == [[51]]
    before.remove()
    assert model(x).tolist() == [[6]]
    assert seen == [(True, [[10, 10]], [[50]]), (True, [[1, 1]], [[5]])]


def test_full_backward_hooks_see_and_replace() -> None:
    model = layer()
    seen: list[Any] = []

    def hook(m: nn.Module, grad_input: Any, grad_output: Any) -> Any:
        seen.append((grad_input[0].tolist(), grad_output[0].tolist()))
        return (grad_input[0] * 10.0,)

    handle = model.register_full_backward_hook(hook)
    x = engine.asarray([[1.0, 1.0]])
    x.requires_grad = True
    (model(x) * 2.0).sum().backward()
    assert seen == [([[4, 6]], [[2]])] and x.grad.tolist() == [[40, 60]]
    assert model.weight.grad.tolist() == [[2, 2]]
    handle.remove()
    x.grad = None
    model(x).sum().backward()
    assert len(seen) == 1 and x.grad.tolist() == [[2, 3]]


def test_full_backward_hooks_without_an_input_that_wants_gradients() -> None:
    model = layer()
    seen: list[Any] = []
    model.register_full_backward_hook(lambda m, gi, go: seen.append((gi, go[0].tolist())))
    model(engine.asarray([[1.0, 1.0]])).sum().backward()
    assert seen == [((None,), [[1]])]
    with engine.no_grad():
        model(engine.asarray([[1.0, 1.0]]))
    assert len(seen) == 1


def test_a_full_backward_hook_with_the_wrong_number_is_named() -> None:
    model = layer()
    model.register_full_backward_hook(lambda m, gi, go: (None, None))
    x = engine.asarray([[1.0, 1.0]])
    x.requires_grad = True
    with pytest.raises(ValueError, match="Linear: a full backward hook returned 2.*expected 1"):
        model(x).sum().backward()


def test_hooks_leave_the_state_dict_alone() -> None:
    model = layer()
    keys = list(model.state_dict())
    model.register_forward_hook(lambda m, args, output: None)
    assert list(model.state_dict()) == keys
    np.testing.assert_array_equal(model(engine.ones((1, 2))).detach().numpy(), [[5]])


def test_leaves_get_their_gradients_while_the_walk_goes_on() -> None:
    # What sends gradients to other processes counts on it.
    weights = [engine.ones(2) for _ in range(3)]
    seen: list[str] = []
    y = engine.ones(2)
    for i, w in enumerate(weights):
        w.requires_grad = True
        w.register_post_accumulate_grad_hook(lambda _, i=i: seen.append(f"leaf {i}"))
        y = y * w
        y.register_hook(lambda _, i=i: seen.append(f"product {i}"))
    y.sum().backward()
    assert seen == ["product 2", "leaf 2", "product 1", "leaf 1", "product 0", "leaf 0"]
