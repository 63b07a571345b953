"""Files of the cache whose names vouch for their content."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import hub
from hub.sealed import find_sealed, write_sealed

ARRAYS = {"n": np.arange(4, dtype=np.int16)}


def test_what_was_written_is_found(tmp_path: Path) -> None:
    path = write_sealed(tmp_path / "made", "a", ARRAYS, {"by": "x"})
    assert find_sealed(tmp_path / "made", "a") == path
    arrays, about = hub.read_safetensors(path)
    assert arrays["n"].tolist() == [0, 1, 2, 3] and about == {"by": "x"}


def test_every_flip_of_a_byte_is_noticed(tmp_path: Path) -> None:
    path = write_sealed(tmp_path, "a", ARRAYS, {})
    whole = path.read_bytes()
    for at in range(len(whole)):
        for flip in (0x01, 0x80, 0xFF):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ flip]) + whole[at + 1 :])
            assert find_sealed(tmp_path, "a") is None
            assert not path.exists()
    path.write_bytes(whole)
    assert find_sealed(tmp_path, "a") == path


@pytest.mark.parametrize("length", [0, 1, -1])
def test_a_file_of_another_length_is_removed(tmp_path: Path, length: int) -> None:
    path = write_sealed(tmp_path, "a", ARRAYS, {})
    path.write_bytes(path.read_bytes()[:length] if length else path.read_bytes() + b" ")
    assert find_sealed(tmp_path, "a") is None and not path.exists()


def test_a_new_one_takes_the_place_of_the_old_and_of_no_other(tmp_path: Path) -> None:
    other = write_sealed(tmp_path, "b", ARRAYS, {})
    old = write_sealed(tmp_path, "a", ARRAYS, {"n": "1"})
    new = write_sealed(tmp_path, "a", ARRAYS, {"n": "2"})
    assert find_sealed(tmp_path, "a") == new and not old.exists() and other.exists()


def test_a_failed_write_leaves_what_was_there(tmp_path: Path) -> None:
    old = write_sealed(tmp_path, "a", ARRAYS, {})
    with pytest.raises(TypeError):
        write_sealed(tmp_path, "a", {"n": "no array"}, {})  # type: ignore[dict-item]
    assert [path.name for path in tmp_path.iterdir()] == [old.name]
