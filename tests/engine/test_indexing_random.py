"""Reading and writing through random indices: whatever numpy answers, so do tensors."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import engine


def entry(rng: random.Random, size: int) -> Any:
    """One index for an axis of that size, of any kind that numpy knows."""
    at = [rng.randint(-size, size - 1) for _ in range(2)] if size else []
    ends = [None, *range(-size - 2, size + 3)]
    piece = slice(rng.choice(ends), rng.choice(ends), rng.choice([None, 1, 2, -1, -2, 3]))
    kinds = [
        at[0] if size else piece,
        np.int64(at[0]) if size else piece,
        piece,
        piece,
        None,
        at[: rng.randint(1, 2)] if size else np.array([], int),
        np.array([at], np.int32) if size else piece,
        np.array([rng.random() < 0.5 for _ in range(size)], bool),
        rng.choice([True, False, np.True_, np.array(True)]),
    ]
    return rng.choice(kinds)


def is_truth(x: Any) -> bool:
    return isinstance(x, (bool, np.bool_)) or (isinstance(x, np.ndarray) and x.shape == ())


def random_case(rng: random.Random) -> tuple[np.ndarray, Any]:
    shape = tuple(rng.choice([0, 1, 2, 3, 4]) for _ in range(rng.randrange(4)))
    array = np.arange(int(np.prod(shape))).reshape(shape).astype(rng.choice(["f8", "c8", "i2"]))
    key: list[Any] = []
    axis, wanted = 0, rng.randint(0, len(shape))
    while axis < wanted:
        key.append(entry(rng, shape[axis]))
        axis += not (key[-1] is None or is_truth(key[-1]))
    if rng.random() < 0.4:
        key.insert(rng.randint(0, len(key)), Ellipsis)
    return array, key[0] if len(key) == 1 else tuple(key)


@pytest.mark.parametrize("seed", range(600))
def test_random_indices_match_numpy(seed: int) -> None:
    rng = random.Random(seed)
    array, key = random_case(rng)
    tensor = engine.asarray(array, copy=True)
    try:
        wanted = array[key]
    except IndexError:
        with pytest.raises(IndexError):
            tensor[key]
        return
    np.testing.assert_array_equal(tensor[key].numpy(), wanted, err_msg=repr(key))
    values = [7, np.arange(wanted.size).reshape(wanted.shape) + 100]
    value = np.asarray(rng.choice(values)).astype(array.dtype)
    array[key] = value
    tensor[key] = engine.asarray(value)
    np.testing.assert_array_equal(tensor.numpy(), array, err_msg=repr(key))


@pytest.mark.parametrize("shape", [(4096,), (4097,), (3, 5000), (2, 3, 70000)])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_masks_of_many_blocks(shape: tuple[int, ...], share: float) -> None:
    rng = np.random.default_rng(5)
    x, mask = rng.standard_normal(shape), rng.random(shape) < share
    places = engine.nonzero(engine.asarray(mask))
    for ours, theirs in zip(places, np.nonzero(mask), strict=True):
        assert np.array_equal(ours.numpy(), theirs)
    assert np.array_equal(engine.asarray(x)[engine.asarray(mask)].numpy(), x[mask])


def test_the_first_index_out_of_range_is_named_among_many() -> None:
    indices = np.zeros(200_000, np.int64)
    indices[[150_000, 180_000]] = 7, -9
    with pytest.raises(IndexError, match=r"7 \(position 150000 of the index\).* size 7"):
        engine.zeros(7)[engine.asarray(indices)]


@pytest.mark.parametrize("exponent", [2, 3, 2.0, 2.5])
def test_small_powers_are_those_of_numpy(exponent: float) -> None:
    x = np.array([-0.0, 0.0, 1.5, 3.0, np.inf, np.nan, 1e200])
    with np.errstate(over="ignore"):
        np.testing.assert_allclose((engine.asarray(x) ** exponent).numpy(), x**exponent, rtol=1e-15)
