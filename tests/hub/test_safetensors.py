"""The mapped reader and the atomic writer of .safetensors files (field case B-07 among them)."""

from __future__ import annotations

import json
import resource
import signal
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

import hub
from hub.atomic import atomic_file

F32 = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}


def raw_file(header: Any, data: bytes = b"", length: int | None = None) -> bytes:
    """A file with this header (JSON text, or a value to write as JSON) and data."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (len(text) if length is None else length).to_bytes(8, "little") + text + data


def entry(dtype: str, shape: list[Any], begin: Any, end: Any) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


HOSTILE = {
    "length 2^64-1": raw_file({"a": F32}, b"1234", 2**64 - 1),
    "length 2^63-1": raw_file({"a": F32}, b"1234", 2**63 - 1),
    "length 200 MB": raw_file({"a": F32}, b"1234", 200_000_000),
    "length beyond the end": raw_file({"a": F32}, b"1234", 1000),
    "shape larger than data": raw_file({"a": entry("F32", [1000, 1000], 0, 4)}, b"1234"),
    "begin after end": raw_file({"a": entry("F32", [1], 4, 0)}, b"1234"),
    "overlap": raw_file({"a": F32, "b": F32}, b"1234"),
    "partial overlap": raw_file(
        {"a": entry("F32", [2], 0, 8), "b": entry("F32", [1], 4, 8)}, b"12345678"
    ),
    "hole": raw_file({"a": F32, "b": entry("F32", [1], 8, 12)}, b"1234" * 3),
    "hole at the start": raw_file({"a": entry("F32", [1], 4, 8)}, b"1234" * 2),
    "past the end": raw_file({"a": entry("F32", [2], 0, 8)}, b"1234"),
    "trailing bytes": raw_file({"a": F32}, b"12345"),
    "unknown dtype": raw_file({"a": entry("Q9", [1], 0, 4)}, b"1234"),
    "dtype no text": raw_file({"a": entry(7, [1], 0, 4)}, b"1234"),  # type: ignore[arg-type]
    "product overflows": raw_file({"a": entry("F32", [2**32, 2**32], 0, 0)}),
    "zero hides a huge size": raw_file({"a": entry("F32", [0, 2**62, 4], 0, 0)}),
    "duplicate key": raw_file(
        b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},'
        b'"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}',
        b"1234",
    ),
    "duplicate field": raw_file(
        b'{"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}}', b"1234"
    ),
    "negative size": raw_file({"a": entry("F32", [-1], 0, 4)}, b"1234"),
    "fractional size": raw_file({"a": entry("F32", [1.0], 0, 4)}, b"1234"),
    "true as size": raw_file({"a": entry("F32", [True], 0, 4)}, b"1234"),
    "true as offset": raw_file({"a": entry("U8", [1], False, True)}, b"1"),
    "negative offset": raw_file({"a": entry("F32", [1], -4, 0)}, b"1234"),
    "too many dimensions": raw_file({"a": entry("F32", [1] * 65, 0, 4)}, b"1234"),
    "three offsets": raw_file({"a": {**F32, "data_offsets": [0, 4, 4]}}, b"1234"),
    "missing field": raw_file({"a": {"dtype": "F32", "shape": [1]}}, b"1234"),
    "extra field": raw_file({"a": {**F32, "x": 1}}, b"1234"),
    "entry no table": raw_file({"a": [1]}, b"1234"),
    "metadata no strings": raw_file({"__metadata__": {"a": 1}}),
    "header no table": raw_file(b"[]      "),
    "header no JSON": raw_file(b"{'a': 1}"),
    "header no UTF-8": raw_file(b'{"\xff": 1}'),
    "NaN": raw_file(b'{"a":{"dtype":"F32","shape":[NaN],"data_offsets":[0,4]}}', b"1234"),
    "deep nesting": raw_file(b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
    "integer of 10,000 digits": raw_file(b'{"a":' + b"9" * 10_000 + b"}"),
    "7 bytes": b"1234567",
    "0 bytes": b"",
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "w.safetensors"


@pytest.mark.parametrize("fault", HOSTILE)
def test_a_header_that_lies_is_refused(path: Path, fault: str) -> None:
    """Field case B-07."""
    path.write_bytes(HOSTILE[fault])
    with pytest.raises(hub.HubError, match=str(path)):
        hub.SafetensorsFile(path)
    with pytest.raises(hub.HubError, match=str(path)):
        hub.read_state_dict(path)


def test_a_huge_header_is_refused_at_once_and_without_memory(path: Path) -> None:
    # The 200 MB are there this time (as a hole in the file), so only the limit can refuse them.
    with open(path, "wb") as f:
        f.write((200_000_000).to_bytes(8, "little") + b"{")
        f.truncate(200_000_100)
    tracemalloc.start()
    began = time.monotonic()
    with pytest.raises(hub.CorruptCheckpoint, match="200,000,000"):
        hub.read_state_dict(path)
    seconds, (_, peak) = time.monotonic() - began, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert seconds < 1 and peak < 1_000_000


def test_zero_and_scalar_shapes_are_read(path: Path) -> None:
    """Field case B-07: sound files that look odd."""
    header = {"empty": entry("F32", [0, 3], 0, 0), "scalar": entry("F32", [], 0, 4)}
    path.write_bytes(raw_file(header, np.float32(1.5).tobytes()))
    state = hub.read_state_dict(path)
    assert state["empty"].shape == (0, 3)
    assert state["scalar"].shape == () and state["scalar"] == 1.5


def test_an_eight_bit_float_is_named_as_unsupported(path: Path) -> None:
    path.write_bytes(raw_file({"a": entry("F8_E4M3", [1], 0, 1)}, b"1"))
    with pytest.raises(hub.UnsupportedFormat, match="F8_E4M3"):
        hub.read_state_dict(path)


def every_dtype() -> dict[str, np.ndarray[Any, Any]]:
    names = "? u1 i1 u2 i2 u4 i4 u8 i8 f2 f4 f8".split()
    values = np.array([[0, 1, 2], [3, 4, 100]])
    return {f"dtype {name}": values.astype(name) for name in names}


def test_the_reference_library_reads_what_is_written(path: Path) -> None:
    arrays = every_dtype()
    hub.write_safetensors(path, arrays, {"arch": "tiny"})
    theirs = safetensors.numpy.load_file(path)
    assert theirs.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(theirs[name], array, strict=True)


def test_what_the_reference_library_writes_is_read(path: Path) -> None:
    arrays = every_dtype()
    safetensors.numpy.save_file(arrays, path, {"arch": "tiny"})
    ours, metadata = hub.read_safetensors(path)
    assert metadata == {"arch": "tiny"}
    for name, array in arrays.items():
        np.testing.assert_array_equal(ours[name], array, strict=True)


def test_arrays_are_read_only_views_of_the_file(path: Path) -> None:
    hub.write_safetensors(path, {"w": np.ones((1000, 1000), np.float32)})
    tracemalloc.start()
    array = hub.read_state_dict(path)["w"]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 200_000
    assert not array.flags.writeable and not array.flags.owndata


def test_views_outlive_the_reader_and_the_file(path: Path) -> None:
    hub.write_safetensors(path, {"w": np.arange(5)})
    array = hub.read_state_dict(path)["w"]
    hub.write_safetensors(path, {"w": np.zeros(5)})
    np.testing.assert_array_equal(array, np.arange(5))


def test_data_that_is_not_aligned_is_copied(path: Path) -> None:
    path.write_bytes(raw_file(json.dumps({"a": F32}).encode() + b" ", np.float32(2).tobytes()))
    array = hub.read_state_dict(path)["a"]
    assert array.flags.aligned and array[0] == 2


def test_bfloat16_is_widened_exactly(path: Path) -> None:
    bits = np.array([0x3FC0, 0xC040, 0x7F80], "<u2").view(hub.BFLOAT16)
    hub.write_safetensors(path, {"b": bits})
    np.testing.assert_array_equal(
        hub.read_state_dict(path)["b"], np.array([1.5, -3, np.inf], np.float32), strict=True
    )


def test_bfloat16_can_be_had_as_it_is(path: Path) -> None:
    bits = np.array([0x3FC0], "<u2").view(hub.BFLOAT16)
    hub.write_safetensors(path, {"b": bits})
    array = hub.read_state_dict(path, widen_bfloat16=False)["b"]
    assert array.dtype == hub.BFLOAT16 and array["bfloat16"][0] == 0x3FC0


def test_nobody_computes_with_bfloat16_bits_by_mistake() -> None:
    bits = np.array([0x3FC0], "<u2").view(hub.BFLOAT16)
    with pytest.raises(TypeError):
        bits + bits


@pytest.mark.parametrize("layout", ["transposed", "strided", "reversed", "big-endian", "expanded"])
def test_any_layout_is_written_as_its_values(path: Path, layout: str) -> None:
    base = np.arange(24, dtype=np.float32).reshape(4, 6)
    array = {
        "transposed": base.T,
        "strided": base[1:, ::2],
        "reversed": base[::-1, ::-1],
        "big-endian": base.astype(">f4"),
        "expanded": np.broadcast_to(base[0], (3, 6)),
    }[layout]
    hub.write_safetensors(path, {"w": array})
    np.testing.assert_array_equal(hub.read_state_dict(path)["w"], array)


def test_a_large_strided_array_is_written_in_pieces(path: Path) -> None:
    array = np.ones((2048, 4096), np.float32).T
    tracemalloc.start()
    hub.write_safetensors(path, {"w": array})
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < array.nbytes / 2
    assert hub.read_state_dict(path)["w"].sum() == array.size


def test_the_same_tensors_give_the_same_bytes_in_any_order(path: Path) -> None:
    arrays = every_dtype()
    hub.write_safetensors(path, arrays, {"a": "1", "b": "2"})
    first = path.read_bytes()
    hub.write_safetensors(path, dict(reversed(arrays.items())), {"b": "2", "a": "1"})
    assert path.read_bytes() == first


def test_a_metadata_number_is_refused(path: Path) -> None:
    with pytest.raises(TypeError, match="json.dumps"):
        hub.write_safetensors(path, {}, {"epoch": 3})  # type: ignore[dict-item]
    assert not path.exists()


def test_a_list_is_no_tensor(path: Path) -> None:
    with pytest.raises(TypeError, match="numpy array"):
        hub.write_safetensors(path, {"w": [1, 2]})  # type: ignore[dict-item]


def test_a_dtype_without_a_name_is_refused(path: Path) -> None:
    with pytest.raises(hub.UnsupportedFormat, match="complex128"):
        hub.write_safetensors(path, {"w": np.array([1j])})


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """As a disk that is full after `size` bytes of a file."""
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
        signal.signal(signal.SIGXFSZ, handler)


def test_a_full_disk_leaves_the_old_file_and_nothing_else(path: Path) -> None:
    hub.write_safetensors(path, {"w": np.zeros(10)})
    before = path.read_bytes()
    with largest_file(10_000), pytest.raises(hub.DiskFull, match="80,0.. bytes are needed"):
        hub.write_safetensors(path, {"w": np.zeros(10_000)})
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_full_disk_is_an_oserror_too(path: Path) -> None:
    with largest_file(1000), pytest.raises(OSError) as caught:
        hub.write_safetensors(path, {"w": np.zeros(10_000)})
    assert caught.value.strerror == str(caught.value)


def test_an_error_while_writing_keeps_the_old_content(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_bytes(b"old")
    with pytest.raises(KeyError), atomic_file(target) as f:
        f.write(b"new")
        raise KeyError
    assert target.read_bytes() == b"old" and list(tmp_path.iterdir()) == [target]


def test_written_files_have_the_usual_permissions(path: Path) -> None:
    usual = path.with_name("usual")
    usual.write_bytes(b"")
    hub.write_safetensors(path, {})
    assert path.stat().st_mode == usual.stat().st_mode
