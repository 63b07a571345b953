"""Any shape, strides and dtype: the operations beside numpy's, on inputs that nobody chose.

The examples are the same in every run. `ZOO_EXAMPLES=2000 python -m pytest
tests/engine/test_properties.py` searches further, among other examples each time.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import engine
from tests.engine.arrays import FLOATS, INTS, Pair, broadcastable, shapes, views

_EXAMPLES = int(os.environ.get("ZOO_EXAMPLES", "0"))
examples = settings(
    max_examples=_EXAMPLES or 60, deadline=None, derandomize=not _EXAMPLES, database=None
)

# name: (numpy's function, how many units in the last place it may be off)
UNARY: dict[str, tuple[Any, int]] = {
    "abs": (np.abs, 0), "negative": (np.negative, 0), "square": (np.square, 0),
    "sign": (np.sign, 0), "floor": (np.floor, 0), "ceil": (np.ceil, 0), "trunc": (np.trunc, 0),
    "round": (np.round, 0), "sqrt": (np.sqrt, 0), "reciprocal": (np.reciprocal, 0),
    "exp": (np.exp, 2), "expm1": (np.expm1, 3), "exp2": (np.exp2, 3), "log": (np.log, 2),
    "log1p": (np.log1p, 3), "log2": (np.log2, 2), "log10": (np.log10, 2), "sin": (np.sin, 2),
    "cos": (np.cos, 2), "tan": (np.tan, 2), "asin": (np.arcsin, 2), "acos": (np.arccos, 2),
    "atan": (np.arctan, 2), "sinh": (np.sinh, 3), "cosh": (np.cosh, 3), "tanh": (np.tanh, 3),
    "asinh": (np.arcsinh, 3), "acosh": (np.arccosh, 3), "atanh": (np.arctanh, 3),
    "isnan": (np.isnan, 0), "isinf": (np.isinf, 0), "isfinite": (np.isfinite, 0),
    "signbit": (np.signbit, 0),
}  # fmt: skip
INTEGER_UNARY = ("abs", "negative", "square", "sign", "floor", "ceil", "trunc", "round")
BINARY = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "maximum": np.maximum,
    "minimum": np.minimum, "floor_divide": np.floor_divide, "remainder": np.remainder,
    "equal": np.equal, "not_equal": np.not_equal, "less": np.less, "less_equal": np.less_equal,
    "greater": np.greater, "greater_equal": np.greater_equal,
}  # fmt: skip
FLOAT_BINARY = {
    "divide": np.divide, "atan2": np.arctan2, "hypot": np.hypot, "copysign": np.copysign,
    "logaddexp": np.logaddexp,
}  # fmt: skip
REDUCTIONS = {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min, "mean": np.mean,
              "any": np.any, "all": np.all, "var": np.var, "std": np.std}  # fmt: skip


def check(got: engine.Tensor, wanted: Any, ulp: int = 0, scale: Any = None) -> None:
    """Equal in shape, dtype and value: NaN where NaN is, zeros of one sign, others to within `ulp`
    units in the last place of the value, or of `scale` where that is given and larger."""
    x, y = got.numpy(), np.asarray(wanted)
    assert x.shape == y.shape and x.dtype == y.dtype, (x.shape, x.dtype, y.shape, y.dtype)
    if y.dtype.kind != "f":
        np.testing.assert_array_equal(x, y)
        return
    if ulp == 0:
        np.testing.assert_array_equal(x, y)
        np.testing.assert_array_equal(np.signbit(x[y == 0]), np.signbit(y[y == 0]))
        return
    np.testing.assert_array_equal(np.isnan(x), np.isnan(y))
    largest = np.finfo(y.dtype).max
    with np.errstate(all="ignore"):
        size = np.abs(y) if scale is None else np.maximum(np.abs(y), np.asarray(scale, y.dtype))
        unit = np.spacing(np.minimum(size, largest / 2))
        right = (x == y) | np.isnan(y) | (np.abs(x - y) <= ulp * unit)
        # So near the end of the range rounding may decide for infinity.
        right |= (np.abs(x) > largest * 0.999) & (np.abs(y) > largest * 0.999) & (x * y > 0)
    assert right.all(), (x[~right], y[~right])


@pytest.mark.parametrize("name", UNARY)
@examples
@given(data=st.data())
def test_unary(name: str, data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(FLOATS + (INTS if name in INTEGER_UNARY else ())))
    x, t = data.draw(views(data.draw(shapes()), dtype, special=True))
    function, ulp = UNARY[name]
    with np.errstate(all="ignore"):
        # float32 beside numpy in float64, so that numpy's own rounding does not count.
        wide = x.astype(np.float64) if dtype == "float32" and ulp else x
        wanted = np.asarray(function(wide))
        wanted = wanted.astype(x.dtype) if wanted.dtype.kind == "f" else wanted
    check(getattr(engine, name)(t), wanted, ulp)


@pytest.mark.parametrize("name", [*BINARY, *FLOAT_BINARY])
@examples
@given(data=st.data())
def test_binary_broadcasts_and_promotes(name: str, data: st.DataObject) -> None:
    kind = FLOATS if name in FLOAT_BINARY else data.draw(st.sampled_from((FLOATS, INTS)))
    first, second = data.draw(st.sampled_from(kind)), data.draw(st.sampled_from(kind))
    # Signed integers beside uint64 have no common integer type: the standard has no rule.
    assume("uint64" not in (first, second) or first[0] == second[0])
    shape_a, shape_b = data.draw(broadcastable(2))
    a, b = data.draw(views(shape_a, first)), data.draw(views(shape_b, second))
    with np.errstate(all="ignore"):
        wanted = np.asarray((BINARY | FLOAT_BINARY)[name](a.numpy, b.numpy))
    ulp = {"atan2": 2, "hypot": 2, "logaddexp": 3}.get(name, 0)
    got = getattr(engine, name)(a.tensor, b.tensor)
    if name in ("floor_divide", "remainder") and kind is FLOATS:
        divided = np.broadcast_to(b.numpy, wanted.shape) != 0  # by 0 the standard differs
        check(got[engine.asarray(divided)], wanted[divided], 1)
    else:
        check(got, wanted, ulp, scale=1 if name == "logaddexp" else None)


@pytest.mark.parametrize("name", REDUCTIONS)
@examples
@given(data=st.data())
def test_reductions(name: str, data: st.DataObject) -> None:
    kinds = (*FLOATS, "bool") if name in ("any", "all") else FLOATS
    if name in ("sum", "prod", "max", "min"):
        kinds = (*FLOATS, *INTS)
    x, t = data.draw(views(data.draw(shapes()), data.draw(st.sampled_from(kinds))))
    axes = data.draw(st.lists(st.integers(-x.ndim, x.ndim - 1), unique_by=lambda a: a % x.ndim)
                     if x.ndim else st.just([]))  # fmt: skip
    axis = data.draw(st.sampled_from((None, tuple(axes), axes[0] if axes else None)))
    reduced = range(x.ndim) if axis is None else (axis if isinstance(axis, tuple) else (axis,))
    if name in ("max", "min", "mean", "var", "std"):
        assume(all(x.shape[a] for a in reduced))  # of nothing: an error or NaN, tested elsewhere
    keepdims = data.draw(st.booleans())
    wanted = np.asarray(REDUCTIONS[name](x, axis=axis, keepdims=keepdims))
    scale = None
    if name in ("sum", "mean", "var", "std"):
        scale = np.sum(np.abs(x.astype(np.float64)), axis=axis, keepdims=keepdims)
    got = getattr(engine, name)(t, axis=axis, keepdims=keepdims)
    if x.dtype.kind in "iu" and name in ("sum", "prod"):
        assert got.dtype in (engine.int64, engine.uint64)
        wanted = wanted.astype(got.numpy().dtype)
    check(got, wanted, 0 if x.dtype.kind != "f" or name in ("max", "min") else 40, scale=scale)


@examples
@given(data=st.data())
def test_matrix_products(data: st.DataObject) -> None:
    side = st.integers(0, 9)
    n, k, m = data.draw(side), data.draw(side), data.draw(side)
    batch_a, batch_b = data.draw(broadcastable(2))
    dtype = data.draw(st.sampled_from(FLOATS))
    a = data.draw(views((*batch_a, n, k), dtype))
    b = data.draw(views((*batch_b, k, m), dtype))
    wanted = np.matmul(a.numpy.astype(np.float64), b.numpy.astype(np.float64)).astype(dtype)
    bound = np.matmul(np.abs(a.numpy), np.abs(b.numpy))
    check(engine.matmul(a.tensor, b.tensor), wanted, 8, scale=bound)


def _pairs(data: st.DataObject, count: int = 1, max_side: int = 5) -> list[Pair]:
    shape = data.draw(shapes(max_side=max_side).filter(len))
    dtype = data.draw(st.sampled_from((*FLOATS, *INTS, "bool")))
    return [data.draw(views(shape, dtype)) for _ in range(count)]


@examples
@given(data=st.data())
def test_moving_elements(data: st.DataObject) -> None:
    (x, t), (y, u) = _pairs(data, 2)
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    order = tuple(data.draw(st.permutations(range(x.ndim))))
    shift = data.draw(st.integers(-7, 7))
    check(engine.permute_dims(t, order), np.transpose(x, order))
    check(engine.reshape(t, (-1,) if x.size else (0,)), x.reshape(-1))
    check(engine.flip(t, axis=axis), np.flip(x, axis))
    check(engine.roll(t, shift, axis=axis), np.roll(x, shift, axis))
    check(engine.concat([t, u, t], axis=axis), np.concatenate([x, y, x], axis))
    check(engine.stack([t, u], axis=axis), np.stack([x, y], axis))
    check(engine.repeat(t, 3, axis=axis), np.repeat(x, 3, axis))
    check(engine.tile(t, (2, 1, 3)), np.tile(x, (2, 1, 3)))
    check(engine.moveaxis(t, axis, 0), np.moveaxis(x, axis, 0))
    check(engine.where(engine.asarray(x == y), t, u), np.where(x == y, x, y))
    check(t.astype(engine.float64), x.astype(np.float64))


@examples
@given(data=st.data())
def test_order(data: st.DataObject) -> None:
    ((x, t),) = _pairs(data, max_side=40)
    assume(x.dtype != bool and x.size < 20_000)
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    check(engine.sort(t, axis=axis), np.sort(x, axis))
    check(engine.argsort(t, axis=axis), np.argsort(x, axis, kind="stable"))
    check(engine.unique_values(t), np.unique(x))
    k = data.draw(st.integers(0, x.shape[axis]))
    values, indices = engine.topk(t, k, axis)
    wanted = np.flip(np.sort(x, axis), axis)
    check(values, np.take(wanted, np.arange(k), axis))
    check(engine.take_along_axis(t, indices, axis=axis), values.numpy())
    if x.shape[axis]:
        check(engine.argmax(t, axis=axis), np.argmax(x, axis))
        check(engine.argmin(t, axis=axis), np.argmin(x, axis))
    if x.dtype.kind == "f":
        summed = engine.cumulative_sum(t, axis=axis)
        check(summed, np.cumsum(x.astype(np.float64), axis).astype(x.dtype), 40,
              scale=np.abs(x).sum() + 1)  # fmt: skip


@examples
@given(data=st.data())
def test_changes_in_place_of_views(data: st.DataObject) -> None:
    shape = data.draw(shapes())
    dtype = data.draw(st.sampled_from(FLOATS))
    base = np.random.default_rng(data.draw(st.integers(0, 99))).normal(size=shape).astype(dtype)
    tensor = engine.asarray(base.copy())
    cut = tuple(slice(data.draw(st.integers(0, 2)), None, data.draw(st.sampled_from((1, 2, -1))))
                for _ in shape)  # fmt: skip
    other = data.draw(views(base[cut].shape, dtype))
    base[cut] += other.numpy
    tensor[cut] += other.tensor
    base[cut] *= 1.5
    view = tensor[cut]
    view *= 1.5
    check(tensor, base)


@examples
@given(data=st.data())
def test_gradients_do_not_depend_on_the_layout(data: st.DataObject) -> None:
    """The gradient of a program of views equals that of the same numbers in a row."""
    shape_a, shape_b = data.draw(broadcastable(2))
    a, b = data.draw(views(shape_a, "float64")), data.draw(views(shape_b, "float64"))

    def gradients(first: engine.Tensor, second: engine.Tensor) -> list[np.ndarray]:
        leaves = [first.detach(), second.detach()]
        for leaf in leaves:
            leaf.requires_grad = True
        y = engine.tanh(leaves[0] * leaves[1]) + engine.sin(leaves[0]) * leaves[1]
        (y * y).sum().backward()
        return [leaf.grad.numpy() for leaf in leaves]

    strided = gradients(a.tensor, b.tensor)
    dense = gradients(engine.asarray(a.numpy.copy()), engine.asarray(b.numpy.copy()))
    for x, y in zip(strided, dense, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12)
