"""The tokenizer: equal to the reference, lossless, safe with what users write, and verified."""

from __future__ import annotations

import bz2
import doctest
import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from tests.zoo.reference import seeded_text
from zoo.text import tokenizer as module
from zoo.text.bpe import train_bpe
from zoo.text.errors import TokenizerError
from zoo.text.tokenizer import Tokenizer, gpt2_tokenizer, load_tokenizer

GOLDEN = json.loads((Path(__file__).parent / "reference" / "golden_tokens.json").read_text("ascii"))
each_piece = pytest.mark.parametrize("number", range(len(seeded_text.PIECES)))


def merges_text() -> str:
    return bz2.decompress(module._MERGES.read_bytes()).decode()


@each_piece
def test_tokens_of_every_kind_of_text(number: int) -> None:
    assert gpt2_tokenizer().encode(seeded_text.PIECES[number]) == GOLDEN["pieces"][number]


def test_tokens_of_a_megabyte() -> None:
    ids = np.asarray(gpt2_tokenizer().encode(seeded_text.megabyte()), np.int32)
    assert len(ids) == GOLDEN["megabyte"]["tokens"]
    assert hashlib.sha256(ids.tobytes()).hexdigest() == GOLDEN["megabyte"]["sha256"]


def test_the_vocabulary_is_the_published_one_byte_for_byte() -> None:
    text = json.dumps(module._published_vocab(merges_text()))
    published = "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783"
    assert hashlib.sha256(text.encode()).hexdigest() == published


@each_piece
def test_text_comes_back(number: int) -> None:
    """Field case D-01: no space before a sign, no tab and no line end is lost."""
    text = seeded_text.PIECES[number]
    assert gpt2_tokenizer().decode(gpt2_tokenizer().encode(text)) == text


def test_any_bytes_come_back() -> None:
    tokenizer = gpt2_tokenizer()
    draw = np.random.RandomState(7)
    for length in range(1, 200):
        data = draw.bytes(length) + "é😀".encode()[: length % 7]
        assert tokenizer.decode_bytes(tokenizer.encode_bytes(data)) == data


def test_bytes_that_python_escaped_come_back() -> None:
    text = b"a\xff\xfeb".decode("utf-8", "surrogateescape")
    assert gpt2_tokenizer().decode_bytes(gpt2_tokenizer().encode(text)) == b"a\xff\xfeb"


def test_special_tokens_in_text_are_text_unless_asked_for() -> None:
    tokenizer = gpt2_tokenizer()
    text = "a<|endoftext|>"
    assert tokenizer.end not in tokenizer.encode(text)
    assert tokenizer.encode(text, special=True) == [*tokenizer.encode("a"), 50256]
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_half_a_character_decodes_without_raising() -> None:
    """Field case D-01."""
    first = gpt2_tokenizer().encode("😀")[0]
    assert gpt2_tokenizer().decode([first]) == "\ufffd"


@each_piece
def test_a_stream_gives_whole_characters_only(number: int) -> None:
    text = seeded_text.PIECES[number]
    decoder = gpt2_tokenizer().stream()
    parts = [decoder.push(token) for token in gpt2_tokenizer().encode(text)]
    assert not any("\ufffd" in part for part in parts)
    assert "".join(parts) + decoder.finish() == text


def test_a_stream_that_ends_within_a_character_says_so() -> None:
    decoder = gpt2_tokenizer().stream()
    assert decoder.push(gpt2_tokenizer().encode("😀")[0]) == ""
    assert decoder.finish() == "\ufffd"


def test_a_number_that_is_no_token_is_named() -> None:
    with pytest.raises(TokenizerError, match="token 50257 is not in the vocabulary of gpt2"):
        gpt2_tokenizer().decode([1, 50257])


def test_published_files_give_the_same_tokenizer(tmp_path: Path) -> None:
    merges = merges_text()
    vocab = module._published_vocab(merges)
    (tmp_path / "vocab.json").write_text(json.dumps(vocab))
    (tmp_path / "merges.txt").write_text(merges, "utf-8")
    assert load_tokenizer(tmp_path).digest == gpt2_tokenizer().digest
    whole = {
        "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False},
        "added_tokens": [{"id": 50256, "content": "<|endoftext|>", "special": True}],
        "model": {"type": "BPE", "vocab": vocab, "merges": merges.split("\n")[1:-1]},
    }
    for folder, pairs in (("a", "text"), ("b", "lists")):
        if pairs == "lists":
            whole["model"]["merges"] = [m.split(" ") for m in merges.split("\n")[1:-1]]
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "tokenizer.json").write_text(json.dumps(whole))
        assert load_tokenizer(tmp_path / folder).digest == gpt2_tokenizer().digest


@pytest.mark.parametrize(
    "table, message",
    [
        ({"model": {"type": "WordPiece"}}, "a WordPiece tokenizer .*expected BPE"),
        ({"model": {"type": "BPE"}, "pre_tokenizer": {"type": "Split"}}, "with Split pieces"),
        ({"no": "model"}, "cannot be read .KeyError: 'model'"),
    ],
)
def test_other_kinds_of_tokenizers_are_refused(tmp_path: Path, table: object, message: str) -> None:
    (tmp_path / "tokenizer.json").write_text(json.dumps(table))
    with pytest.raises(TokenizerError, match=message):
        load_tokenizer(tmp_path)


def test_a_vocabulary_out_of_order_is_refused() -> None:
    letters = list(module.byte_letters().values())
    vocab = {letter: i for i, letter in enumerate(letters)} | {"ab": 257, "cd": 256}
    with pytest.raises(TokenizerError, match="do not rise in the order of the merges"):
        module._from_tables(vocab, [("a", "b"), ("c", "d")], "x")


def test_a_damaged_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    damaged = tmp_path / "merges.bz2"
    damaged.write_bytes(bz2.compress(b"#version: 0.2\na b\n"))
    monkeypatch.setattr(module, "_MERGES", damaged)
    gpt2_tokenizer.cache_clear()
    try:
        with pytest.raises(TokenizerError, match="is damaged.*Install the package again"):
            gpt2_tokenizer()
    finally:
        gpt2_tokenizer.cache_clear()


def test_an_own_vocabulary_is_lossless_and_travels_as_json() -> None:
    own = train_bpe(["hello hello world, hello world"] * 3, 300)
    assert own.size <= 300 and own.end == 0
    text = "hello wörld 😀"
    assert len(own.encode(text)) < len(text.encode())
    again = Tokenizer.from_dict(json.loads(json.dumps(own.to_dict())), "a file")
    assert again.digest == own.digest
    assert again.decode(again.encode(text)) == text
    assert Tokenizer.from_dict(gpt2_tokenizer().to_dict(), "a file") is gpt2_tokenizer()


def test_a_vocabulary_too_small_for_the_bytes_is_refused() -> None:
    with pytest.raises(TokenizerError, match="a vocabulary of 200 tokens.*257 or more"):
        train_bpe(["text"], 200)


def test_examples() -> None:
    assert doctest.testmod(module).failed == 0
