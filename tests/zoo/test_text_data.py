"""Text files as data: what is found, how bytes are read, how tokens are kept, cut and divided."""

from __future__ import annotations

import doctest
import json
from pathlib import Path

import numpy as np
import pytest

import hub
from tests.zoo.reference import seeded_text
from zoo.models.gpt import IGNORED
from zoo.text import blocks, corpus, read
from zoo.text.blocks import EpochBlocks, Tokens, split, whole, windows
from zoo.text.corpus import Corpus, load_corpus, parts_of
from zoo.text.errors import BadEncoding, BadRecord, TextNotFound, TooLittleText
from zoo.text.read import decode, find_files, read_documents
from zoo.text.tokenizer import byte_tokenizer, gpt2_tokenizer


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ZOO_HOME", str(tmp_path / "zoo-home"))
    return tmp_path / "zoo-home"


def write(path: Path, data: bytes | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def corpus_of(count: int, documents: int = 1) -> Corpus:
    starts = np.linspace(0, count, documents + 1).astype(np.int64)
    return Corpus(np.arange(count, dtype=np.uint16), None, starts, count, "f", 1)


def test_files_folders_and_patterns_are_found_once_in_order(tmp_path: Path) -> None:
    for name in ("b.txt", "a.TXT", "deep/c.jsonl", ".hidden/d.txt", ".e.txt", "picture.png"):
        write(tmp_path / "in" / name, "x")
    found = find_files([tmp_path / "in", str(tmp_path / "in" / "*.txt")])
    names = [str(path.relative_to(tmp_path / "in")) for path in found]
    assert names == ["a.TXT", "b.txt", "deep/c.jsonl"]


@pytest.mark.parametrize("name", ["nothing.txt", "*.none", "empty"])
def test_what_is_not_there_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(TextNotFound, match=str(name).replace("*", r"\*")):
        find_files(tmp_path / name)


@pytest.mark.parametrize(
    "data, text",
    [
        (b"\xef\xbb\xbfa\r\nb\rc\n", "a\nb\nc\n"),
        ("é😀".encode(), "é😀"),
        (b"", ""),
    ],
)
def test_bytes_are_utf8_whatever_their_mark_and_line_ends(data: bytes, text: str) -> None:
    assert decode(data, "f") == text


@pytest.mark.parametrize(
    "data, message",
    [
        (b"\xff\xfeA", "starts as UTF-16.*iconv -f UTF-16"),
        (b"ab\xffc", "byte 0xff at offset 2 is not UTF-8.*--bad-bytes replace"),
        (b"\xef\xbb\xbfab\xe9", "byte 0xe9 at offset 5"),
    ],
)
def test_bytes_that_are_not_utf8_are_named(data: bytes, message: str) -> None:
    """Field case D-06."""
    with pytest.raises(BadEncoding, match=message):
        decode(data, "f")


def test_bad_bytes_may_be_replaced() -> None:
    assert decode(b"a\xff\xfeA", "f", "replace") == "a\ufffd\ufffdA"


def test_lines_of_jsonl_and_csv_are_documents() -> None:
    data = b'{"text": "one"}\n\n{"prompt": "Q", "completion": "A\\r\\n", "id": 3}\n{"text": ""}\n'
    found = list(read_documents(Path("f.jsonl"), data))
    assert [(d.prompt, d.text) for d in found] == [("", "one"), ("Q", "A\n")]
    data = b'\xef\xbb\xbfid,text\r\n1,"two\r\nlines"\r\n2,x\r\n'
    assert [d.text for d in read_documents(Path("f.csv"), data)] == ["two\nlines", "x"]


@pytest.mark.parametrize(
    "name, data, message",
    [
        ("f.jsonl", b'{"text": 1}', "f.jsonl, line 1: has text; expected texts named text"),
        ("f.jsonl", b'{"text": "a"}\n[1]', "line 2: has list"),
        ("f.jsonl", b"{", "line 1: no JSON"),
        ("f.csv", b"a,b\n1,2\n", "line 2: has a, b"),
    ],
)
def test_lines_of_another_form_are_named(name: str, data: bytes, message: str) -> None:
    with pytest.raises(BadRecord, match=message):
        list(read_documents(Path(name), data))


@pytest.mark.parametrize("size", [1, 7, 64, 1000, 1 << 16])
def test_cutting_long_texts_changes_no_token(size: int) -> None:
    text = seeded_text.megabyte()[:60_000]
    tokenizer = gpt2_tokenizer()
    parts = list(parts_of(text, size))
    assert "".join(parts) == text
    assert size > 1000 or len(parts) > 20
    assert [t for part in parts for t in tokenizer.encode(part)] == tokenizer.encode(text)


def test_tokens_are_kept_by_content_and_made_once(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = write(tmp_path / "book.txt", "hello")
    first = load_corpus(book, byte_tokenizer())
    assert first.tokens.tolist() == [*b"hello", 256]
    assert first.tokens.dtype == np.uint16 and first.bytes == 5
    monkeypatch.setattr(corpus, "_tokenised", None)  # must not be called again
    moved = load_corpus(book.rename(tmp_path / "other.txt"), byte_tokenizer())
    assert moved.fingerprint == first.fingerprint
    (kept,) = (home / "tokens").iterdir()
    assert kept.name.startswith(f"{first.fingerprint}-") and kept.suffix == ".safetensors"


def test_another_text_or_tokenizer_is_another_file(tmp_path: Path) -> None:
    book = write(tmp_path / "book.txt", "hello")
    prints = {load_corpus(book, t).fingerprint for t in (byte_tokenizer(), gpt2_tokenizer())}
    write(book, "hello!")
    prints.add(load_corpus(book, byte_tokenizer()).fingerprint)
    assert len(prints) == 3


def test_prompts_are_not_learned_and_real_ends_are(tmp_path: Path) -> None:
    """Field case D-07: what is learned is marked by position, so ends are."""
    rows = [{"prompt": "ab", "completion": "c"}, {"text": "d"}]
    path = write(tmp_path / "f.jsonl", "\n".join(map(json.dumps, rows)))
    found = load_corpus(path, byte_tokenizer())
    assert found.tokens.tolist() == [*b"abc", 256, *b"d", 256]
    assert found.learned is not None
    assert found.learned.tolist() == [False, False, True, True, True, True]
    assert found.starts.tolist() == [0, 4, 6] and found.bytes == 2
    targets = whole(found).targets(1, 6).tolist()
    assert targets == [IGNORED, ord("c"), 256, ord("d"), 256]


def test_the_end_token_in_a_text_is_text(tmp_path: Path) -> None:
    found = load_corpus(write(tmp_path / "a.txt", "x<|endoftext|>y"), gpt2_tokenizer())
    assert found.tokens.tolist().count(50256) == 1


@pytest.mark.parametrize("data", ["", "\ufeff"])
def test_files_without_text_are_refused(tmp_path: Path, data: str) -> None:
    with pytest.raises(TextNotFound, match="no text in there"):
        load_corpus(write(tmp_path / "a.txt", data), byte_tokenizer())


@pytest.mark.parametrize("count", [5, 9, 17, 18, 19, 33, 1000])
def test_short_texts_give_blocks_that_fit(count: int) -> None:
    """Field case D-06."""
    train, val = split(corpus_of(count), 0.2, 0, 16)
    assert len(train) + len(val) == count and len(val) >= 2
    made = EpochBlocks(train, 16, 4, 0)
    assert made.block == min(16, len(train) - 1)
    batches = list(made.epoch(0))
    assert [ids.size for ids, _ in batches] == made.batch_weights
    for ids, targets in batches:
        assert ids.shape[1] == made.block
        assert (ids[:, 1:] == targets[:, :-1]).all()


@pytest.mark.parametrize("count", [1, 3])
def test_too_little_text_says_how_much_there_is(count: int) -> None:
    """Field case D-06."""
    with pytest.raises(TooLittleText, match=f"has {count} token.*some blocks of 16"):
        split(corpus_of(count), 0.2, 0, 16)


def test_few_documents_are_divided_by_a_stretch_and_many_as_wholes() -> None:
    few = split(corpus_of(1000), 0.1, 0, 16)[1].tokens
    assert len(few) == 100 and (np.diff(few.astype(int)) == 1).all()
    many = corpus_of(1000, documents=20)
    val = set(split(many, 0.1, 0, 16)[1].tokens.tolist())
    for start, stop in zip(many.starts[:-1], many.starts[1:], strict=True):
        assert len(val & set(range(start, stop))) in (0, stop - start)


def test_the_seed_decides_on_the_division() -> None:
    parts = [split(corpus_of(1000), 0.1, seed, 16)[1].tokens.tolist() for seed in (0, 0, 1)]
    assert parts[0] == parts[1] != parts[2]


def test_epochs_differ_and_can_be_entered_anywhere() -> None:
    made = EpochBlocks(Tokens(np.arange(1000)), 16, 4, seed=5)
    first, second = (list(made.epoch(epoch)) for epoch in (0, 1))
    assert not np.array_equal(first[0][0], second[0][0])
    assert first[0][0].min() % 16 != second[0][0].min() % 16
    seen = np.concatenate([targets.ravel() for _, targets in first])
    assert len(set(seen.tolist())) == len(seen) > 1000 - 2 * 16 - 1
    later = list(made.epoch(1, start=7))
    for (a, b), (c, d) in zip(second[7:], later, strict=True):
        assert np.array_equal(a, c) and np.array_equal(b, d)


@pytest.mark.parametrize("length, stride", [(8, 8), (8, 4), (8, 1), (8, 3), (100, 50)])
@pytest.mark.parametrize("count", [2, 9, 10, 30])
def test_windows_score_each_token_once(count: int, length: int, stride: int) -> None:
    scored: list[int] = []
    for ids, targets in windows(Tokens(np.arange(count)), length, stride, 3):
        assert ids.shape == targets.shape and ids.shape[1] == min(length, count - 1)
        for row, wanted in zip(ids, targets, strict=True):
            kept = wanted != IGNORED
            assert (wanted[kept] == row[kept] + 1).all()
            scored += wanted[kept].tolist()
    assert scored == list(range(1, count))


def test_one_token_cannot_be_measured_on() -> None:
    with pytest.raises(TooLittleText, match="has 1 token"):
        whole(corpus_of(1))


def test_tokens_that_cannot_be_kept_say_why(tmp_path: Path, home: Path) -> None:
    write(home / "tokens", "a file in the way")
    with pytest.raises(hub.CacheError, match="cannot be written to"):
        load_corpus(write(tmp_path / "a.txt", "x"), byte_tokenizer())


def test_examples() -> None:
    for module in (read, corpus, blocks):
        names = {"np": np, "Path": Path}
        assert doctest.testmod(module, extraglobs=names).failed == 0
