"""Products with Jacobians and Hessians, the matrices themselves, and backward over many roots."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine.autograd import functional

A = np.random.default_rng(0).standard_normal((3, 3))


def t(values: object) -> engine.Tensor:
    return engine.asarray(values, dtype=engine.float64)


def quadratic(x: engine.Tensor) -> engine.Tensor:
    """x^T A x / 2, whose Hessian is (A + A^T) / 2."""
    return (x @ t(A) @ x) * 0.5


def two(x: engine.Tensor, y: engine.Tensor) -> tuple[engine.Tensor, engine.Tensor]:
    return x * y.sum(), y**2.0


X = np.array([0.5, -1.0, 2.0])
HESSIAN = (A + A.T) / 2


def test_jacobian_of_one_and_of_several() -> None:
    got = functional.jacobian(lambda x: engine.sin(x) * x.sum(), t(X))
    expected = np.diag(np.cos(X) * X.sum()) + np.outer(np.sin(X), np.ones(3))
    np.testing.assert_allclose(got.numpy(), expected, rtol=1e-13)
    x, y = np.array([1.0, 2.0]), np.array([[3.0, 4.0, 5.0]])
    ((xx, xy), (yx, yy)) = functional.jacobian(two, (t(x), t(y)))
    np.testing.assert_allclose(xx.numpy(), np.eye(2) * 12)
    np.testing.assert_allclose(xy.numpy(), np.broadcast_to(x[:, None, None], (2, 1, 3)))
    np.testing.assert_allclose(yx.numpy(), np.zeros((1, 3, 2)))
    np.testing.assert_allclose(yy.numpy().reshape(3, 3), np.diag(2 * y[0]))


def test_jacobian_of_nothing_and_of_a_constant() -> None:
    assert functional.jacobian(lambda x: x[:0], t(X)).shape == (0, 3)
    assert functional.jacobian(lambda x: engine.ones(2), t(X)).tolist() == [[0.0] * 3] * 2


def test_hessian() -> None:
    np.testing.assert_allclose(functional.hessian(quadratic, t(X)).numpy(), HESSIAN, rtol=1e-13)
    ((xx, xy), (yx, yy)) = functional.hessian(lambda x, y: (x * x * y).sum(), (t([2.0]), t([3.0])))
    assert [h.tolist() for h in (xx, xy, yx, yy)] == [[[6.0]], [[4.0]], [[4.0]], [[0.0]]]
    with pytest.raises(ValueError, match=r"hessian: func must return.*\(3,\)"):
        functional.hessian(engine.exp, t(X))


def test_products_with_the_jacobian() -> None:
    v = np.array([1.0, 2.0, -1.0])
    jacobian = np.diag(np.cos(X))
    y, product = functional.vjp(engine.sin, t(X), t(v))
    np.testing.assert_allclose(y.numpy(), np.sin(X))
    np.testing.assert_allclose(product.numpy(), v @ jacobian)
    y, product = functional.jvp(engine.sin, t(X), t(v))
    np.testing.assert_allclose(product.numpy(), jacobian @ v)
    assert not y.requires_grad and not product.requires_grad
    (a, b), (da, db) = functional.jvp(two, (t([1.0]), t([3.0])), (t([1.0]), t([10.0])))
    assert (a.item(), b.item(), da.item(), db.item()) == (3, 9, 13, 60)
    assert functional.vjp(lambda x: (x * x).sum(), t([3.0]))[1].tolist() == [6]
    assert functional.jvp(lambda x: engine.ones(2), t([3.0]))[1].tolist() == [0, 0]


def test_products_with_the_hessian() -> None:
    v = np.array([1.0, 2.0, -1.0])
    for product in (functional.vhp, functional.hvp):
        y, along = product(quadratic, t(X), t(v))
        assert y.item() == pytest.approx(X @ A @ X / 2)
        np.testing.assert_allclose(along.numpy(), HESSIAN @ v, rtol=1e-13)
        with pytest.raises(ValueError, match=r"vhp: v has shapes \[\(2,\)\], expected \[\(3,\)\]"):
            product(quadratic, t(X), t([1.0, 2.0]))
        with pytest.raises(ValueError, match="single element"):
            product(quadratic, t(X))


def test_create_graph_leads_back_to_the_inputs() -> None:
    x = t(X)
    x.requires_grad = True
    h = functional.hessian(lambda x: (x**4.0).sum(), x, create_graph=True)
    h.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 24 * X, rtol=1e-12)
    x.grad = None
    _, along = functional.vjp(lambda x: (x**3.0).sum(), x, create_graph=True)
    along.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 6 * X, rtol=1e-12)


def test_the_inputs_stay_as_they_are_and_no_grad_does_not_matter() -> None:
    x = t(X)
    with engine.no_grad():
        functional.hessian(quadratic, x)
        functional.jvp(engine.sin, x, x)
    assert not x.requires_grad and x.grad is None


def test_a_single_element_needs_no_v() -> None:
    assert functional.vhp(lambda x: (x**3.0).sum(), t([2.0]))[1].tolist() == [12]
    assert functional.hvp(lambda x: (x**3.0).sum(), t([2.0]))[1].tolist() == [12]


def test_backward_over_several_roots() -> None:
    x, w = t([3.0]), t([1.0, 2.0])
    for leaf in (x, w):
        leaf.requires_grad = True
    y, z = x * x, w * x
    engine.autograd.backward([y, z], [None, t([1.0, 10.0])], retain_graph=True)
    assert x.grad.tolist() == [27] and w.grad.tolist() == [3, 30]
    engine.autograd.backward(y, inputs=[x])
    assert x.grad.tolist() == [33] and w.grad.tolist() == [3, 30]
    with pytest.raises(ValueError, match="backward: 1 gradients given for 2 outputs"):
        engine.autograd.backward([x * 1.0, w * 1.0], [None])


def test_grad_takes_one_or_several() -> None:
    x = t([3.0])
    x.requires_grad = True
    assert engine.grad(x * x, x)[0].tolist() == [6]
    assert engine.grad([x * x, x * 2.0], [x])[0].tolist() == [8]
    assert engine.grad(x * x, x, t([2.0]))[0].tolist() == [12]
    assert engine.grad(x * x, []) == ()
    assert engine.autograd.grad is engine.grad


def test_inference_mode_records_nothing() -> None:
    x = t([3.0])
    x.requires_grad = True
    with engine.inference_mode():
        assert not (x * 2.0).requires_grad
    assert (x * 2.0).requires_grad
