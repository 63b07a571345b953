"""Every row of the op specs, expanded."""

from __future__ import annotations

import operator
import re
from pathlib import Path

import numpy as np
import pytest

import engine
from tests.gradcheck import gradcheck
from tests.op_specs import Op, Sample
from tests.routines import OPS, OTHERWISE_TESTED, public_routines

TOLERANCE = {"float64": 1e-10, "float32": 2e-5, "float16": 4e-3, "bfloat16": 3e-2}
ROWS = [pytest.param(op, id=f"{op.name}-{i}") for i, op in enumerate(OPS)]
CASES = [
    pytest.param(op, dtype, id=f"{op.name}-{i}-{dtype}")
    for i, op in enumerate(OPS)
    for dtype in op.dtypes
]


def function(op: Op):
    return operator.attrgetter(op.name)(engine)


def is_number_array(a: object) -> bool:
    return isinstance(a, np.ndarray) and a.dtype == np.float64


def to_tensor(a: object, dtype: str) -> object:
    if isinstance(a, list) and a and isinstance(a[0], np.ndarray):
        return [to_tensor(x, dtype) for x in a]
    if isinstance(a, np.ndarray):
        t = engine.asarray(np.ascontiguousarray(a) if a.ndim else a.copy())
        return t.astype(getattr(engine, dtype)) if is_number_array(a) else t
    return a


def rounded(a: object, dtype: str) -> object:
    """What `a` is after a trip through the dtype: the reference starts from the same numbers."""
    if isinstance(a, list) and a and isinstance(a[0], np.ndarray):
        return [rounded(x, dtype) for x in a]
    if not is_number_array(a):
        return a
    if dtype == "bfloat16":
        return to_tensor(a, dtype).astype(engine.float64).numpy()
    cast = a.astype(dtype)
    return cast if cast.dtype.kind in "iub" else cast.astype(np.float64)


def call(op: Op, sample: Sample, dtype: str, transform=lambda t: t):
    args = [to_tensor(a, dtype) for a in sample.args]
    args = [transform(a) if isinstance(a, engine.Tensor) else a for a in args]
    return function(op)(*args, **sample.kwargs)


def expected(op: Op, sample: Sample, dtype: str):
    with np.errstate(all="ignore"):
        return op.reference(*(rounded(a, dtype) for a in sample.args), **sample.kwargs)


def assert_close(actual, wanted, dtype: str) -> None:
    if isinstance(actual, tuple | list):
        for a, w in zip(actual, wanted, strict=True):
            assert_close(a, w, dtype)
        return
    wanted = np.asarray(wanted)
    assert actual.shape == wanted.shape
    got = actual.detach()
    got = (got.astype(engine.float64) if got.dtype == engine.bfloat16 else got).numpy()
    if dtype not in TOLERANCE or wanted.dtype.kind in "biu":
        np.testing.assert_array_equal(got.astype(wanted.dtype), wanted)
        return
    scale = max(1.0, float(np.max(np.abs(wanted), initial=0.0, where=np.isfinite(wanted))))
    tolerance = TOLERANCE[dtype]
    np.testing.assert_allclose(got.astype(np.float64), wanted, rtol=tolerance,
                               atol=tolerance * scale)  # fmt: skip


@pytest.mark.parametrize("op, dtype", CASES)
def test_forward_matches_numpy(op: Op, dtype: str) -> None:
    for sample in op.samples:
        assert_close(call(op, sample, dtype), expected(op, sample, dtype), dtype)


LAYOUTS = {
    "reversed": lambda t: engine.flip(engine.flip(t).clone().contiguous()) if t.ndim else t,
    "transposed": lambda t: t.T.contiguous().T,
    "every_other": lambda t: _every_other(t),
}


def _every_other(t: engine.Tensor) -> engine.Tensor:
    if t.ndim == 0:
        return t
    wide = engine.zeros((*t.shape[:-1], 2 * t.shape[-1]), dtype=t.dtype)
    wide[..., ::2] = t
    return wide[..., ::2]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("op", ROWS)
def test_any_memory_layout_gives_the_same(op: Op, layout: str) -> None:
    dtype = op.dtypes[0]
    for sample in op.samples:
        assert_close(call(op, sample, dtype, LAYOUTS[layout]), expected(op, sample, dtype), dtype)


@pytest.mark.parametrize("op", [pytest.param(op, id=f"{op.name}-{i}")
                                for i, op in enumerate(OPS) if op.grad])  # fmt: skip
def test_gradients_match_finite_differences(op: Op) -> None:
    for sample in op.samples:
        # The float arguments, lists of them flattened, are what the check varies.
        varied = [
            x
            for i, a in enumerate(sample.args)
            for x in (a if isinstance(a, list) else [a])
            if is_number_array(x) and i not in op.constant
        ]
        if sum(a.size for a in varied) > 1500:
            continue  # a large sample is there for the forward's blocking

        def run(*tensors: engine.Tensor, sample: Sample = sample) -> engine.Tensor:
            given = iter(tensors)

            def argument(i: int, a: object) -> object:
                if isinstance(a, list) and is_number_array(a[0]):
                    return [next(given) for _ in a]
                if is_number_array(a) and i not in op.constant:
                    return next(given)
                return to_tensor(a, "float64")

            args = [argument(i, a) for i, a in enumerate(sample.args)]
            return function(op)(*args, **sample.kwargs)

        gradcheck(run, varied)


@pytest.mark.parametrize("op", [pytest.param(op, id=f"{op.name}-{i}")
                                for i, op in enumerate(OPS) if op.errors])  # fmt: skip
def test_errors_name_the_values(op: Op) -> None:
    for args, error, pattern in op.errors:
        with pytest.raises(error, match=pattern):
            function(op)(*(to_tensor(a, op.dtypes[0]) for a in args))


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    x = engine.asarray(np.random.default_rng(0).standard_normal((300, 40, 37)).astype(np.float32))
    w = engine.asarray(np.random.default_rng(1).standard_normal((64, 37)).astype(np.float32))
    results = []
    before = engine.get_num_threads()
    try:
        for threads in (1, 2, 3, 7):
            engine.set_num_threads(threads)
            results.append(
                [x.sum(), x.sum(axis=(0, 1)), x.mean(axis=0), x.prod(axis=1), engine.exp(x),
                 engine.linear(x, w), x.var()]
            )  # fmt: skip
    finally:
        engine.set_num_threads(before)
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            assert a.numpy().tobytes() == b.numpy().tobytes()


def test_every_routine_has_a_row() -> None:
    rows = {op.name for op in OPS}
    elsewhere = set().union(*OTHERWISE_TESTED.values())
    public = set(public_routines())
    assert public - rows - elsewhere == set()
    assert rows - public == set()
    assert elsewhere - public == set()


def test_operations_tested_elsewhere_are_called_there() -> None:
    root = Path(__file__).parents[2]
    for file, names in OTHERWISE_TESTED.items():
        text = (root / file).read_text(encoding="utf-8")
        missing = [name for name in sorted(names)
                   if not re.search(rf"\b{name.rpartition('.')[2]}\(", text)]  # fmt: skip
        assert not missing, f"{file} does not call {missing}"
