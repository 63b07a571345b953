"""Gradients against central finite differences, in float64: is a rule of your own right?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from engine import _C
from engine._C import Tensor
from engine.autograd.gradients import grad
from engine.grad_mode import enable_grad, no_grad

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Function = Callable[..., Any]


def gradcheck(
    fn: Function,
    inputs: Sequence[Any],
    *,
    step: float = 1e-6,
    rtol: float = 1e-5,
    atol: float = 1e-7,
) -> None:
    """Checks that backward of ``sum(fn(*inputs) * r)``, r fixed and random, matches
    ``(f(x + h) - f(x - h)) / 2h`` for every element of every input.

    Args:
        fn: of tensors, to a tensor or a tuple of them; those that are not float64 count for
            nothing.
        inputs: tensors or arrays; taken as float64, and not changed.
        step: h, times |x| where that is above 1.
        rtol, atol: relative tolerance, and an absolute one, times the largest derivative where
            that is above 1.

    Raises:
        AssertionError: a derivative is off; the message says of which input, and how much.

    >>> engine.autograd.gradcheck(engine.exp, [np.array([0.0, 1.0])])
    """
    import numpy as np

    arrays = _arrays(inputs)

    def tensors() -> list[Tensor]:
        return [_leaf(_C.asarray(a.copy())) for a in arrays]

    leaves = tensors()
    y = _joined(fn(*leaves))
    r = np.random.default_rng(7).uniform(0.5, 1.5, y.shape)
    if y.requires_grad:
        y.backward(_C.asarray(r))

    def value() -> float:
        with no_grad():
            return float((_joined(fn(*tensors())).detach().numpy() * r).sum())

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


def gradgradcheck(fn: Function, inputs: Sequence[Any], **tolerances: float) -> None:
    """Checks that gradients recorded with create_graph are those without, and that the gradients of
    these, by the inputs and by the gradient they start from, match finite differences.

    Args:
        fn, inputs, tolerances: as for `gradcheck`.

    Raises:
        AssertionError: as `gradcheck`.

    >>> engine.autograd.gradgradcheck(engine.exp, [np.array([0.0, 1.0])])
    """
    import numpy as np

    arrays = _arrays(inputs)
    with no_grad():
        shape = _joined(fn(*(_C.asarray(a) for a in arrays))).shape
    start = np.random.default_rng(11).uniform(0.5, 1.5, shape)

    def gradients(create_graph: bool, *tensors: Tensor) -> list[Tensor]:
        *points, g = tensors
        with enable_grad():
            # Under no_grad gradcheck only wants values; they need a graph all the same.
            points = [t if t.requires_grad else _leaf(t) for t in points]
            y = _joined(fn(*points))
            found: Sequence[Tensor | None] = [None] * len(points)
            if y.requires_grad:
                found = grad(y, points, g, create_graph=create_graph, allow_unused=True)
        return [p * 0.0 if d is None else d for p, d in zip(points, found, strict=True)]

    def weighted(*tensors: Tensor) -> Tensor:
        total = (tensors[-1] * 0.0).sum()
        for i, d in enumerate(gradients(True, *tensors)):
            r = np.random.default_rng(i).uniform(0.5, 1.5, d.shape)
            total = total + (d * _C.asarray(r)).sum()
        return total

    recorded = gradients(True, *map(_leaf, map(_C.asarray, [*arrays, start])))
    plain = gradients(False, *map(_leaf, map(_C.asarray, [*arrays, start])))
    for a, b in zip(recorded, plain, strict=True):
        np.testing.assert_allclose(
            a.detach().numpy(), b.detach().numpy(), rtol=1e-9, atol=1e-11, err_msg="create_graph"
        )
    gradcheck(weighted, [*arrays, start], **tolerances)


def _arrays(inputs: Sequence[Any]) -> list[NDArray[np.float64]]:
    """Copies, as float64."""
    import numpy as np

    plain = (t.detach() if isinstance(t, Tensor) else t for t in inputs)
    return [np.array(values, np.float64) for values in plain]


def _joined(y: Any) -> Tensor:
    """Several results as one vector; those that are not float64 have no gradient."""
    if not isinstance(y, tuple | list):
        return y
    return _C.concat([t.reshape(-1) for t in y if t.dtype == _C.float64])


def _leaf(t: Tensor) -> Tensor:
    leaf = t.detach()
    leaf.requires_grad = True
    return leaf
