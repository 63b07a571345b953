"""Functions and layers against PyTorch's results, stored; and gradients against differences."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine
from tests.engine.parity import Library, leaves, outcome
from tests.engine.parity_cases import CASES, NOT_DERIVATIVES, Case
from tests.engine.parity_layers import LAYER_CASES
from tests.gradcheck import gradcheck

GOLDEN = Path(__file__).parent / "golden" / "parity.npz"
ALL = [pytest.param(case, id=case.name) for case in (*CASES, *LAYER_CASES)]
DIFFERENTIABLE = [
    pytest.param(case, id=case.name) for case in CASES if case.name not in NOT_DERIVATIVES
]


class Engine(Library):
    F = engine.nn.functional
    nn = engine.nn

    def t(self, value: Any) -> engine.Tensor:
        return engine.asarray(np.asarray(value))

    def leaf(self, value: np.ndarray) -> engine.Tensor:
        tensor = engine.asarray(value.copy())
        tensor.requires_grad = True
        return tensor

    def set_state(self, layer: Any, values: dict[str, np.ndarray]) -> Any:
        layer.to(engine.float64).load_state_dict(values)
        return layer

    def is_float(self, tensor: engine.Tensor) -> bool:
        return tensor.dtype.is_floating_point


@lru_cache(maxsize=1)
def golden() -> dict[str, np.ndarray]:
    with np.load(GOLDEN) as stored:
        names, ends, values = stored["names"], stored["ends"], stored["values"]
    starts = [0, *ends[:-1]]
    return {
        str(name): values[start:end] for name, start, end in zip(names, starts, ends, strict=True)
    }


@pytest.mark.parity
@pytest.mark.parametrize("case", ALL)
def test_values_and_gradients_are_pytorchs(case: Case) -> None:
    wanted = golden()[case.name]
    got = outcome(case, Engine())
    assert got.shape == wanted.shape
    scale = np.abs(wanted[np.isfinite(wanted)]).max(initial=1.0)
    np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-10 * scale)


@pytest.mark.parametrize("case", DIFFERENTIABLE)
def test_gradients_match_finite_differences(case: Case) -> None:
    library = Engine()
    arrays = case.arrays()

    def run(*tensors: engine.Tensor) -> engine.Tensor:
        given = iter(tensors)
        inputs = [next(given) if differs else library.t(a) for a, differs in arrays]
        results = [r for r in leaves(case.run(library, *inputs)) if library.is_float(r)]
        if not results:
            return engine.zeros(1, dtype=engine.float64)
        return engine.concat([r.reshape((-1,)) for r in results])

    gradcheck(run, [a for a, differs in arrays if differs])


LAYOUTS = {
    "reversed": lambda a: a[(slice(None, None, -1),) * a.ndim].copy()[
        (slice(None, None, -1),) * a.ndim
    ],
    "transposed": lambda a: np.ascontiguousarray(a.T).T,
    "every other": lambda a: np.repeat(a, 2, -1)[..., ::2] if a.ndim else a,
}


def forward(case: Case, convert: Callable[[np.ndarray], engine.Tensor]) -> np.ndarray:
    """The results alone, as `outcome` has them at its start."""
    library = Engine()
    inputs = [convert(a) for a, _ in case.arrays()]
    with engine.no_grad():
        results = leaves(case.run(library, *inputs))
    arrays = [r.astype(engine.float64).numpy() for r in results]
    return np.concatenate([[*a.shape, *a.reshape(-1)] for a in arrays])


@pytest.mark.parity
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in CASES])
def test_any_memory_layout_gives_the_same(case: Case, layout: str) -> None:
    got = forward(case, lambda a: engine.from_numpy(LAYOUTS[layout](a)))
    wanted = golden()[case.name][: len(got)]
    scale = np.abs(wanted[np.isfinite(wanted)]).max(initial=1.0)
    np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-10 * scale)


# In float32 a place on the border between two pixels may fall to the other one.
NOT_IN_FLOAT32 = {case.name for case in CASES if "nearest" in case.name}


@pytest.mark.parity
@pytest.mark.parametrize(
    "case", [pytest.param(c, id=c.name) for c in CASES if c.name not in NOT_IN_FLOAT32]
)
def test_float32_is_near(case: Case) -> None:
    def convert(a: np.ndarray) -> engine.Tensor:
        t = engine.asarray(a)
        return t.astype(engine.float32) if a.dtype == np.float64 else t

    got = forward(case, convert)
    wanted = golden()[case.name][: len(got)]
    scale = np.abs(wanted[np.isfinite(wanted)]).max(initial=1.0)
    np.testing.assert_allclose(got, wanted, rtol=2e-4, atol=2e-5 * scale)


def test_every_case_is_stored() -> None:
    assert set(golden()) == {case.values[0].name for case in ALL}
