"""engine.nn.functional_call: a module as a function of its parameters."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine import nn
from engine.nn import functional as F
from tests.gradcheck import gradcheck


def model() -> nn.Sequential:
    engine.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    net.to(engine.float64)
    return net


X = engine.asarray(np.random.default_rng(0).standard_normal((5, 3)))
Y = engine.asarray([0, 1, 1, 0, 1])


def test_with_its_own_parameters_it_is_the_module() -> None:
    net = model()
    got = nn.functional_call(net, dict(net.named_parameters()), X)
    assert engine.array_equal(got, net(X))


def test_other_tensors_take_part_and_the_module_is_as_it_was() -> None:
    net = model()
    before, ids = net(X), [id(p) for p in net.parameters()]
    doubled = nn.functional_call(net, {"2.weight": net[2].weight * 2.0}, (X,))
    bias = net[2].bias
    np.testing.assert_allclose((doubled - bias).detach(), ((before - bias) * 2.0).detach())
    assert [id(p) for p in net.parameters()] == ids
    assert engine.array_equal(net(X), before)


def test_gradients_reach_what_the_tensors_were_made_from() -> None:
    net = model()
    names = [name for name, _ in net.named_parameters()]
    values = [p.detach().numpy() for p in net.parameters()]

    def loss(*tensors: engine.Tensor) -> engine.Tensor:
        return F.cross_entropy(
            nn.functional_call(net, dict(zip(names, tensors, strict=True)), X), Y
        )

    gradcheck(loss, values)
    _, product = engine.autograd.functional.hvp(
        loss, tuple(map(engine.asarray, values)), tuple(map(engine.ones_like, net.parameters()))
    )
    assert [p.shape for p in product] == [v.shape for v in values]


def test_a_tied_parameter_is_replaced_under_both_names() -> None:
    net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    net[1].weight = net[0].weight
    x = engine.ones((1, 3))
    zero = nn.functional_call(net, {"0.weight": engine.zeros((3, 3))}, x)
    assert engine.array_equal(zero[0], net[1].bias)


def test_what_does_not_fit_is_refused_and_nothing_is_changed() -> None:
    net = model()
    ids = [id(p) for p in net.parameters()]
    with pytest.raises(KeyError, match=r"no parameter or buffer '3.weight'; it has 0.weight"):
        nn.functional_call(net, {"3.weight": X}, X)
    with pytest.raises(ValueError, match=r"2.bias has shape \(3,\); expected \(2,\)"):
        nn.functional_call(net, {"2.bias": engine.zeros(3)}, X)
    with pytest.raises(ValueError):
        nn.functional_call(net, dict(net.named_parameters()), engine.zeros((5, 7)))
    assert [id(p) for p in net.parameters()] == ids
