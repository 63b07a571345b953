"""The tar format of the oldest public weights (field case B-09), read without unpacking."""

from __future__ import annotations

import io
import os
import pickle
import struct
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hub
from tests.hub.legacy_tar import Named, pickled, sample, tar_file, tar_members

WHOLE = tar_members(sample())


def read(tmp_path: Path, content: bytes) -> dict[str, Any]:
    path = tmp_path / "old.pth"
    path.write_bytes(content)
    return hub.read_state_dict(path)


@pytest.mark.parametrize("format", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT, tarfile.USTAR_FORMAT])
def test_values_shapes_and_strides_are_as_saved(tmp_path: Path, format: int) -> None:
    """Field case B-09."""
    state = read(tmp_path, tar_file(WHOLE, format))
    assert list(state) == list(sample())
    for name, array in sample().items():
        np.testing.assert_array_equal(state[name], array, strict=True)
        assert state[name].strides == array.strides


def test_tensors_of_one_storage_share_memory(tmp_path: Path) -> None:
    state = read(tmp_path, tar_file(WHOLE))
    assert np.shares_memory(state["plain"], state["tail"])
    assert not state["plain"].flags.writeable


@pytest.mark.parametrize("name", ["../x", "/tmp/x", "a/../../x", "pickle/x"])
def test_other_members_are_not_unpacked(tmp_path: Path, name: str) -> None:
    """Field case B-09: a member that points outside."""
    inside = tmp_path / "inside"
    inside.mkdir()
    state = read(inside, tar_file({name: b"content", **WHOLE}))
    np.testing.assert_array_equal(state["plain"], sample()["plain"])
    assert [p.name for p in tmp_path.rglob("*")] == ["inside", "old.pth"]


class Runs:
    def __reduce__(self) -> Any:
        return os.system, ("touch pwned",)


@pytest.mark.parametrize("member", ["sys_info", "pickle", "tensors", "storages"])
def test_code_in_any_member_is_refused_before_it_runs(
    tmp_path: Path, member: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    content = tar_file({**WHOLE, member: pickle.dumps(Runs(), protocol=2)})
    with pytest.raises(hub.UnsafePickle, match="system"):
        read(tmp_path, content)
    assert not (tmp_path / "pwned").exists()


def test_a_module_saved_whole_is_refused(tmp_path: Path) -> None:
    value = {"model": Named("mypackage", "Net")}
    with pytest.raises(hub.UnsafePickle, match="mypackage.Net"):
        read(tmp_path, tar_file(tar_members(sample(), value)))


def one_storage(size: int, numel: int = 2, views: Any = ()) -> bytes:
    head = pickled(1) + pickled((7, "cpu", Named("torch", "FloatStorage")))
    return head + struct.pack("<q", numel) + bytes(size) + pickled(list(views))


def one_tensor(
    shape: tuple[int, ...], strides: tuple[int, ...], offset: int, key: int = 7
) -> bytes:
    head = pickled(1) + pickled((1, key, Named("torch", "FloatTensor")))
    sizes = struct.pack(f"<ii{2 * len(shape)}q", len(shape), 0, *shape, *strides)
    return head + sizes + struct.pack("<q", offset)


SMALL = {**tar_members({"w": np.zeros(2, np.float32)}), "storages": one_storage(8)}


def test_a_view_of_a_storage_is_a_part_of_it(tmp_path: Path) -> None:
    storages = (
        pickled(1) + pickled((7, "cpu", Named("torch", "FloatStorage"))) + struct.pack("<q", 4)
        + np.arange(4, dtype=np.float32).tobytes() + pickled([(8, 7, 1, 3)])
    )  # fmt: skip
    tensors = one_tensor((2,), (1,), 1, key=8)
    state = read(tmp_path, tar_file({**SMALL, "storages": storages, "tensors": tensors}))
    assert state["w"].tolist() == [2, 3]


@pytest.mark.parametrize(
    "members",
    [
        {"tensors": one_tensor((3,), (1,), 0)},
        {"tensors": one_tensor((1,), (1,), 2)},
        {"tensors": one_tensor((-1,), (1,), 0)},
        {"tensors": one_tensor((2**40, 2**40), (0, 0), 0)},
        {"tensors": one_tensor((2,), (1,), 0, key=9)},
        {"tensors": one_tensor((2,), (1,), 0)[:-1]},
        {"tensors": pickled(1) + pickled((1, 7, 0)) + struct.pack("<ii", 2**31 - 1, 0)},
        {"tensors": pickled(1) + pickled((1, 7, 0)) + struct.pack("<ii", -1, 0)},
        {"tensors": pickled(10**9)},
        {"tensors": pickled("many")},
        {"tensors": pickled(1) + pickled((1, 7))},
        {"storages": one_storage(7)},
        {"storages": one_storage(8, -1)},
        {"storages": one_storage(8, 2**60)},
        {"storages": one_storage(8, 2, [(8, 7, 1, 2)])},
        {"storages": one_storage(8, 2, [(8, 7, -1, 1)])},
        {"storages": one_storage(8, 2, [(8, 9, 0, 1)])},
        {"storages": one_storage(8, 2, [7])},
        {"storages": pickled(1) + pickled((7, "cpu", Named("torch", "FloatTensor")))},
        {"storages": pickled(1) + pickled(([], "cpu", Named("torch", "FloatStorage")))},
        {"pickle": b"\x80\x02X\x01\x00\x00\x009Q."},
        {"pickle": b""},
    ],
    ids=lambda members: next(iter(members)),
)  # fmt: skip
def test_numbers_that_lie_are_refused(tmp_path: Path, members: dict[str, bytes]) -> None:
    sound = {**SMALL, "tensors": one_tensor((2,), (1,), 0)}
    assert read(tmp_path, tar_file(sound))["w"].shape == (2,)
    with pytest.raises((hub.CorruptCheckpoint, hub.UnsupportedFormat)):
        read(tmp_path, tar_file({**sound, **members}))


def test_a_file_cut_anywhere_is_refused(tmp_path: Path) -> None:
    content = tar_file(WHOLE)
    end = content.rindex(WHOLE["storages"]) + len(WHOLE["storages"])
    for length in {*range(1, end, 173), end - 1}:
        with pytest.raises(hub.HubError):
            read(tmp_path, content[:length])


def test_an_archive_of_something_else_is_named(tmp_path: Path) -> None:
    with pytest.raises(hub.UnsupportedFormat, match="tar archive without 'sys_info'"):
        read(tmp_path, tar_file({"model.pth": b"content"}))


def test_a_big_endian_file_is_named(tmp_path: Path) -> None:
    members = {**WHOLE, "sys_info": pickled({"little_endian": False})}
    with pytest.raises(hub.UnsupportedFormat, match="big-endian"):
        read(tmp_path, tar_file(members))


def test_a_member_that_is_a_link_is_refused(tmp_path: Path) -> None:
    out = io.BytesIO(tar_file(WHOLE))
    with tarfile.open(fileobj=out, mode="a") as archive:
        info = tarfile.TarInfo("pickle")
        info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(info)
    with pytest.raises(hub.CorruptCheckpoint, match="plain file"):
        read(tmp_path, out.getvalue())


def test_thousands_of_members_are_refused(tmp_path: Path) -> None:
    with pytest.raises(hub.CorruptCheckpoint, match="more than 64 members"):
        read(tmp_path, tar_file({f"m{i}": b"" for i in range(100)}))
