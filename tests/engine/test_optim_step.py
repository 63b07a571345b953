"""Fused optimizer steps against the published formulas, one numpy line each."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine import _C
from tests.threads import assert_same_for_any_thread_count

rng = np.random.default_rng(1951)
SHAPES = [(3, 4), (), (40_001,), (2, 3, 4, 5), (0, 3)]


def arrays(dtype: str = "float64") -> list[np.ndarray]:
    return [np.asarray(rng.standard_normal(s), dtype) for s in SHAPES]


def tensors(values: list[np.ndarray]) -> list[engine.Tensor]:
    return [engine.asarray(v.copy()) for v in values]


def assert_all_close(actual: list[engine.Tensor], wanted: list[np.ndarray], rtol=1e-12) -> None:
    for a, w in zip(actual, wanted, strict=True):
        np.testing.assert_allclose(a.numpy(), w, rtol=rtol, atol=rtol)


@pytest.mark.parametrize(
    "momentum, dampening, decay, nesterov",
    [(0, 0, 0, False), (0, 0, 0.1, False), (0.9, 0, 0.1, False), (0.9, 0, 0.1, True),
     (0.8, 0.3, 0, False)],
)  # fmt: skip
def test_sgd_follows_its_formula(momentum, dampening, decay, nesterov) -> None:
    params = arrays()
    ours = tensors(params)
    buffers = [engine.full(s, np.nan, dtype=engine.float64) for s in SHAPES] if momentum else []
    state: list[np.ndarray | None] = [None] * len(params)
    for step in range(3):
        grads = arrays()
        _C.sgd_step(
            ours, tensors(grads), buffers, 0.1, momentum, dampening, decay, nesterov, step == 0
        )
        for i, g in enumerate(grads):
            g = g + decay * params[i]
            if momentum:
                old = state[i]
                state[i] = g if old is None else momentum * old + (1 - dampening) * g
                g = g + momentum * state[i] if nesterov else state[i]
            params[i] = params[i] - 0.1 * g
    assert_all_close(ours, params)


@pytest.mark.parametrize("decoupled", [True, False])
def test_adam_follows_its_formula(decoupled) -> None:
    params = arrays()
    ours = tensors(params)
    m, v = [np.zeros(s) for s in SHAPES], [np.zeros(s) for s in SHAPES]
    m_ours, v_ours = tensors(m), tensors(v)
    lr, b1, b2, eps, decay = 0.01, 0.9, 0.99, 1e-8, 0.1
    for step in (1, 2, 3):
        grads = arrays()
        _C.adamw_step(ours, tensors(grads), m_ours, v_ours, step, lr, b1, b2, eps, decay, decoupled)
        for i, g in enumerate(grads):
            if decoupled:
                params[i] = params[i] * (1 - lr * decay)
            else:
                g = g + decay * params[i]
            m[i] = b1 * m[i] + (1 - b1) * g
            v[i] = b2 * v[i] + (1 - b2) * g * g
            params[i] = params[i] - lr * (m[i] / (1 - b1**step)) / (
                np.sqrt(v[i] / (1 - b2**step)) + eps
            )
    assert_all_close(ours, params)
    assert_all_close(m_ours, m)
    assert_all_close(v_ours, v)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_narrower_dtypes_follow_the_wide_one(dtype) -> None:
    params, grads = arrays(dtype), arrays(dtype)
    ours = tensors(params)
    _C.sgd_step(ours, tensors(grads), [], 0.1)
    wanted = [p.astype(float) - 0.1 * g.astype(float) for p, g in zip(params, grads, strict=True)]
    assert ours[0].dtype == getattr(engine, dtype)
    assert_all_close(ours, wanted, rtol=1e-6 if dtype == "float32" else 4e-3)


@pytest.mark.parametrize("which", ["param", "grad", "state"])
def test_memory_orders_may_differ(which) -> None:
    p, g, b = (rng.standard_normal((2, 3, 4, 5)) for _ in range(3))
    t = dict(zip(("param", "grad", "state"), tensors([p, g, b]), strict=True))
    t[which] = t[which].contiguous("channels_last")
    _C.sgd_step([t["param"]], [t["grad"]], [t["state"]], 0.1, 0.9)
    np.testing.assert_allclose(t["state"].numpy(), 0.9 * b + g, rtol=1e-12)
    np.testing.assert_allclose(t["param"].numpy(), p - 0.1 * (0.9 * b + g), rtol=1e-12)


def test_a_step_counts_as_a_change_of_leaf_and_state() -> None:
    p, m, v = engine.ones(3), engine.zeros(3), engine.zeros(3)
    p.requires_grad = True
    before = p.version, m.version, v.version
    _C.adamw_step([p], [engine.ones(3)], [m], [v], 1, 0.1)
    assert all(now > then for now, then in zip((p.version, m.version, v.version), before,
                                                strict=True))  # fmt: skip
    assert p.requires_grad and p.is_leaf


def test_norm_of_huge_gradients_does_not_overflow() -> None:
    grads = [engine.full((1,), 1e20) for _ in range(100)]
    assert grads[0].dtype == engine.float32
    assert _C.grad_norm(grads) == pytest.approx(1e21, rel=1e-6)
    _C.scale_grads(grads, 1 / _C.grad_norm(grads))
    np.testing.assert_allclose([g.item() for g in grads], 0.1, rtol=1e-6)


@pytest.mark.parametrize("bad", [np.inf, np.nan])
def test_norm_shows_gradients_that_are_not_finite(bad) -> None:
    assert not np.isfinite(_C.grad_norm([engine.ones(3), engine.asarray([1.0, bad])]))


def test_norm_spans_tensors_layouts_and_dtypes() -> None:
    values = arrays()
    strided, half = engine.ones((6, 8))[:, ::2], engine.full((4,), 2.0).astype(engine.float16)
    mixed = [*tensors(values), strided, half]
    wanted = np.sqrt(sum((v**2).sum() for v in values) + 24 + 16)
    assert _C.grad_norm(mixed) == pytest.approx(wanted, rel=1e-12)
    assert _C.grad_norm([]) == 0


def test_scaling_is_in_place() -> None:
    g = engine.ones((2, 3))
    before = g.version
    _C.scale_grads([g], 0.5)
    assert g.tolist() == [[0.5] * 3] * 2 and g.version > before


def test_steps_and_norms_are_the_same_for_any_thread_count() -> None:
    params, grads = arrays("float32"), arrays("float32")

    def compute():
        p, m, v = tensors(params), tensors(params), tensors([x * x for x in params])
        _C.adamw_step(p, tensors(grads), m, v, 3, 0.1)
        return [*p, *m, *v, engine.asarray(_C.grad_norm(tensors(grads)), dtype=engine.float64)]

    assert_same_for_any_thread_count(compute)


@pytest.mark.parametrize(
    "grads, buffers, momentum, message",
    [
        ([], [], 0.0, "got 0 tensors in grads for 1 parameters"),
        ([(3,)], [], 0.0, r"grads\[0\] has shape \(3,\), the parameter \(2,\)"),
        ([(2,)], [], 0.9, "got 0 tensors in momentum_bufs"),
    ],
)
def test_lists_that_do_not_fit_are_named(grads, buffers, momentum, message) -> None:
    made = [engine.ones(s) for s in grads]
    with pytest.raises(ValueError, match=message):
        _C.sgd_step([engine.ones(2)], made, buffers, 0.1, momentum)


def test_mixed_dtypes_are_refused() -> None:
    with pytest.raises(TypeError, match=r"grads\[0\] is float64, the parameter float32"):
        _C.sgd_step([engine.ones(2)], [engine.ones(2, dtype=engine.float64)], [], 0.1)


def test_nesterov_without_momentum_is_refused() -> None:
    with pytest.raises(ValueError, match="nesterov needs a momentum above 0"):
        _C.sgd_step([engine.ones(2)], [engine.ones(2)], [], 0.1, nesterov=True)


def test_a_step_of_zero_is_refused() -> None:
    t = [engine.ones(2)]
    with pytest.raises(ValueError, match="steps count from 1, got 0"):
        _C.adamw_step(t, t, t, t, 0, 0.1)
