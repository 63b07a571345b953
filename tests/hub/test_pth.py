"""The .pth reader, on files that torch.save wrote and on files that mean harm.

`make_pth_fixtures.py` made the files in `fixtures/` with PyTorch, which these tests do not need.
Field cases B-08 and B-09 are here.
"""

from __future__ import annotations

import io
import os
import pickle
import random
import struct
import tracemalloc
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hub
from hub.pickle_reader import read_pickle
from hub.pth import LEGACY_MAGIC, PthFile

FIXTURES = Path(__file__).parent / "fixtures"
LAYOUTS = ["zip.pth", "zip_protocol4.pth", "legacy.pth"]
with np.load(FIXTURES / "expected.npz") as stored:
    EXPECTED = dict(stored)


@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.parametrize("file", LAYOUTS)
def test_values_shapes_and_dtypes_are_as_saved(file: str, name: str) -> None:
    np.testing.assert_array_equal(
        hub.read_state_dict(FIXTURES / file)[name], EXPECTED[name], strict=True
    )


@pytest.mark.parametrize("file", LAYOUTS)
def test_nothing_is_left_out(file: str) -> None:
    assert list(hub.read_state_dict(FIXTURES / file)) == list(EXPECTED)


@pytest.mark.parametrize("file", LAYOUTS)
def test_strides_are_honoured(file: str) -> None:
    state = hub.read_state_dict(FIXTURES / file)
    assert state["transposed"].strides == (4, 24)
    assert state["expanded"].strides == (0, 0)


@pytest.mark.parametrize("file", LAYOUTS)
def test_tensors_that_shared_a_storage_still_do(file: str) -> None:
    state = hub.read_state_dict(FIXTURES / file)
    assert np.shares_memory(state["shared"], state["shared_tail"])
    assert not np.shares_memory(state["shared"], state["contiguous"])


def test_zip_tensors_are_read_only_views_of_the_file() -> None:
    for name, array in hub.read_state_dict(FIXTURES / "zip.pth").items():
        if array.size and name != "bfloat":
            assert not array.flags.owndata and not array.flags.writeable, name


def test_bfloat16_can_be_had_as_it_is() -> None:
    state = hub.read_state_dict(FIXTURES / "zip.pth", widen_bfloat16=False)
    assert state["bfloat"].dtype == hub.BFLOAT16


def test_a_dtype_without_storage_class_is_read() -> None:
    np.testing.assert_array_equal(
        hub.read_state_dict(FIXTURES / "uint16.pth")["w"], np.array([1, 65535], "u2"), strict=True
    )


@pytest.mark.parametrize("file", ["training.pth", "training_legacy.pth"])
def test_the_model_is_found_inside_a_training_checkpoint(file: str) -> None:
    # `best_acc1` is a tensor beside it, and the optimizer holds tensors too.
    state = hub.read_state_dict(FIXTURES / file)
    assert len(state) == 7 and all(name.startswith("module.") for name in state)
    np.testing.assert_array_equal(
        state["module.0.weight"], np.arange(18, dtype="f4").reshape(2, 1, 3, 3)
    )


def test_what_is_no_tensor_is_read_too() -> None:
    value = PthFile(FIXTURES / "training.pth").value
    assert value["epoch"] == 3 and value["optimizer"]["param_groups"][0]["lr"] == 0.1


@pytest.mark.parametrize(
    ("file", "error", "said"),
    [
        ("whole_model.pth", hub.UnsafePickle, "torch.nn.modules.container.Sequential"),
        ("torchscript.pth", hub.UnsupportedFormat, "TorchScript"),
        ("complex.pth", hub.UnsupportedFormat, "ComplexFloatStorage"),
    ],
)
def test_other_things_that_torch_saves_are_named(
    file: str, error: type[hub.HubError], said: str
) -> None:
    with pytest.raises(error, match=said) as caught:
        hub.read_state_dict(FIXTURES / file)
    assert file in str(caught.value)


class Runs:
    """A value whose pickle runs a command when an ordinary reader loads it."""

    def __reduce__(self) -> Any:
        return os.system, ("touch pwned",)


def zip_file(value: Any, protocol: int = 2, **members: bytes) -> bytes:
    """A .pth in the zip format around any value, as an attacker would write it."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps(value, protocol=protocol))
        for name, content in members.items():
            archive.writestr(f"archive/{name}", content)
    return out.getvalue()


def legacy_file(
    value: Any, magic: Any = LEGACY_MAGIC, keys: Any = (), little_endian: Any = True
) -> bytes:
    """A .pth in the format before the zip one."""
    system = {"protocol_version": 1001, "little_endian": little_endian, "type_sizes": {}}
    parts = (magic, 1001, system, value, list(keys) if isinstance(keys, tuple) else keys)
    return b"".join(pickle.dumps(part, protocol=2) for part in parts)


HARMFUL: dict[str, bytes] = {
    "zip": zip_file(Runs()),
    "zip, as a weight": zip_file(OrderedDict(w=Runs())),
    "zip, in the optimizer": zip_file({"state_dict": {}, "optimizer": {"state": [Runs()]}}),
    "zip, protocol 4": zip_file(Runs(), protocol=4),
    "zip, in a resume checkpoint": zip_file({"epoch": 3, "model": {}, "rng": Runs()}),
    "zip, never used": zip_file([Runs(), 1]),
    "legacy": legacy_file(OrderedDict(w=Runs())),
    "legacy, in the optimizer": legacy_file({"optimizer": {"state": [Runs()]}}),
    "legacy, as magic number": legacy_file({}, magic=Runs()),
    "legacy, as system": legacy_file({}, little_endian=Runs()),
    "legacy, as storage keys": legacy_file({}, keys=[Runs()]),
}


@pytest.mark.parametrize("position", HARMFUL)
def test_a_pickle_that_would_run_code_is_refused_before_it_runs(
    position: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Field case B-08."""
    monkeypatch.chdir(tmp_path)
    Path("bad.pth").write_bytes(HARMFUL[position])
    with pytest.raises(hub.UnsafePickle) as caught:
        hub.read_state_dict("bad.pth")
    assert caught.value.disallowed.endswith(".system")
    assert "system" in str(caught.value) and "bad.pth" in str(caught.value)
    assert not Path("pwned").exists()


def test_an_ordinary_reader_would_have_run_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Otherwise the tests above would pass on harmless files.
    monkeypatch.chdir(tmp_path)
    with zipfile.ZipFile(io.BytesIO(HARMFUL["zip"])) as archive:
        pickle.loads(archive.read("archive/data.pkl"))
    assert Path("pwned").exists()


@pytest.mark.parametrize(
    "dotted",
    ["builtins.eval", "builtins.getattr", "torch.load", "torch.hub.load",
     "torch._utils._rebuild_tensor_v2.__globals__", "numpy.core.multiarray._reconstruct",
     "collections.OrderedDict.fromkeys"],
)  # fmt: skip
def test_only_listed_globals_can_be_named(dotted: str) -> None:
    module, _, name = dotted.rpartition(".")
    program = b"\x80\x02c" + f"{module}\n{name}\n".encode() + b"."
    with pytest.raises(hub.UnsafePickle) as caught:
        read_pickle(memoryview(program))
    assert caught.value.disallowed == dotted


@pytest.mark.parametrize("file", ["zip.pth", "legacy.pth"])
def test_a_file_cut_anywhere_is_refused(file: str, tmp_path: Path) -> None:
    content = (FIXTURES / file).read_bytes()
    path = tmp_path / "cut.pth"
    for length in {*range(0, len(content), 97), len(content) - 1}:
        path.write_bytes(content[:length])
        with pytest.raises(hub.HubError, match="cut.pth"):
            hub.read_state_dict(path)


@pytest.mark.parametrize("file", ["zip.pth", "legacy.pth", "training.pth", "zip_protocol4.pth"])
def test_damaged_bytes_never_raise_anything_but_a_hub_error(file: str, tmp_path: Path) -> None:
    content = (FIXTURES / file).read_bytes()
    path = tmp_path / "damaged.pth"
    refused = 0
    for seed in range(300):
        draw = random.Random(seed)
        damaged = bytearray(content)
        for _ in range(draw.choice((1, 3, 20))):
            damaged[draw.randrange(len(damaged))] = draw.randrange(256)
        path.write_bytes(damaged)
        try:
            hub.read_state_dict(path)
        except hub.HubError:
            refused += 1
    assert refused > 50


def test_a_big_endian_zip_is_named(tmp_path: Path) -> None:
    path = tmp_path / "big.pth"
    path.write_bytes(zip_file({}, byteorder=b"big"))
    with pytest.raises(hub.UnsupportedFormat, match="big-endian"):
        hub.read_state_dict(path)


def test_a_big_endian_legacy_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "big.pth"
    path.write_bytes(legacy_file({}, little_endian=False))
    with pytest.raises(hub.UnsupportedFormat, match="big-endian"):
        hub.read_state_dict(path)


def test_a_compressed_archive_is_not_inflated(tmp_path: Path) -> None:
    path = tmp_path / "bomb.pth"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", b"\0" * 10_000_000)
    with pytest.raises(hub.UnsupportedFormat, match="compressed"):
        hub.read_state_dict(path)


def test_two_members_of_one_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "twice.pth"
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps({}, 2))
        archive.writestr("archive/data.pkl", pickle.dumps({}, 2))
    with pytest.raises(hub.CorruptCheckpoint, match="same name"):
        hub.read_state_dict(path)


def tensor_program(shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0) -> bytes:
    """The pickle of {"w": a tensor over storage "0" of 4 floats}, opcode by opcode."""

    def integer(value: int) -> bytes:
        raw = value.to_bytes(9, "little", signed=True)
        return b"\x8a" + bytes([len(raw)]) + raw

    def text(value: str) -> bytes:
        return b"X" + struct.pack("<I", len(value)) + value.encode()

    def numbers(values: tuple[int, ...]) -> bytes:
        return b"(" + b"".join(map(integer, values)) + b"t"

    storage = (
        b"(" + text("storage") + b"ctorch\nFloatStorage\n" + text("0") + text("cpu") + integer(4)
        + b"tQ"
    )  # fmt: skip
    arguments = b"(" + storage + integer(offset) + numbers(shape) + numbers(strides) + b"\x89}t"
    rebuild = b"ctorch._utils\n_rebuild_tensor_v2\n"
    return b"\x80\x02}" + text("w") + rebuild + arguments + b"Rs."


def write_tensor(path: Path, *layout: Any) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", tensor_program(*layout))
        archive.writestr("archive/data/0", np.arange(4, dtype="f4").tobytes())


def test_a_handmade_tensor_is_read(tmp_path: Path) -> None:
    write_tensor(tmp_path / "w.pth", (2,), (2,), 1)
    assert hub.read_state_dict(tmp_path / "w.pth")["w"].tolist() == [1, 3]


@pytest.mark.parametrize(
    "layout",
    [((5,), (1,)), ((4,), (1,), 1), ((2,), (4,)), ((1,), (1,), 4), ((2, 2**61), (2**61, 1)),
     ((-1,), (1,)), ((2,), (-1,)), ((2,), (1, 1)), ((1,) * 33, (1,) * 33)],
)  # fmt: skip
def test_a_tensor_outside_its_storage_is_refused(tmp_path: Path, layout: Any) -> None:
    write_tensor(tmp_path / "w.pth", *layout)
    with pytest.raises(hub.CorruptCheckpoint):
        hub.read_state_dict(tmp_path / "w.pth")


def test_an_expanded_tensor_cannot_fill_the_memory(tmp_path: Path) -> None:
    write_tensor(tmp_path / "w.pth", (2**20, 2**20), (0, 0))
    with pytest.raises(hub.CorruptCheckpoint, match="expands"):
        hub.read_state_dict(tmp_path / "w.pth")


def nested_tuple_as_key() -> bytes:
    return b"\x80\x02})" + b"\x85" * 200_000 + b"K\x01s."


def copied_dicts() -> bytes:
    # One list of 30,000 pairs, made into a dict 5,000 times.
    pair = b"(K\x01K\x02l"
    fill = b"\x80\x02(]q\x00(" + pair * 30_000 + b"e"
    copy = b"ccollections\nOrderedDict\nh\x00\x85R"
    return fill + copy * 5_000 + b"l."


def huge_integer() -> bytes:
    return b"\x80\x02\x8b" + struct.pack("<I", 50_000_000) + b"\x01" * 50_000_000 + b"."


def claimed_string() -> bytes:
    return b"\x80\x02X" + struct.pack("<I", 2**32 - 1) + b"abc."


def lists_without_end() -> bytes:
    return b"\x80\x02" + b"]" * 300_000 + b"."


def dicts_without_end() -> bytes:
    return b"\x80\x02" + b"}" * 300_000 + b"."


def memos_without_end() -> bytes:
    return b"\x80\x04)" + b"\x94" * 300_000 + b"."


def tuples_in_tuples() -> bytes:
    return b"\x80\x02)" + b"\x85" * 300_000 + b"."


@pytest.mark.parametrize(
    "program",
    [nested_tuple_as_key, copied_dicts, huge_integer, claimed_string, lists_without_end,
     dicts_without_end, memos_without_end, tuples_in_tuples],
)  # fmt: skip
def test_a_hostile_program_costs_little(program: Callable[[], bytes]) -> None:
    data = memoryview(program())
    tracemalloc.start()
    try:
        read_pickle(data)
    except hub.HubError:
        pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10 * len(data) + 16_000_000


def test_a_version_that_would_print_for_ever_is_refused(tmp_path: Path) -> None:
    # A tuple of twice itself, sixty times: tiny in memory, endless as text.
    doubled = b"\x80\x02)q\x00" + b"h\x00h\x00\x86q\x00" * 60 + b"h\x00."
    path = tmp_path / "w.pth"
    path.write_bytes(pickle.dumps(LEGACY_MAGIC, protocol=2) + doubled)
    with pytest.raises(hub.UnsupportedFormat, match="version that is no number"):
        hub.read_state_dict(path)


@pytest.mark.parametrize(
    "program",
    [b"\x80\x02.", b"\x80\x02R.", b"\x80\x02(.", b"\x80\x02t.", b"\x80\x02h\x07.", b"\x80\x02a.",
     b"\x80\x02}(K\x01u.", b"\x80\x02K\x01K\x02Q.", b"\x80\x02ctorch\nSize\nK\x01R.",
     b"\x80\x02ctorch\nSize\n)R.", b"\x80\x02G\x00.", b"\x80\x02X\x01\x00\x00\x00\xff.",
     b"\x80\x02cno newline", b""],
)  # fmt: skip
def test_a_program_that_makes_no_sense_is_refused(program: bytes) -> None:
    with pytest.raises(hub.CorruptCheckpoint):
        read_pickle(memoryview(program))


def test_an_opcode_outside_the_list_is_named() -> None:
    with pytest.raises(hub.UnsupportedFormat, match="0x69"):  # INST, which makes instances
        read_pickle(memoryview(b"\x80\x02(ios\nsystem\n."))


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_plain_values_are_those_of_pickle(protocol: int) -> None:
    value = {"a": [1, -1, 2**40, -(2**70), 0.1, True, None], "b": (1, (2, 3, 4, 5)), "ä": b"raw"}
    if protocol == 2:
        value["ä"] = "text"  # protocol 2 writes bytes through a global that is not listed
    program = pickle.dumps(value, protocol=protocol)
    assert read_pickle(memoryview(program)).value == value
