"""The array object and its dtypes as the Python array API standard (2024.12) has them."""

from __future__ import annotations

import math

import numpy as np
import pytest

import engine

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float32", "float64")


def test_a_tensor_knows_its_namespace() -> None:
    x = engine.ones(2)
    assert x.__array_namespace__() is engine
    assert x.__array_namespace__(api_version="2024.12") is engine
    assert engine.__array_api_version__ == "2024.12"
    with pytest.raises(ValueError, match="1999.01"):
        x.__array_namespace__(api_version="1999.01")


def test_devices() -> None:
    x = engine.ones(2)
    info = engine.__array_namespace_info__()
    assert x.device == "cpu" == info.default_device() and info.devices() == [x.device]
    assert str(x.device) == "cpu" and hash(x.device) == hash("cpu")
    assert x.to_device("cpu") is x and x.to_device(x.device) is x
    assert engine.zeros(1, device=x.device).device == x.device
    with pytest.raises(NotImplementedError, match="cuda"):
        x.to_device("cuda")
    with pytest.raises(ValueError, match="stream"):
        x.to_device("cpu", stream=1)


def test_inspection() -> None:
    info = engine.__array_namespace_info__()
    limit = info.capabilities()["max dimensions"]
    assert engine.zeros((1,) * limit).ndim == limit
    with pytest.raises(ValueError, match="dimensions"):
        engine.zeros((1,) * (limit + 1))
    assert info.default_dtypes()["real floating"] == engine.asarray(0.5).dtype
    assert info.default_dtypes()["complex floating"] == engine.asarray(0.5j).dtype
    assert info.default_dtypes()["integral"] == engine.asarray(1).dtype
    assert set(info.dtypes(kind="real floating")) == set(FLOATS)
    assert set(info.dtypes(kind=("integral", "bool"))) == {*INTEGERS, "bool"}
    assert len(info.dtypes()) == 13


def test_kinds_of_dtypes() -> None:
    assert engine.isdtype(engine.int8, "signed integer")
    assert engine.isdtype(engine.bfloat16, ("bool", "real floating"))
    assert engine.isdtype(engine.int8, engine.int8)
    assert not engine.isdtype(engine.complex64, "real floating")
    with pytest.raises(ValueError, match="floaty"):
        engine.isdtype(engine.int8, "floaty")


def test_result_type() -> None:
    x = engine.ones(2, dtype=engine.int8)
    assert engine.result_type(x, engine.int32, 5) == engine.int32
    assert engine.result_type(x, 1.5) == engine.float32
    assert engine.result_type(engine.float64, 1j) == engine.complex128
    assert engine.result_type(True, 2) == engine.int64
    assert engine.result_type(engine.uint8, x) == engine.int16
    with pytest.raises(ValueError, match="at least one"):
        engine.result_type()


def test_can_cast() -> None:
    assert engine.can_cast(engine.int8, engine.int64)
    assert engine.can_cast(engine.ones(1), engine.complex64)
    assert not engine.can_cast(engine.int64, engine.float64)
    assert not engine.can_cast(engine.uint8, engine.int8)


@pytest.mark.parametrize("name", ["float16", "float32", "float64", "complex64", "complex128"])
def test_finfo_matches_numpy(name: str) -> None:
    ours, theirs = engine.finfo(getattr(engine, name)), np.finfo(name)
    for field in ("bits", "eps", "max", "min", "smallest_normal"):
        assert getattr(ours, field) == getattr(theirs, field)
    assert ours.dtype == str(theirs.dtype)


def test_finfo_of_bfloat16() -> None:
    info = engine.finfo(engine.bfloat16)
    largest = engine.asarray(info.max).astype(engine.bfloat16)
    assert largest.item() == info.max and math.isinf((largest * 2).item())
    one = engine.ones((), dtype=engine.bfloat16)
    assert (one + info.eps).item() > 1 and (one + info.eps / 4).item() == 1
    with pytest.raises(TypeError, match="int8"):
        engine.finfo(engine.int8)


@pytest.mark.parametrize("name", INTEGERS)
def test_iinfo_matches_numpy(name: str) -> None:
    ours, theirs = engine.iinfo(getattr(engine, name)), np.iinfo(name)
    assert (ours.bits, ours.min, ours.max) == (theirs.bits, theirs.min, theirs.max)
    with pytest.raises(TypeError, match="float32"):
        engine.iinfo(engine.float32)


def test_astype_function() -> None:
    x = engine.asarray([1.5])
    assert engine.astype(x, engine.float32).data_ptr() != x.data_ptr()
    assert engine.astype(x, engine.float32, copy=False) is x
    assert engine.astype(x, engine.int8, device="cpu").tolist() == [1]


def test_creation_keeps_large_integers_exact() -> None:
    big = 2**62
    assert engine.arange(big, big + 3).tolist() == [big, big + 1, big + 2]
    assert engine.arange(5, 0, -2).tolist() == [5, 3, 1]
    assert engine.full((), 2**63 + 1, dtype=engine.uint64).item() == 2**63 + 1
    assert engine.full_like(engine.zeros(2, dtype=engine.int64), big + 1).tolist() == [big + 1] * 2
    assert engine.arange(-(2**63), 2**63 - 1, 2**62).tolist() == [
        -(2**63), -(2**62), 0, 2**62]  # fmt: skip


def test_asarray_takes_buffers_and_copies_as_asked() -> None:
    import array

    numbers = array.array("d", [1.0, 2.0])
    x = engine.asarray(numbers)
    assert x.dtype == engine.float64
    numbers[0] = 5.0
    assert x.tolist() == [5, 2]
    assert engine.asarray(numbers, copy=True).data_ptr() != x.data_ptr()
    assert engine.asarray(x, copy=False) is x
    with pytest.raises(ValueError, match="copy"):
        engine.asarray([1.0], copy=False)
    with pytest.raises(ValueError, match="copy"):
        engine.asarray(x, dtype=engine.float32, copy=False)


SCALAR_CASES = [
    (lambda x: 2 ** x, "pow"), (lambda x: x % 3, "remainder"), (lambda x: 7 // x, "floor_divide"),
    (lambda x: x << 1, "left_shift"), (lambda x: 64 >> x, "right_shift"), (lambda x: x ^ 3, "xor"),
    (lambda x: 5 & x, "and"), (lambda x: 1 | x, "or"),
]  # fmt: skip


@pytest.mark.parametrize("call", [c for c, _ in SCALAR_CASES], ids=[n for _, n in SCALAR_CASES])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_numbers_on_either_side_of_operators(call, dtype: str) -> None:
    a = np.array([1, 2, 3, 5], dtype)
    got = call(engine.asarray(a))
    want = call(a)
    assert got.dtype == dtype
    np.testing.assert_array_equal(got.numpy(), want)


def test_numbers_that_do_not_fit_never_wrap() -> None:
    x = engine.asarray([1, 255], dtype=engine.uint8)
    assert (x + 300).tolist() == [301, 555] and (x + 300).dtype == engine.int64
    assert (x == -1).tolist() == [False, False] and (x < 256).tolist() == [True, True]
    assert (x - 1).dtype == engine.uint8
    with pytest.raises(TypeError, match="cannot hold"):
        x += 300
    assert (engine.asarray([2**60]) + 2**60).tolist() == [2**61]


@pytest.mark.parametrize("name", ["add", "maximum", "atan2", "hypot", "copysign", "equal", "less"])
def test_numbers_on_either_side_of_functions(name: str) -> None:
    function = getattr(engine, name)
    x = engine.asarray([0.5, 2.0])
    reference = getattr(np, {"atan2": "arctan2"}.get(name, name))
    np.testing.assert_allclose(function(x, 1.5).numpy(), reference(x.numpy(), np.float32(1.5)))
    np.testing.assert_allclose(function(1.5, x).numpy(), reference(np.float32(1.5), x.numpy()))


def test_in_place_operators_write_to_the_same_memory() -> None:
    x = engine.asarray([1, 2, 3])
    view = x[1:]
    x |= 4
    x &= 6
    x ^= engine.asarray([1, 1, 1])
    x <<= 2
    x >>= 1
    assert x.tolist() == [((((v | 4) & 6) ^ 1) << 2) >> 1 for v in (1, 2, 3)]
    assert view.tolist() == x.tolist()[1:]
    m = engine.eye(2)
    alias = m.detach()
    m @= engine.asarray([[1.0, 2.0], [3.0, 4.0]])
    assert alias.tolist() == [[1, 2], [3, 4]]
    with pytest.raises(TypeError, match="integers"):
        x <<= engine.asarray([0.5])


def test_shifts_beyond_the_width_leave_the_sign() -> None:
    x = engine.asarray([-5, 5], dtype=engine.int8)
    assert (x >> 100).tolist() == [-1, 0] and (x << 8).tolist() == [0, 0]
    with pytest.raises(TypeError, match="bool"):
        engine.bitwise_left_shift(engine.asarray([True]), engine.asarray([True]))


def test_conversion_to_python_numbers() -> None:
    assert complex(engine.asarray(1.5)) == 1.5 and int(engine.asarray(True)) == 1
    assert [10, 20, 30][engine.asarray(2)] == 30 and range(engine.asarray(3)) == range(3)
    with pytest.raises(TypeError, match="0-d integer"):
        [10][engine.asarray(0.0)]
    with pytest.raises(ValueError, match="single element"):
        float(engine.ones(2))


def test_signs_of_zero_and_nan() -> None:
    x = engine.asarray([0.0, -0.0, math.nan, -math.inf])
    assert engine.signbit(x).tolist() == [False, True, False, True]
    assert engine.signbit(engine.asarray([-3, 3])).tolist() == [True, False]
    assert engine.copysign(engine.asarray([1.0, 2.0]), -0.0).tolist() == [-1, -2]
    up = engine.nextafter(engine.asarray([0.0]), 1.0)
    assert up.item() == 2.0**-149
