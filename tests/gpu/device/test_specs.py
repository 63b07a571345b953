"""Every row of the op specs on device "cuda", beside numpy and beside the CPU.

What the device cannot do yet is listed in tests/gpu/without_kernels.txt; those rows must say so
with an error that names what is missing. An op that works is no longer listed, or a test fails.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import engine
from tests.engine.test_ops import (
    LAYOUTS,
    assert_close,
    expected,
    function,
    is_number_array,
    to_tensor,
)
from tests.gpu.coverage import without_kernels
from tests.op_specs import Op, Sample
from tests.routines import OPS

MISSING = without_kernels()
ROWS = [(f"{op.name}-{i}", op) for i, op in enumerate(OPS)]
WORKING = [pytest.param(op, id=name) for name, op in ROWS if op.name not in MISSING]
LISTED = [pytest.param(op, id=name) for name, op in ROWS if op.name in MISSING]
# Emulated threads are slow; what a large sample tests, a small one tests too.
MOST_ELEMENTS = 5000


def moved(a: Any, device: str) -> Any:
    if isinstance(a, engine.Tensor):
        return a.to(device)
    if isinstance(a, list | tuple) and any(isinstance(x, engine.Tensor) for x in a):
        return type(a)(moved(x, device) for x in a)
    return a


def host(result: Any) -> Any:
    if isinstance(result, engine.Tensor):
        assert result.device == "cuda:0", "the result left the device"
        return result.to("cpu")
    if isinstance(result, tuple | list):
        return type(result)(host(x) for x in result) if type(result) in (tuple, list) else tuple(
            host(x) for x in result
        )  # fmt: skip
    return result


def arguments(sample: Sample, dtype: str, device: str, transform=lambda t: t) -> list[Any]:
    made = [to_tensor(a, dtype) for a in sample.args]
    return [moved(transform(a) if isinstance(a, engine.Tensor) else a, device) for a in made]


def result_of(op: Op, sample: Sample, dtype: str, device: str, transform=lambda t: t) -> Any:
    """What the op gives on the device; what takes no tensor is told of it by engine.device."""
    args = arguments(sample, dtype, device, transform)
    if any(isinstance(a, engine.Tensor | list) for a in [*args, *sample.kwargs.values()]):
        return function(op)(*args, **sample.kwargs)
    with engine.device(device):
        return function(op)(*args, **sample.kwargs)


def size(sample: Sample) -> int:
    return sum(a.size for a in sample.args if isinstance(a, np.ndarray))


def samples(op: Op) -> list[Sample]:
    return [s for s in op.samples if size(s) <= MOST_ELEMENTS]


@pytest.mark.parametrize("op", WORKING)
def test_forward_matches_numpy_for_every_dtype(op: Op, device: str) -> None:
    for dtype in op.dtypes:
        for sample in samples(op):
            result = result_of(op, sample, dtype, device)
            assert_close(host(result), expected(op, sample, dtype), dtype)


@pytest.mark.parametrize("op", WORKING)
def test_any_memory_layout_gives_the_same(op: Op, device: str) -> None:
    dtype = op.dtypes[0]
    for layout in LAYOUTS.values():
        for sample in samples(op):
            result = result_of(op, sample, dtype, device, layout)
            assert_close(host(result), expected(op, sample, dtype), dtype)


def gradients(op: Op, sample: Sample, device: str) -> list[np.ndarray]:
    args = arguments(sample, "float64", device)
    varied = []
    for i, (given, arg) in enumerate(zip(sample.args, args, strict=True)):
        for x, t in zip(given, arg, strict=True) if isinstance(given, list) else [(given, arg)]:
            if is_number_array(x) and i not in op.constant and isinstance(t, engine.Tensor):
                t.requires_grad = True
                varied.append(t)
    results = function(op)(*args, **sample.kwargs)
    total: engine.Tensor | None = None
    for k, y in enumerate(results if isinstance(results, tuple | list) else [results]):
        if not isinstance(y, engine.Tensor) or not y.requires_grad:
            continue
        r = np.random.default_rng(k).uniform(0.5, 1.5, y.shape)
        part = (y * engine.asarray(r).to(device)).sum()
        total = part if total is None else total + part
    if total is None:
        return []
    total.backward()
    return [np.zeros(t.shape) if t.grad is None else t.grad.to("cpu").numpy() for t in varied]


@pytest.mark.parametrize("op", [p for p in WORKING if p.values[0].grad])
def test_gradients_are_those_of_the_cpu(op: Op, device: str) -> None:
    for sample in samples(op):
        for there, here in zip(
            gradients(op, sample, device), gradients(op, sample, "cpu"), strict=True
        ):
            np.testing.assert_allclose(there, here, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("op", LISTED)
def test_what_is_missing_says_so(op: Op, device: str) -> None:
    with pytest.raises((NotImplementedError, ValueError, BufferError), match="'cuda"):
        for dtype in op.dtypes:
            for sample in op.samples:
                result = result_of(op, sample, dtype, device)
                assert_close(host(result), expected(op, sample, dtype), dtype)
