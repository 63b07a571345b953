"""`zoo.load` of weights by address, and of checkpoints in several files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

import hub
import zoo
from tests.fake_server import FakeServer

LETTERS = Path(zoo.__file__).parent / "assets" / "resnet20.letters.safetensors"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeServer]:
    monkeypatch.setenv("ZOO_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("ZOO_OFFLINE", raising=False)
    with FakeServer() as running:
        yield running


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """A folder with the letters' weights in two files and an index of them."""
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    state = hub.read_state_dict(LETTERS)
    names = list(state)
    shards = {"one.safetensors": names[:20], "two.safetensors": names[20:]}
    for file, own in shards.items():
        save_file({name: state[name] for name in own}, folder / file)
    weight_map = {name: file for file, own in shards.items() for name in own}
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))
    return folder


def assert_same(model: object, wanted: Path) -> None:
    state = hub.read_state_dict(wanted)
    for name, tensor in model.state_dict().items():  # type: ignore[attr-defined]
        np.testing.assert_array_equal(tensor.numpy(), state[name])


def test_weights_by_address(server: FakeServer) -> None:
    url = server.add("/w.safetensors", LETTERS.read_bytes())
    model = zoo.load("resnet20", weights=url)
    assert_same(model, LETTERS)
    assert model.source == {"name": url, "sha256": hub.sha256_file(LETTERS)}


def test_a_checkpoint_in_several_files_by_its_folder_or_index(checkpoint: Path) -> None:
    for weights in (checkpoint, checkpoint / "model.safetensors.index.json"):
        assert_same(zoo.load("resnet20", weights=weights), LETTERS)


def test_a_missing_shard_is_named(checkpoint: Path) -> None:
    """Field case B-11: the rest must not stay random."""
    (checkpoint / "two.safetensors").unlink()
    with pytest.raises(hub.CorruptCheckpoint, match=r"two\.safetensors"):
        zoo.load("resnet20", weights=checkpoint)
