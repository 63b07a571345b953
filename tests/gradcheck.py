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
