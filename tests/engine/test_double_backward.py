"""Gradients of gradients of every op spec that has gradients, by finite differences in float64."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from tests.engine.test_ops import function, is_number_array, to_tensor
from tests.gradcheck import gradgradcheck
from tests.op_specs import Op, Sample
from tests.routines import OPS

# Rules that cannot be differentiated, each with its reason; they must say so.
ONCE: dict[str, str] = {}

ROWS = [pytest.param(op, id=f"{op.name}-{i}") for i, op in enumerate(OPS) if op.grad]


def with_varied(op: Op, sample: Sample) -> tuple[list[np.ndarray], object]:
    """The float arrays of the sample that have gradients, and the op as a function of them."""
    varied = [
        x
        for i, a in enumerate(sample.args)
        for x in (a if isinstance(a, list) else [a])
        if is_number_array(x) and i not in op.constant
    ]

    def run(*tensors: engine.Tensor) -> engine.Tensor:
        given = iter(tensors)

        def argument(i: int, a: object) -> object:
            if isinstance(a, list) and a and is_number_array(a[0]):
                return [next(given) for _ in a]
            if is_number_array(a) and i not in op.constant:
                return next(given)
            return to_tensor(a, "float64")

        args = [argument(i, a) for i, a in enumerate(sample.args)]
        y = function(op)(*args, **sample.kwargs)
        return y if isinstance(y, engine.Tensor) else _joined(y)

    return varied, run


def without_ties(arrays: list[np.ndarray]) -> list[np.ndarray]:
    """Where two values are equal a maximum has a kink, and no second derivative to compare with."""
    if not arrays:
        return arrays
    values = np.concatenate([a.ravel() for a in arrays])
    if np.unique(values).size == values.size:
        return arrays
    rng = np.random.default_rng(3)
    return [a + rng.uniform(-1e-3, 1e-3, a.shape) for a in arrays]


def _joined(outputs: tuple[object, ...]) -> engine.Tensor:
    """Several results as one, so that each weighs in."""
    floats = [t.flatten() for t in outputs if t.dtype.is_floating_point]
    return engine.concat(floats)


@pytest.mark.parametrize("op", ROWS)
def test_second_gradients_match_finite_differences(op: Op) -> None:
    for sample in op.samples:
        varied, run = with_varied(op, sample)
        varied = without_ties(varied)
        if sum(a.size for a in varied) > 150:
            continue  # every element costs two passes; the small samples reach every rule
        if op.name in ONCE:
            leaves = [engine.asarray(a.copy()) for a in varied]
            for t in leaves:
                t.requires_grad = True
            y = run(*leaves).sum()
            with pytest.raises(engine.AutogradError, match=op.name.rpartition(".")[2]):
                engine.grad(y, leaves, create_graph=True, allow_unused=True)
        else:
            gradgradcheck(run, varied, rtol=1e-4, atol=1e-6)


def test_ops_declared_differentiable_once_have_rows() -> None:
    assert set(ONCE) <= {op.name for op in OPS if op.grad}
