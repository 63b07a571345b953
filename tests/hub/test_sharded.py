"""Checkpoints in several files (field case B-11): the index is the truth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

import hub
from hub.sharded import read_index
from tests.hub.test_pth import FIXTURES

ONE, TWO = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
A, B, C = (np.full(n, n, np.float32) for n in (1, 2, 3))


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """The index of a checkpoint in two files."""
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    save_file({"a": A, "b": B}, folder / ONE)
    save_file({"c": C}, folder / TWO)
    return write_index(folder / "model.safetensors.index.json", {"a": ONE, "c": TWO, "b": ONE})


def write_index(path: Path, weight_map: Any) -> Path:
    path.write_text(json.dumps({"metadata": {"total_size": 24}, "weight_map": weight_map}))
    return path


def test_tensors_come_from_their_shards(index: Path) -> None:
    state = hub.read_state_dict(index)
    assert {name: array.tolist() for name, array in state.items()} == {
        "a": [1], "b": [2, 2], "c": [3, 3, 3]
    }  # fmt: skip


def test_a_missing_shard_is_refused_by_name(index: Path) -> None:
    """Field case B-11."""
    (index.parent / TWO).unlink()
    with pytest.raises(hub.CorruptCheckpoint, match=TWO):
        hub.read_state_dict(index)


def test_a_stray_shard_is_ignored(index: Path) -> None:
    """Field case B-11."""
    save_file({"a": A + 100}, index.parent / "model-00003-of-00003.safetensors")
    (index.parent / "model-00000-of-00002.safetensors").write_bytes(b"no weights at all")
    assert hub.read_state_dict(index)["a"].tolist() == [1]


def test_a_tensor_that_the_index_places_elsewhere_is_ignored(index: Path) -> None:
    save_file({"c": C, "a": A + 100, "stray": A}, index.parent / TWO)
    state = hub.read_state_dict(index)
    assert state["a"].tolist() == [1] and "stray" not in state


def test_a_tensor_that_is_not_in_its_shard_is_refused(index: Path) -> None:
    write_index(index, {"a": TWO, "c": TWO})
    with pytest.raises(hub.CorruptCheckpoint, match=f"'a' is in {TWO}, but it is not"):
        hub.read_state_dict(index)


def test_a_damaged_shard_is_named(index: Path) -> None:
    path = index.parent / TWO
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(hub.CorruptCheckpoint, match=TWO):
        hub.read_state_dict(index)


def test_shards_of_pickles_are_read_too(tmp_path: Path) -> None:
    (tmp_path / "pytorch_model-00001-of-00001.bin").write_bytes((FIXTURES / "zip.pth").read_bytes())
    index = tmp_path / "pytorch_model.bin.index.json"
    write_index(index, {"half": "pytorch_model-00001-of-00001.bin"})
    assert list(hub.read_state_dict(index)) == ["half"]


def test_a_shard_that_is_an_index_is_refused(index: Path) -> None:
    write_index(index.parent / "other.json", {"c": TWO})
    write_index(index, {"c": "other.json"})
    with pytest.raises(hub.UnsupportedFormat, match=r"other\.json is an index"):
        hub.read_state_dict(index)


@pytest.mark.parametrize(
    "file",
    ["../secret.safetensors", "/etc/passwd", "a/b.safetensors", "a\\b", "C:x", "..", ".", "",
     "a\0b", None, 3, ["x"]],
)  # fmt: skip
def test_a_shard_outside_the_folder_is_refused(index: Path, file: Any) -> None:
    save_file({"a": A}, index.parents[1] / "secret.safetensors")
    write_index(index, {"a": file})
    with pytest.raises(hub.CorruptCheckpoint, match="'a' is said to be in"):
        hub.read_state_dict(index)


@pytest.mark.parametrize(
    "text",
    ["{", '{"weight_map"', '{"weight_map": {}}', '{"weight_map": []}', '{"weight_map": 1}', "[]",
     "", '{"weight_map": {"a": "x", "a": "y"}}', '{"weight_map": {"a": "x"}, "n": NaN}',
     '{"weight_map":' + "[" * 100_000],
)  # fmt: skip
def test_what_is_no_index_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "model.safetensors.index.json"
    path.write_text(text)
    with pytest.raises(hub.CorruptCheckpoint, match="no sound index|not a sound index"):
        read_index(path)
    with pytest.raises(hub.HubError):
        hub.read_state_dict(path)


def test_other_json_is_still_named_as_json(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text('{"model_type": "gpt2"}')
    with pytest.raises(hub.NotWeights, match="JSON"):
        hub.read_state_dict(path)
