"""What is said of a text before anything is trained on it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from zoo.text.audit import audit_text
from zoo.text.blocks import split
from zoo.text.corpus import Corpus, load_corpus
from zoo.text.facts import LONG_LINE
from zoo.text.tokenizer import byte_tokenizer


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZOO_HOME", str(tmp_path / "zoo-home"))


def audited(*files: Path, bad_bytes: str = "refuse") -> tuple[Corpus, list[str]]:
    corpus = load_corpus(list(files), byte_tokenizer(), bad_bytes=bad_bytes)
    train, val = split(corpus, 0.2, 0, 8)
    return corpus, audit_text(corpus, train, val).lines()


@pytest.mark.parametrize(
    "data, says",
    [
        (b"\xef\xbb\xbfone\n", "Byte order marks, dropped: 1 file"),
        (b"one\r\ntwo\r\n", "Carriage returns, made line feeds: 1 file"),
        (b"a\xff\xfeb and so on", "Not UTF-8, now U+FFFD: 2 places"),
        ("lost: \ufffd!".encode(), "U+FFFD in the files themselves: 1 characters"),
        ("CafÃ© and itâ€™s".encode(), "read as Latin-1 and saved again (Ã© for é): 2 places"),
        (b"a\x00b\x07c", "Control characters, such as NUL: 2"),
        (b"x" * (LONG_LINE + 1), "Lines of more than 20,000 characters: 1, the longest 20,001 in"),
    ],
)
def test_what_reading_shows_is_said(tmp_path: Path, data: bytes, says: str) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(data)
    for _ in range(2):  # read, and found again with its tokens
        _, lines = audited(path, bad_bytes="replace")
        assert any(says in line for line in lines), lines
        assert len(lines) == 3  # and nothing else is


def test_nothing_is_said_of_a_text_without_faults(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(
        "Emma Woodhouse, handsome, clever, and rich — in 1815.\n\n\tC'était “là”.\n" * 9
    )
    _, lines = audited(path)
    assert len(lines) == 2 and "to train on" in lines[1]


def test_repeated_documents_are_counted_and_stay_on_one_side(tmp_path: Path) -> None:
    rows = [{"text": f"document number {i % 15}"} for i in range(60)]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    corpus, lines = audited(path)
    assert "word for word: 45 documents, 75.0% of the tokens; equal ones are on one" in lines[2]
    train, val = split(corpus, 0.2, 0, 8)
    text = byte_tokenizer()

    def documents(tokens: np.ndarray) -> set[str]:
        return set(text.decode(t for t in tokens if t != text.end).split("document ")) - {""}

    kinds = documents(train.tokens), documents(val.tokens)
    assert kinds[0].isdisjoint(kinds[1]) and len(kinds[0] | kinds[1]) == 15


def test_prompts_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"prompt": "Q: why?", "completion": "because of this"}\n' * 2)
    _, lines = audited(path)
    assert any("Prompts, read but not learned: 14 tokens" in line for line in lines)
