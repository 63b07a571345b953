"""Random arrays for property tests: any shape, strides and dtype, as numpy array and as tensor."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

import engine

FLOATS = ("float32", "float64")
INTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")

# Values at which functions break: zeros of both signs, the ends of the range, and beyond it.
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 3e38, -3e38, 1e6, 1e9)


class Pair(NamedTuple):
    """The same numbers twice, in memory laid out alike."""

    numpy: np.ndarray
    tensor: engine.Tensor


def shapes(max_dims: int = 4, max_side: int = 5) -> st.SearchStrategy[tuple[int, ...]]:
    return st.lists(st.integers(0, max_side), max_size=max_dims).map(tuple)


@st.composite
def numbers(draw: st.DrawFn, shape: tuple[int, ...], dtype: str, special: bool) -> np.ndarray:
    """An array of small numbers, among them `SPECIAL` ones if asked."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if dtype == "bool":
        return np.asarray(rng.random(shape) < 0.5)
    if dtype in INTS:
        low = 0 if dtype.startswith("u") else -9
        return np.asarray(rng.integers(low, 10, shape)).astype(dtype)
    values = np.asarray(rng.normal(0, 3, shape))
    if special:
        chosen = rng.random(shape) < 0.3
        values = np.where(chosen, rng.choice(SPECIAL, shape), values)
    return np.asarray(values).astype(dtype)


@st.composite
def views(draw: st.DrawFn, shape: tuple[int, ...], dtype: str, special: bool = False) -> Pair:
    """A view of that shape into a larger array whose axes are permuted, cut, skipped, reversed and
    repeated."""
    order = draw(st.permutations(range(len(shape))))
    steps = [draw(st.sampled_from((1, 1, 2, -1, -2))) for _ in shape]
    starts = [draw(st.integers(0, 2)) for _ in shape]
    repeated = [side > 0 and draw(st.booleans()) and draw(st.booleans()) for side in shape]
    inner = [1 if again else side for side, again in zip(shape, repeated, strict=True)]
    whole = [
        start + abs(step) * side for side, step, start in zip(inner, steps, starts, strict=True)
    ]
    cuts = [_cut(*given) for given in zip(inner, steps, starts, whole, strict=True)]
    memory = tuple(whole[axis] for axis in order)
    back = tuple(int(axis) for axis in np.argsort(np.asarray(order, dtype=int)))
    base = draw(numbers(memory, dtype, special))
    x: Any = np.broadcast_to(np.transpose(base, back)[tuple(cuts)], shape)
    t = engine.broadcast_to(engine.permute_dims(engine.asarray(base), back)[tuple(cuts)], shape)
    assert t.shape == x.shape == shape
    return Pair(x, t)


def _cut(side: int, step: int, start: int, whole: int) -> slice:
    """`side` elements of an axis of length `whole`, behind the first `start`."""
    if step > 0:
        return slice(start, start + step * side, step)
    if side == 0:
        return slice(0, 0, 1)
    last = whole + step * (side - 1) - 1
    return slice(whole - 1, last - 1 if last > 0 else None, step)


@st.composite
def broadcastable(draw: st.DrawFn, count: int) -> list[tuple[int, ...]]:
    """Shapes that broadcast together."""
    common = draw(shapes())
    found = []
    for _ in range(count):
        kept = common[draw(st.integers(0, len(common))) :]
        found.append(tuple(1 if draw(st.booleans()) else side for side in kept))
    return found
