"""Embedding: repeated rows, index checks, layouts."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine import _C
from tests.gradcheck import gradcheck
from tests.threads import assert_same_for_any_thread_count

rng = np.random.default_rng(2013)


def leaf(a: np.ndarray) -> engine.Tensor:
    t = engine.asarray(a)
    t.requires_grad = True
    return t


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("index", ["int64", "int32", "uint8"])
def test_rows_are_copied_exactly(dtype, index) -> None:
    table = rng.standard_normal((9, 21)).astype(dtype)
    idx = rng.integers(0, 9, (2, 3, 4)).astype(index)
    y = _C.embedding(engine.asarray(table), engine.asarray(idx))
    np.testing.assert_array_equal(y.numpy(), table[idx])


def test_repeated_rows_add_up_their_gradients() -> None:
    table = leaf(np.zeros((4, 2)))
    g = np.arange(10.0).reshape(5, 2)
    _C.embedding(table, engine.asarray([1, 3, 1, 1, 0])).backward(engine.asarray(g))
    assert table.grad.tolist() == [[8, 9], [0 + 4 + 6, 1 + 5 + 7], [0, 0], [2, 3]]


def test_gradient_matches_finite_differences() -> None:
    idx = engine.asarray([[0, 2, 2], [2, 4, 0]])
    gradcheck(lambda t: _C.embedding(t, idx), [rng.standard_normal((5, 3))])


def test_a_transposed_table_works() -> None:
    table = rng.standard_normal((3, 5))
    y = _C.embedding(engine.asarray(table).T, engine.asarray([4, 0]))
    np.testing.assert_array_equal(y.numpy(), table.T[[4, 0]])


def test_no_index_gives_no_row_and_a_zero_gradient() -> None:
    table = leaf(np.ones((2, 3)))
    y = _C.embedding(table, engine.zeros((0,), dtype=engine.int64))
    assert y.shape == (0, 3)
    y.sum().backward()
    assert table.grad.tolist() == [[0] * 3] * 2


def test_indices_are_kept_as_they_were_when_their_memory_is_reused() -> None:
    idx = np.array([0, 0])
    table = leaf(np.zeros((2, 1)))
    y = _C.embedding(table, engine.from_numpy(idx))
    idx[:] = 1
    y.sum().backward()
    assert table.grad.tolist() == [[2], [0]]


@pytest.mark.parametrize("bad", [5, -1])
def test_an_index_outside_the_table_is_named(bad) -> None:
    idx = engine.asarray([[0, 1], [bad, 2]])
    with pytest.raises(IndexError, match=rf"index {bad} at position 2 .* 5 rows"):
        _C.embedding(engine.ones((5, 3)), idx)


def test_fractional_indices_are_refused() -> None:
    with pytest.raises(TypeError, match="float.* expected integers"):
        _C.embedding(engine.ones((5, 3)), engine.asarray([1.0]))


def test_gradient_is_the_same_for_any_thread_count() -> None:
    idx = engine.asarray(rng.integers(0, 50, 5000))
    g = rng.standard_normal((5000, 33)).astype(np.float32)

    def compute():
        table = leaf(np.zeros((50, 33), np.float32))
        _C.embedding(table, idx).backward(engine.asarray(g))
        return [table.grad]

    assert_same_for_any_thread_count(compute)
