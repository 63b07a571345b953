"""Gradients against central finite differences, in float64."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

import engine


def joined(y: engine.Tensor | tuple[engine.Tensor, ...]) -> engine.Tensor:
    """Several results as one vector; those that are not float64 have no gradient."""
    if not isinstance(y, tuple | list):
        return y
    return engine.concat([t.reshape(-1) for t in y if t.dtype == engine.float64])


def gradcheck(
    fn: Callable[..., engine.Tensor],
    inputs: Sequence[np.ndarray],
    *,
    step: float = 1e-6,
    rtol: float = 1e-5,
    atol: float = 1e-7,
) -> None:
    """Asserts that backward of ``sum(fn(*inputs) * r)``, r fixed and random, matches
    ``(f(x + h) - f(x - h)) / 2h`` for every element of every input.

    >>> gradcheck(engine.exp, [np.array([0.0, 1.0])])
    """
    arrays = [np.array(a, np.float64) for a in inputs]

    def tensors() -> list[engine.Tensor]:
        made = [engine.asarray(a.copy()) for a in arrays]
        for t in made:
            t.requires_grad = True
        return made

    leaves = tensors()
    y = joined(fn(*leaves))
    r = np.random.default_rng(7).uniform(0.5, 1.5, y.shape)
    if y.requires_grad:
        y.backward(engine.asarray(r))

    def value() -> float:
        with engine.no_grad():
            return float((joined(fn(*tensors())).detach().numpy() * r).sum())

    for i, (a, leaf) in enumerate(zip(arrays, leaves, strict=True)):
        numeric = np.zeros_like(a)
        flat, out = a.reshape(-1), numeric.reshape(-1)
        for k in range(flat.size):
            x = flat[k]
            h = step * max(1.0, abs(x))
            flat[k] = x + h
            up = value()
            flat[k] = x - h
            down = value()
            flat[k] = x
            out[k] = (up - down) / (2 * h)
        actual = np.zeros_like(a) if leaf.grad is None else leaf.grad.numpy()
        assert actual.shape == a.shape
        np.testing.assert_allclose(
            actual, numeric, rtol=rtol, atol=atol * max(1.0, np.abs(numeric).max(initial=0)),
            err_msg=f"gradient of input {i}",
        )  # fmt: skip


def gradgradcheck(
    fn: Callable[..., engine.Tensor], inputs: Sequence[np.ndarray], **tolerances: float
) -> None:
    """Asserts that gradients recorded with create_graph are those of gradcheck, and that the
    gradients of these, by the inputs and by the gradient they start from, match finite differences.

    >>> gradgradcheck(engine.exp, [np.array([0.0, 1.0])])
    """
    arrays = [np.array(a, np.float64) for a in inputs]
    with engine.no_grad():
        shape = fn(*(engine.asarray(a) for a in arrays)).shape
    start = np.random.default_rng(11).uniform(0.5, 1.5, shape)

    def gradients(create_graph: bool, *tensors: engine.Tensor) -> list[engine.Tensor]:
        *points, g = tensors
        with engine.enable_grad():
            # Under no_grad gradcheck only wants values; they need a graph all the same.
            points = [t if t.requires_grad else _leaf(t) for t in points]
            y = fn(*points)
            found: Sequence[engine.Tensor | None] = [None] * len(points)
            if y.requires_grad:
                found = engine.grad(y, points, g, create_graph=create_graph, allow_unused=True)
        return [p * 0.0 if d is None else d for p, d in zip(points, found, strict=True)]

    def weighted(*tensors: engine.Tensor) -> engine.Tensor:
        total = (tensors[-1] * 0.0).sum()
        for i, d in enumerate(gradients(True, *tensors)):
            r = np.random.default_rng(i).uniform(0.5, 1.5, d.shape)
            total = total + (d * engine.asarray(r)).sum()
        return total

    recorded = gradients(True, *map(_leaf, map(engine.asarray, [*arrays, start])))
    plain = gradients(False, *map(_leaf, map(engine.asarray, [*arrays, start])))
    for a, b in zip(recorded, plain, strict=True):
        np.testing.assert_allclose(
            a.detach().numpy(), b.detach().numpy(), rtol=1e-9, atol=1e-11, err_msg="create_graph"
        )
    gradcheck(weighted, [*arrays, start], **tolerances)


def _leaf(t: engine.Tensor) -> engine.Tensor:
    leaf = t.detach()
    leaf.requires_grad = True
    return leaf
