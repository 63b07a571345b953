from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hub.cards import Card, parse_card
from hub.policy import Policy
from tests.fake_server import FakeServer

FAST = Policy(connect_seconds=2, read_seconds=0.4, attempts=3, pause_seconds=0.01)
CARD = """---
name: tiny.test
arch: tiny
files:
{files}
input: {{size: 8, resize: 8, crop: 8, interpolation: bilinear, mean: [0, 0, 0], std: [1, 1, 1]}}
classes: {{number: 2, labels: test}}
metrics: [{{dataset: test, top1: 50, size: 8}}]
params: 1
license: MIT
source: this test
---
A card.
"""


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer() as running:
        yield running


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty place for the cache, which does not exist yet."""
    monkeypatch.setenv("ZOO_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("ZOO_OFFLINE", raising=False)
    return tmp_path / "cache"


@pytest.fixture
def body() -> bytes:
    """Content of several chunks that no sniffing takes for anything."""
    return np.random.default_rng(0).bytes(500_000)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def make_card(*files: dict[str, Any]) -> Card:
    """A card with these file entries, see `card_text`."""
    return parse_card(card_text(*files), "tiny.test")


def card_text(*files: dict[str, Any]) -> str:
    """Text of a card with these file entries; `format` and `verified` are filled in."""
    entries = []
    for file in files:
        full = {"format": "pth", "verified": "full" if "sha256" in file else "prefix", **file}
        pairs = [f"{k}: {list(v) if isinstance(v, tuple) else repr(v)}" for k, v in full.items()]
        entries.append("  - {" + ", ".join(pairs) + "}")
    return CARD.format(files="\n".join(entries))


def files_in(folder: Path) -> list[str]:
    """Relative paths of all files below a folder."""
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())
