"""SGD, Adam and AdamW: their formulas, groups, late starters, and saved state."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import engine
from engine import nn
from engine.optim import SGD, Adam, AdamW, OptimizerStateError

rng = np.random.default_rng(1964)
RULES = {
    "sgd": lambda params, **kw: SGD(params, **{"lr": 0.1, **kw}),
    "momentum": lambda params, **kw: SGD(params, **{"lr": 0.1, "momentum": 0.9, **kw}),
    "adam": lambda params, **kw: Adam(params, **{"lr": 0.1, **kw}),
    "adamw": lambda params, **kw: AdamW(params, **{"lr": 0.1, **kw}),
}


def parameter(*shape: int) -> nn.Parameter:
    return nn.Parameter(engine.asarray(rng.standard_normal(shape)))  # float64


def set_grads(parameters: list[nn.Parameter]) -> list[np.ndarray]:
    grads = [rng.standard_normal(p.shape) for p in parameters]
    for p, g in zip(parameters, grads, strict=True):
        p.grad = engine.asarray(g)
    return grads


def values(parameters: list[nn.Parameter]) -> list[np.ndarray]:
    return [p.detach().numpy().copy() for p in parameters]


def assert_close(parameters: list[nn.Parameter], wanted: list[np.ndarray]) -> None:
    for p, w in zip(parameters, wanted, strict=True):
        np.testing.assert_allclose(p.detach().numpy(), w, rtol=1e-12)


@pytest.mark.parametrize("decay", [0.0, 0.1])
@pytest.mark.parametrize(
    "momentum, dampening, nesterov",
    [(0.0, 0.0, False), (0.9, 0.0, False), (0.9, 0.0, True), (0.8, 0.3, False)],
)
def test_sgd_follows_its_formula(momentum, dampening, nesterov, decay) -> None:
    parameters = [parameter(3, 4), parameter(5)]
    optimizer = SGD(parameters, 0.1, momentum, decay, nesterov, dampening)
    wanted, buffers = values(parameters), [None, None]
    for _ in range(3):
        for i, g in enumerate(set_grads(parameters)):
            g = g + decay * wanted[i]
            b = buffers[i] = (
                g if buffers[i] is None else momentum * buffers[i] + (1 - dampening) * g
            )
            wanted[i] = wanted[i] - 0.1 * (g + momentum * b if nesterov else b if momentum else g)
        optimizer.step()
    assert_close(parameters, wanted)


@pytest.mark.parametrize("kind, decay", [(Adam, 0.0), (Adam, 0.1), (AdamW, 0.0), (AdamW, 0.1)])
def test_adam_follows_its_formula(kind, decay) -> None:
    parameters = [parameter(3, 4), parameter(5)]
    optimizer = kind(parameters, lr=0.01, betas=(0.8, 0.95), eps=1e-6, weight_decay=decay)
    wanted = values(parameters)
    m, v = ([np.zeros(w.shape) for w in wanted] for _ in range(2))
    for t in range(1, 4):
        for i, g in enumerate(set_grads(parameters)):
            if kind is Adam:
                g = g + decay * wanted[i]
            else:
                wanted[i] = wanted[i] * (1 - 0.01 * decay)
            m[i] = 0.8 * m[i] + 0.2 * g
            v[i] = 0.95 * v[i] + 0.05 * g * g
            step = (m[i] / (1 - 0.8**t)) / (np.sqrt(v[i] / (1 - 0.95**t)) + 1e-6)
            wanted[i] = wanted[i] - 0.01 * step
        optimizer.step()
    assert_close(parameters, wanted)


@pytest.mark.parametrize("rule", RULES)
def test_parameters_without_gradient_stand_still(rule: str) -> None:
    moving, still = parameter(3), parameter(3)
    optimizer = RULES[rule]([moving, still])
    before = values([moving, still])
    set_grads([moving])
    optimizer.step()
    assert (still.detach().numpy() == before[1]).all()
    assert (moving.detach().numpy() != before[0]).all()


@pytest.mark.parametrize("rule", RULES)
def test_a_parameter_that_starts_late_starts_as_any_other(rule: str) -> None:
    """Unfrozen layers have their own count of steps and their own first momentum."""
    early, late = parameter(3), parameter(3)
    optimizer = RULES[rule]([early, late])
    set_grads([early])
    optimizer.step()
    alone = nn.Parameter(late.detach().clone())
    set_grads([early, late])
    alone.grad = late.grad.clone()
    optimizer.step()
    other = RULES[rule]([alone])
    other.step()
    assert late.tolist() == alone.tolist()


def test_groups_have_their_own_hyperparameters() -> None:
    a, b = parameter(2), parameter(2)
    optimizer = SGD([{"params": [a], "lr": 1.0}, {"params": [("b", b)]}], lr=0.5)
    before = values([a, b])
    grads = set_grads([a, b])
    optimizer.step()
    assert_close([a, b], [before[0] - grads[0], before[1] - 0.5 * grads[1]])
    assert [g["names"] for g in optimizer.param_groups] == [["0"], ["b"]]


def test_a_group_can_be_added_later() -> None:
    a, b = parameter(2), parameter(2)
    optimizer = SGD([("a", a)], lr=0.5)
    optimizer.add_param_group({"params": [("b", b)], "lr": 0.1})
    before = values([b])
    grads = set_grads([b])
    optimizer.step()
    assert_close([b], [before[0] - 0.1 * grads[0]])


def test_zero_grad_drops_gradients() -> None:
    p = parameter(2)
    set_grads([p])
    SGD([p], lr=0.1).zero_grad()
    assert p.grad is None


def test_step_sees_a_changed_learning_rate() -> None:
    p = parameter(2)
    optimizer = SGD([p], lr=0.1)
    optimizer.param_groups[0]["lr"] = 0.0
    before = values([p])
    set_grads([p])
    optimizer.step()
    assert_close([p], before)


# ---- saved state -------------------------------------------------------------------------------


def train(optimizer, parameters: list[nn.Parameter], seed: int, steps: int) -> None:
    for step in range(steps):
        r = np.random.default_rng([seed, step])
        for p in parameters:
            p.grad = engine.asarray(r.standard_normal(p.shape))
        optimizer.step()


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("named", [True, False])
def test_a_resumed_run_is_the_same_bit_for_bit(rule: str, named: bool) -> None:
    def pairs(parameters):
        return list(zip("ab", parameters, strict=True)) if named else parameters

    straight = [parameter(3, 4), parameter(7)]
    optimizer = RULES[rule](pairs(straight))
    train(optimizer, straight, 0, 3)
    resumed = [nn.Parameter(p.detach().clone()) for p in straight]
    other = RULES[rule](pairs(resumed))
    other.load_state_dict(copy_of(optimizer.state_dict()))
    train(optimizer, straight, 1, 3)
    train(other, resumed, 1, 3)
    assert [p.tolist() for p in straight] == [p.tolist() for p in resumed]


def copy_of(state: dict) -> dict:
    """As it comes back from a file: numpy arrays and plain numbers."""
    entries = {
        name: {k: v.numpy().copy() if isinstance(v, engine.Tensor) else np.array(v)
               for k, v in entry.items()}
        for name, entry in state["state"].items()
    }  # fmt: skip
    return {"state": entries, "param_groups": copy.deepcopy(state["param_groups"])}


def test_state_finds_its_parameters_by_name_in_any_order() -> None:
    a, b = parameter(2), parameter(3)
    optimizer = SGD([("a", a), ("b", b)], lr=0.1, momentum=0.9)
    train(optimizer, [a, b], 0, 2)
    other = SGD([("b", b), ("a", a)], lr=0.1, momentum=0.9)
    other.load_state_dict(optimizer.state_dict())
    for name in "ab":
        wanted = optimizer.state[name]["momentum_buffer"].tolist()
        assert other.state[name]["momentum_buffer"].tolist() == wanted


def test_loading_copies_the_tensors() -> None:
    p = parameter(2)
    optimizer = SGD([("p", p)], lr=0.1, momentum=0.9)
    train(optimizer, [p], 0, 1)
    saved = optimizer.state_dict()
    other = SGD([("p", p)], lr=0.1, momentum=0.9)
    other.load_state_dict(saved)
    saved["state"]["p"]["momentum_buffer"].zero_()
    assert other.state["p"]["momentum_buffer"].tolist() != [0, 0]


def test_loading_takes_the_hyperparameters_too() -> None:
    p = parameter(2)
    saved = SGD([("p", p)], lr=0.7, momentum=0.9).state_dict()
    other = SGD([("p", p)], lr=0.1)
    other.load_state_dict(saved)
    assert other.param_groups[0]["lr"] == 0.7 and other.param_groups[0]["momentum"] == 0.9


def wrong_states():
    p, q = parameter(2), parameter(2)
    own = SGD([("p", p)], lr=0.1, momentum=0.9)
    train(own, [p], 0, 1)
    good = own.state_dict()
    other_name = {**good, "param_groups": SGD([("q", q)], lr=0.1).state_dict()["param_groups"]}
    two_groups = {**good, "param_groups": good["param_groups"] * 2}
    other_rule = {**good, "param_groups": Adam([("p", p)]).state_dict()["param_groups"]}
    wrong_shape = {**good, "state": {"p": {"momentum_buffer": np.zeros(3)}}}
    wrong_keys = {**good, "state": {"p": {"exp_avg": np.zeros(2)}}}
    stranger = {**good, "state": {"z": {"momentum_buffer": np.zeros(2)}}}
    return [
        ({}, "keys 'state' and 'param_groups'"),
        (two_groups, "2 parameter groups, this optimizer 1"),
        (other_name, "q only there, p only here"),
        (other_rule, "group 0 of the saved state has the keys"),
        (wrong_shape, r"'momentum_buffer' of 'p' is float64 \(3,\)"),
        (wrong_keys, "saved state of 'p' has the keys exp_avg; expected momentum_buffer"),
        (stranger, "an entry for 'z'"),
    ]


@pytest.mark.parametrize("state, message", wrong_states())
def test_a_state_that_does_not_fit_is_refused_and_changes_nothing(state, message) -> None:
    p = parameter(2)
    optimizer = SGD([("p", p)], lr=0.5, momentum=0.9)
    train(optimizer, [p], 1, 1)
    before = copy_of(optimizer.state_dict())
    with pytest.raises(OptimizerStateError, match=message):
        optimizer.load_state_dict(state)
    after = copy_of(optimizer.state_dict())
    assert after["param_groups"] == before["param_groups"]
    buffers = [s["state"]["p"]["momentum_buffer"].tolist() for s in (before, after)]
    assert buffers[0] == buffers[1]


# ---- refusals ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda p: SGD([p], lr=-1), "lr=-1"),
        (lambda p: SGD([p], lr=float("nan")), "lr=nan"),
        (lambda p: SGD([p], lr=1, momentum=1.0), "momentum=1.0"),
        (lambda p: SGD([p], lr=1, nesterov=True), "nesterov with momentum=0.0"),
        (lambda p: SGD([p], lr=1, momentum=0.9, dampening=0.1, nesterov=True), "no dampening"),
        (lambda p: AdamW([p], betas=(0.9, 1.0)), r"AdamW: betas=\(0.9, 1.0\)"),
        (lambda p: Adam([p], eps=-1.0), "eps=-1"),
        (lambda p: Adam([p], weight_decay=-1.0), "weight_decay=-1"),
        (lambda p: SGD([], lr=1), "no parameters to optimise"),
        (lambda p: SGD([p, p], lr=1), "parameter '1' is given twice"),
        (lambda p: SGD([("w", p), ("w", parameter(1))], lr=1), "parameter 'w' is given twice"),
        (lambda p: SGD([p * 2], lr=1), "'0' is the result of multiply"),
        (lambda p: SGD([{"params": [p], "learning_rate": 1}], lr=1), "unknown learning_rate"),
        (lambda p: SGD([{"lr": 1}], lr=1), "no 'params'"),
    ],
)
def test_impossible_hyperparameters_are_refused(make, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make(parameter(2))


@pytest.mark.parametrize(
    "params", [[np.zeros(2)], [("w", 3)], [(1, parameter(2))], [{"params": [parameter(1)]}, 5]]
)
def test_what_is_no_parameter_is_refused(params) -> None:
    with pytest.raises(TypeError, match="SGD: expected"):
        SGD(params, lr=0.1)
