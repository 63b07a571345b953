"""No changed byte of a small entry of the cache is ever used, wherever it is changed."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import hub
import zoo.data.facts_cache as facts_cache
from hub.cache import Cache
from zoo.data.facts import inspect
from zoo.data.image_folder import scan
from zoo.text.corpus import load_corpus
from zoo.text.tokenizer import byte_tokenizer
from zoo.train.checkpoint import Checkpoints
from zoo.train.feature_cache import FeatureCache


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ZOO_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def flips(path: Path, step: int = 1) -> Iterator[int]:
    """Positions of the file's bytes; while one is out, a bit of that byte is flipped, or, in the
    name of a dtype, the letter is that of another one. Files that are written anew each time, which
    takes a while, are left out but for every so many bytes; tests/hub/test_sealed.py has the rest.
    """
    whole = path.read_bytes()
    for at, byte in list(enumerate(whole))[::step]:
        others = [byte ^ (1 << at % 8)]
        if whole[at - 1 : at] == b'"' and chr(byte) in "FIU":
            others += [ord(letter) for letter in "FIU" if letter != chr(byte)]
        for other in others:
            path.write_bytes(whole[:at] + bytes([other]) + whole[at + 1 :])
            yield at
    path.write_bytes(whole)


def test_weights(home: Path) -> None:
    cache = Cache(home)
    (home / "blobs").mkdir(parents=True)
    part = home / "part"
    hub.write_safetensors(part, {"w": np.arange(3, dtype=np.float32)}, {})
    digest = hub.sha256_file(part)
    path = cache.publish(part, digest)
    assert cache.find(digest) == path
    for _ in flips(path):
        assert cache.find(digest) is None and not path.exists()
    assert cache.find(digest) == path


def test_a_change_right_behind_a_check_is_noticed(home: Path) -> None:
    """Within one tick of the file system's clock: size and time stay what they were."""
    cache, content = Cache(home), bytes(range(64))
    digest = hashlib.sha256(content).hexdigest()
    path = cache.blob(digest)
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    status = path.stat()
    assert cache.find(digest) == path
    path.write_bytes(content[::-1])
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert cache.find(digest) is None


def test_a_file_that_has_rested_is_not_hashed_again(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache, content = Cache(home), bytes(range(64))
    digest = hashlib.sha256(content).hexdigest()
    path = cache.blob(digest)
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    os.utime(path, (time.time() - 60, time.time() - 60))
    assert cache.find(digest) == path
    monkeypatch.setattr("hub.cache.sha256_file", None)  # must not be called again
    assert cache.find(digest) == path


def test_tokens(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    book = tmp_path / "book.txt"
    book.write_text("ab")
    load_corpus(book, byte_tokenizer())
    (kept,) = (home / "tokens").iterdir()
    for at in flips(kept, step=11):
        assert load_corpus(book, byte_tokenizer()).tokens.tolist() == [*b"ab", 256], at


def test_facts_on_pictures(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts_cache, "_RACY_NS", -(10**18))  # remember new files too
    for name in ("a", "b"):
        (tmp_path / "data" / name).mkdir(parents=True)
        Image.new("RGB", (9, 8), name == "a" and "red" or "blue").save(
            tmp_path / "data" / name / "1.png"
        )
    pictures = scan(tmp_path / "data").train

    def look() -> dict[str, Any]:
        return inspect(pictures, tmp_path / "data", threads=1)

    wanted = look()
    (kept,) = (home / "pictures").iterdir()
    for at in flips(kept, step=23):
        assert look() == wanted, at


def test_features(tmp_path: Path) -> None:
    names = [(hashlib.sha256(bytes([i])).digest(), i) for i in range(2)]
    rows = np.arange(6, dtype=np.float32).reshape(2, 3)
    cache = FeatureCache(tmp_path, "key", 10**9)
    cache.add(names, rows)
    cache.flush()
    (kept,) = (tmp_path / "key").iterdir()
    for at in flips(kept):
        found = FeatureCache(tmp_path, "key", 10**9)
        for name, row in zip(names, rows, strict=True):
            assert name not in found or (found.rows([name])[0] == row).all(), at
        assert sum(name in found for name in names) < 2, at


def test_checkpoints(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path / "last")
    path = checkpoints.save(0, 1, {"w": np.arange(3)}, {"origin": {}})
    for at in flips(path):
        assert checkpoints.newest() is None, at
    found = checkpoints.newest()
    assert found is not None and found.path == path
