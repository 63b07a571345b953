"""Creation, conversion, layout, numpy interchange and indexing."""

from __future__ import annotations

import gc
import pickle
import weakref

import numpy as np
import pytest

import engine

DTYPES = ("bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64",
          "float16", "float32", "float64")  # fmt: skip


def test_python_numbers_take_the_default_dtypes() -> None:
    assert engine.asarray(1.5).dtype == engine.float32
    assert engine.asarray([[1, 2]]).dtype == engine.int64
    assert engine.asarray([True]).dtype == engine.bool
    assert engine.asarray(np.float64(1.5)).dtype == engine.float64


def test_asarray_refuses_what_is_no_array_of_numbers() -> None:
    with pytest.raises(TypeError, match="cannot make a tensor"):
        engine.asarray(["a", "b"])


@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_round_trip_shares_memory(dtype: str) -> None:
    a = np.arange(6).reshape(2, 3).astype(dtype)
    t = engine.from_numpy(a)
    assert t.dtype == dtype
    assert t.data_ptr() == a.__array_interface__["data"][0]
    b = t.numpy()
    assert np.shares_memory(a, b)
    a[0, 1] = 1
    assert b[0, 1] == 1 and b.dtype == a.dtype


REVERSED = {
    "1d": np.arange(6)[::-1],
    "columns": np.arange(12).reshape(3, 4)[:, ::-1],
    "single": np.zeros((1, 10, 20))[::-1],
    "contiguous_single": np.ascontiguousarray(np.zeros((1, 10, 20))[::-1]),
    "both": np.arange(24.0).reshape(4, 6)[::-2, ::-1],
    "broadcast": np.broadcast_to(np.arange(3.0), (4, 3)),
    "transposed": np.arange(24.0).reshape(2, 3, 4).transpose(2, 0, 1),
}


@pytest.mark.parametrize("name", REVERSED)
def test_e06_any_numpy_strides_give_the_right_values(name: str) -> None:
    a = REVERSED[name]
    for _ in range(100):
        t = engine.from_numpy(a)
        np.testing.assert_array_equal(t.numpy(), a)
        np.testing.assert_array_equal((t + 1).numpy(), a + 1)
        np.testing.assert_array_equal(t.sum(axis=0).numpy(), a.sum(0))


def test_read_only_arrays_are_shared_and_never_written() -> None:
    a = np.arange(3.0)
    a.flags.writeable = False
    t = engine.from_numpy(a)
    assert t.data_ptr() == a.__array_interface__["data"][0]
    assert not t.numpy().flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        t.add_(1)
    with pytest.raises(ValueError, match="read-only"):
        t[0] = 1.0
    assert (t.clone().add_(1)).tolist() == [1, 2, 3]


def test_foreign_byte_order_and_odd_strides_are_copied() -> None:
    big = np.array([1.0, 2.0], ">f8")
    assert engine.from_numpy(big).tolist() == [1, 2]
    record = np.zeros(3, dtype=[("a", "i1"), ("b", "<f4")])
    record["b"] = [1, 2, 3]
    assert engine.from_numpy(record["b"]).tolist() == [1, 2, 3]


def test_the_array_lives_as_long_as_the_tensor() -> None:
    class Holder(np.ndarray):
        pass

    a = np.arange(5.0).view(Holder)
    alive = weakref.ref(a)
    t = engine.from_numpy(a)
    del a
    gc.collect()
    assert alive() is not None and t.sum().item() == 10
    view = t.numpy()
    del t
    gc.collect()
    assert view.sum() == 10


def test_numpy_refuses_a_tensor_that_records() -> None:
    t = engine.ones(2)
    t.requires_grad = True
    with pytest.raises(engine.AutogradError, match="detach"):
        t.numpy()
    assert np.asarray(t.detach()).sum() == 2


def test_bfloat16_rounds_to_nearest_even() -> None:
    t = engine.asarray([1.0, 1.00390625, 1.01171875, 3.0e38, float("nan")]).astype(engine.bfloat16)
    back = t.astype(engine.float32).tolist()
    assert back[:3] == [1.0, 1.0, 1.015625]
    assert np.isnan(back[4])
    with pytest.raises(TypeError, match="bfloat16"):
        t.numpy()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("to", DTYPES)
def test_astype_matches_numpy(dtype: str, to: str) -> None:
    a = np.array([0, 1, 2, 100]).astype(dtype)
    got = engine.from_numpy(a).astype(getattr(engine, to)).numpy()
    np.testing.assert_array_equal(got, a.astype(to))


def test_float_to_integer_saturates() -> None:
    t = engine.asarray([1e20, -1e20, float("nan"), -1.7])
    assert t.astype(engine.int32).tolist() == [2**31 - 1, -(2**31), 0, -1]
    assert t.astype(engine.uint8).tolist() == [255, 0, 0, 0]


PROMOTIONS = [
    ("uint8", "int8", "int16"), ("uint32", "int8", "int64"), ("int8", "int16", "int16"),
    ("bool", "uint8", "uint8"), ("int64", "float32", "float32"), ("float16", "bfloat16", "float32"),
    ("float32", "float64", "float64"), ("float16", "int64", "float16"),
]  # fmt: skip


@pytest.mark.parametrize("a, b, expected", PROMOTIONS)
def test_promotion(a: str, b: str, expected: str) -> None:
    x, y = engine.ones(2, dtype=getattr(engine, a)), engine.ones(2, dtype=getattr(engine, b))
    assert (x + y).dtype == (y + x).dtype == expected
    assert engine.promote_types(x.dtype, y.dtype) == expected


def test_python_scalars_are_weak() -> None:
    assert (engine.ones(2, dtype=engine.float16) + 1.5).dtype == engine.float16
    assert (engine.ones(2, dtype=engine.uint8) + 1).dtype == engine.uint8
    assert (engine.ones(2, dtype=engine.int64) * 0.5).dtype == engine.float32
    assert (2 - engine.ones(2)).tolist() == [1, 1]


def test_creation() -> None:
    assert engine.zeros((2, 3)).tolist() == [[0, 0, 0]] * 2
    assert engine.ones(2, dtype=engine.int32).tolist() == [1, 1]
    assert engine.empty((0, 4)).shape == (0, 4)
    assert engine.full((2,), 7).dtype == engine.int64
    assert engine.arange(2, 9, 3).tolist() == [2, 5, 8]
    assert engine.arange(3).dtype == engine.int64
    np.testing.assert_allclose(engine.linspace(0, 1, 5).numpy(), np.linspace(0, 1, 5))
    assert engine.linspace(0, 1, 4, endpoint=False).tolist() == [0, 0.25, 0.5, 0.75]
    assert engine.eye(2, 3, k=1).tolist() == [[0, 1, 0], [0, 0, 1]]
    like = engine.zeros((2, 3), dtype=engine.float64)
    assert engine.zeros_like(like).dtype == engine.float64
    assert engine.ones_like(like).sum().item() == 6
    assert engine.full_like(like, 2.0).sum().item() == 12
    assert engine.empty_like(like, dtype=engine.int8).dtype == engine.int8


def test_creation_refuses_nonsense() -> None:
    with pytest.raises(ValueError, match="negative"):
        engine.zeros((2, -1))
    with pytest.raises(ValueError, match="too large"):
        engine.empty((2**40, 2**40))
    with pytest.raises(NotImplementedError, match="cuda"):
        engine.zeros(2, device="cuda")
    with pytest.raises(ValueError, match="step"):
        engine.arange(0, 3, 0)


def test_dtypes_are_values() -> None:
    assert engine.dtype_named("float32") is engine.float32
    assert pickle.loads(pickle.dumps(engine.int8)) == engine.int8
    assert str(engine.bfloat16) == "bfloat16" and engine.bfloat16.itemsize == 2
    assert {engine.float32: 1}[engine.float32] == 1
    assert engine.zeros(1, dtype=np.float64).dtype == "float64"
    with pytest.raises(TypeError, match="clongdouble|complex256"):
        engine.zeros(1, dtype=np.clongdouble)


def test_out_of_memory_says_what_is_held() -> None:
    with pytest.raises(MemoryError, match="held by live tensors"):
        engine.empty((2**46,), dtype=engine.uint8)


def test_channels_last_is_strides_alone() -> None:
    t = engine.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5)
    nhwc = t.contiguous("channels_last")
    assert nhwc.strides() == (60, 1, 15, 3)
    assert nhwc.is_contiguous("channels_last") and not nhwc.is_contiguous()
    np.testing.assert_array_equal(nhwc.numpy(), t.numpy())
    assert (nhwc + 1).is_contiguous("channels_last")  # elementwise keeps the order of strides
    assert engine.relu(nhwc).is_contiguous("channels_last")


@pytest.fixture
def cube() -> tuple[np.ndarray, engine.Tensor]:
    a = np.arange(60.0).reshape(3, 4, 5)
    return a, engine.asarray(a, copy=True)


INDICES = [
    0, -1, slice(1, None), slice(None, None, -1), (Ellipsis, 2), (0, slice(None), 3),
    (None, 1), (slice(None), None, slice(0, 2)), [0, 2], ([0, 2], [1, 3]), (slice(None), [1, 1]),
    (0, slice(None), [0, 1]), ([0, 1], slice(None), [0, 1]), (slice(None), [0, 1], [0, 1]),
    np.array([[0, 1], [2, 0]]), (Ellipsis, np.array([4, 0])), slice(5, 2), [], (1, [0, 1], 2),
]  # fmt: skip


def _for_numpy(key: object) -> object:
    return np.array([], int) if isinstance(key, list) and not key else key


@pytest.mark.parametrize("key", INDICES, ids=repr)
def test_indexing_matches_numpy(key: object, cube) -> None:
    a, t = cube
    np.testing.assert_array_equal(t[key].numpy(), a[_for_numpy(key)])


@pytest.mark.parametrize("key", INDICES, ids=repr)
def test_assignment_matches_numpy(key: object, cube) -> None:
    a, t = cube
    numpy_key = _for_numpy(key)
    value = np.arange(a[numpy_key].size, dtype=float).reshape(a[numpy_key].shape) + 100
    a[numpy_key] = value
    t[key] = engine.asarray(value)
    np.testing.assert_array_equal(t.numpy(), a)


def test_boolean_masks(cube) -> None:
    a, t = cube
    np.testing.assert_array_equal(t[t > 30].numpy(), a[a > 30])
    rows = np.array([True, False, True])
    np.testing.assert_array_equal(t[rows].numpy(), a[rows])
    np.testing.assert_array_equal(t[rows, 1].numpy(), a[rows, 1])
    t[t > 30] = 0.0
    a[a > 30] = 0
    np.testing.assert_array_equal(t.numpy(), a)


def test_basic_indexing_is_a_view_and_selection_a_copy(cube) -> None:
    _, t = cube
    t[0, 1].fill_(7)
    assert t[0, 1].tolist() == [7] * 5
    t[[0]].fill_(9)
    assert t[0, 1].tolist() == [7] * 5


@pytest.mark.parametrize("key, message", [
    (3, "3 is out of range for axis 0 of size 3"), ((0, 0, 0, 0), "4 indices"),
    ([0, 3], "3 .* out of range for axis 0"), ("a", "expected integers"),
    (np.zeros(2, bool), "mask of shape"), ([0.5], "integers or bool"),
])  # fmt: skip
def test_bad_indices_are_named(key: object, message: str, cube) -> None:
    with pytest.raises(IndexError, match=message):
        cube[1][key]


def test_iteration_and_length(cube) -> None:
    a, t = cube
    assert len(t) == 3
    assert [float(row.sum()) for row in t] == [row.sum() for row in a]
    with pytest.raises(TypeError):
        len(engine.asarray(1.0))


def test_truth_needs_a_single_element() -> None:
    assert bool(engine.asarray(2.0)) and not bool(engine.asarray([0]))
    with pytest.raises(ValueError, match="neither true nor false"):
        bool(engine.ones(2))


def test_in_place_operators_keep_the_object() -> None:
    x = engine.ones(3)
    y = x
    x += 2
    x *= engine.asarray([1.0, 2.0, 3.0])
    assert y is x and y.tolist() == [3, 6, 9]


def test_in_place_refuses_what_would_not_fit() -> None:
    with pytest.raises(ValueError, match="must fit"):
        engine.ones(3).add_(engine.ones((2, 3)))
    with pytest.raises(TypeError, match="cannot hold"):
        engine.ones(3, dtype=engine.int64).add_(0.5)


def test_in_place_on_overlapping_memory_reads_before_it_writes() -> None:
    x = engine.arange(6).astype(engine.float32)
    x[1:].add_(x[:-1])
    assert x.tolist() == [0, 1, 3, 5, 7, 9]


def test_e05_long_sums_do_not_saturate() -> None:
    t = engine.from_numpy(np.ones((20_000_000, 2), np.float32))
    assert t.sum(axis=0).tolist() == [20_000_000, 20_000_000]
    assert t.mean(axis=0).tolist() == [1, 1]
    h = engine.ones(4096, dtype=engine.float16)
    assert h.sum().item() == 4096 and h.mean().item() == 1
    assert engine.ones((100_000,), dtype=engine.float16).mean().item() == 1


def test_e04_nan_is_never_hidden() -> None:
    n = float("nan")
    assert str(engine.relu(engine.asarray([n, -1, 2])).tolist()) == "[nan, 0.0, 2.0]"
    for a in ([n, 1, 2], [1, n, 2], [1, 2, n]):
        t = engine.asarray(a)
        assert np.isnan(t.max().item()) and np.isnan(t.min().item())
        assert t.argmax().item() == t.argmin().item() == a.index(n)
    assert np.isnan(engine.asarray([n, 5.0]).clip(0, 1).tolist()[0])
    assert np.isnan(engine.maximum(engine.asarray([n, 1]), engine.asarray([1.0, n])).numpy()).all()
    row = engine.asarray([[[[n, 1.0, 2.0, 3.0]]], [[[1.0, n, 2.0, 3.0]]]])
    pooled = engine.nn.functional.max_pool2d(row, (1, 2)).tolist()
    assert str(pooled) == "[[[[nan, 3.0]]], [[[nan, 3.0]]]]"


def test_empty_reductions() -> None:
    assert engine.zeros((0, 3)).sum(axis=0).tolist() == [0, 0, 0]
    assert engine.ones((0, 4)).max(axis=1).shape == (0,)
    with pytest.raises(ValueError, match="no elements"):
        engine.ones((0, 4)).max(axis=0)


def test_repr_says_what_it_is() -> None:
    x = engine.asarray([1.0, 2.0])
    assert repr(x) == "Tensor([1., 2.], dtype=float32)"
    x.requires_grad = True
    assert "requires_grad=True" in repr(x) and "grad_fn=multiply" in repr(x * 2)


def test_numpy_arrays_and_tensors_mix_in_operators() -> None:
    t = engine.asarray([1.0, 2.0])
    assert (np.array([1.0, 1.0], np.float32) + t).tolist() == [2, 3]
    assert isinstance(np.array([1.0, 1.0]) * t, engine.Tensor)
