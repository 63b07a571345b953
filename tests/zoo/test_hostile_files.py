"""Files that once made a reader fail in a way that no caller expects; each is refused by name now.

Found by fuzzing (tests/zoo/fuzz.py) and by reading. What is refused must be refused with the
reader's own error, since everything else is taken for a fault of the program.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hub
import zoo
from hub.strict_json import strict_json
from zoo.data.manifest import ManifestError, read_manifest
from zoo.text.errors import BadRecord, TokenizerError
from zoo.text.read import read_documents
from zoo.text.tokenizer import Tokenizer, byte_tokenizer, load_tokenizer
from zoo.train.errors import ConfigError
from zoo.train.log import read_rows
from zoo.train.lora import CONFIG, WEIGHTS, load_adapter

DEEP = "[" * 100_000
LONG = "9" * 5000  # more digits than Python turns into a number
HALF = r'"\ud800"'  # half of a surrogate pair


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "path,label\n" + "x" * 200_000 + ",cat\n"),
        ("a.csv", "path,label\na\0.png,cat\n"),
        ("a.jsonl", DEEP),
        ("a.jsonl", f'{{"path": "a", "label": {LONG}}}'),
        ("a.jsonl", f'{{"path": {HALF}, "label": "cat"}}'),
        ("a.jsonl", f'{{"path": "a", "label": {HALF}}}'),
        ("a.jsonl", r'{"path": "a\u0000b", "label": "cat"}'),
    ],
    ids=["long field", "NUL", "deep", "long number", "half pair path", "half pair", "NUL escape"],
)
def test_lists_of_pictures(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ManifestError, match="line [12]"):
        read_manifest(tmp_path / name)


@pytest.mark.parametrize(
    ("suffix", "mark"),  # JSON does not let the first two stand in a text
    [(".csv", "\x0b"), (".csv", "\x1c"), (".csv", "\x85"), (".csv", "\u2028"),
     (".jsonl", "\x85"), (".jsonl", "\u2028")],
)  # fmt: skip
def test_only_line_feeds_end_lines_of_a_list(tmp_path: Path, suffix: str, mark: str) -> None:
    row = {"path": f"a{mark}b.png", "label": "cat"}
    text = f"path,label\n{row['path']},cat\n"
    if suffix == ".jsonl":
        text = json.dumps(row, ensure_ascii=False)
    (tmp_path / f"a{suffix}").write_text(text, "utf-8")
    (found,) = read_manifest(tmp_path / f"a{suffix}")
    assert found[0].name == f"a{mark}b.png" and found[1] == "cat"


@pytest.mark.parametrize(
    "line",
    [
        DEEP,
        f'{{"text": {LONG}}}',
        f'{{"text": {HALF}}}',
        '{"prompt": "a", "completion": "\\udc80"}',
    ],
    ids=["deep", "long number", "half pair", "half pair completion"],
)
def test_lines_of_text(line: str) -> None:
    with pytest.raises(BadRecord, match="line 1"):
        list(read_documents(Path("a.jsonl"), line.encode()))


def tokenizer_file(path: Path, **changes: Any) -> Path:
    """A tokenizer.json of single bytes with some tokens changed or added."""
    from zoo.text.tokenizer import byte_letters

    vocab = {letter: value for value, letter in byte_letters().items()}
    table = {
        "model": {"type": "BPE", "vocab": vocab | changes, "merges": []},
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False},
    }
    path.write_text(json.dumps(table))
    return path


def test_the_tokenizer_that_the_following_change_is_sound(tmp_path: Path) -> None:
    assert load_tokenizer(tokenizer_file(tmp_path / "t.json", extra=256)).size == 257


@pytest.mark.parametrize(
    "changes",
    [{"a": 1.5}, {"a": True}, {"extra": 10**30}, {"extra": 2**24}, {"extra": -1}, {"extra": "1"},
     {"": 300}],
    ids=["fraction", "flag", "huge", "too many", "negative", "text", "empty"],
)  # fmt: skip
def test_numbers_of_tokens(tmp_path: Path, changes: dict[str, Any]) -> None:
    with pytest.raises(TokenizerError):
        load_tokenizer(tokenizer_file(tmp_path / "t.json", **changes))


@pytest.mark.parametrize(
    "text",
    [DEEP, '{"model": NaN}', f'{{"model": {LONG}}}', '{"model": {"vocab": {"\\ud800": 1}}}', "[]"],
    ids=["deep", "NaN", "long number", "half pair", "list"],
)
def test_what_is_no_tokenizer(tmp_path: Path, text: str) -> None:
    (tmp_path / "tokenizer.json").write_text(text)
    with pytest.raises(TokenizerError):
        load_tokenizer(tmp_path)


@pytest.mark.parametrize(
    "values",
    [
        {"tokens": [[1e400, "61"]], "special": {}},
        {"tokens": [[True, "61"]], "special": {}},
        {"tokens": 3, "special": {}},
        {"tokens": [], "special": []},
        {"tokens": [["0", "61"]], "special": {}},
    ],
)
def test_tokenizers_in_a_checkpoint(values: dict[str, Any]) -> None:
    with pytest.raises(TokenizerError):
        Tokenizer.from_dict(values, "a checkpoint")


ADAPTER = {"peft_type": "LORA", "r": 2, "lora_alpha": 16, "target_modules": ["c_attn"]}


@pytest.fixture
def adapter(tmp_path: Path) -> Path:
    name = "base_model.model.transformer.h.0.attn.c_attn."
    arrays = {
        f"{name}lora_A.weight": np.zeros((2, 4), np.float32),
        f"{name}lora_B.weight": np.zeros((12, 2), np.float32),
    }
    hub.write_safetensors(tmp_path / WEIGHTS, arrays, {})
    return tmp_path


def tiny_gpt() -> Any:
    return zoo.load("gpt_nano", None, layers=1, heads=1, width=4, context=8)


def test_the_adapter_that_the_following_change_is_sound(adapter: Path) -> None:
    (adapter / CONFIG).write_text(json.dumps(ADAPTER))
    assert load_adapter(tiny_gpt(), adapter).rank == 2


@pytest.mark.parametrize(
    "changes",
    [
        {"r": 0},
        {"r": 10**9},
        {"r": -2},
        {"r": 1e400},
        {"lora_alpha": 1e400},
        {"lora_dropout": 1.0},
        {"target_modules": [1]},
        {"target_modules": 7},
    ],
    ids=str,
)
def test_adapters(adapter: Path, changes: dict[str, Any]) -> None:
    (adapter / CONFIG).write_text(json.dumps(ADAPTER | changes))
    with pytest.raises(ConfigError):
        load_adapter(tiny_gpt(), adapter)


@pytest.mark.parametrize("text", [DEEP, "[]", "3", '{"peft_type": "LORA"}'])
def test_what_is_no_adapter(adapter: Path, text: str) -> None:
    (adapter / CONFIG).write_text(text)
    with pytest.raises(ConfigError):
        load_adapter(tiny_gpt(), adapter)


@pytest.mark.parametrize(
    "line", [b"\xff\xfe", b"[1]", b"3", b'{"kind": "step"}', b'{"kind": "step", "step": "1"}',
             DEEP.encode()],
    ids=["no UTF-8", "list", "number", "no step", "text for a step", "deep"],
)  # fmt: skip
def test_the_log_of_a_run_ends_before_a_torn_line(tmp_path: Path, line: bytes) -> None:
    row = b'{"kind": "step", "step": 1, "epoch": 1}\n'
    (tmp_path / "metrics.jsonl").write_bytes(row + line + b"\n" + row)
    assert [found["step"] for found in read_rows(tmp_path / "metrics.jsonl")] == [1]


@pytest.mark.parametrize(
    "config",
    [{"layers": 10**9}, {"width": "wide"}, {"heads": 3}, {"no_such": 1}, {"width": -4}],
    ids=str,
)
def test_a_run_that_says_impossible_things_of_its_model(
    tmp_path: Path, config: dict[str, Any]
) -> None:
    sizes = {"layers": 1, "heads": 1, "width": 4, "context": 8}
    model = tiny_gpt()
    state = {key: tensor.detach().numpy() for key, tensor in model.state_dict().items()}
    facts = {
        "arch": "gpt_nano",
        "config": sizes | config,
        "tokenizer": byte_tokenizer().to_dict(),
    }
    path = tmp_path / "run.safetensors"
    hub.write_safetensors(path, state, {key: json.dumps(value) for key, value in facts.items()})
    with pytest.raises((zoo.LoadError, hub.HubError)):
        zoo.load(path)


def test_half_of_a_surrogate_pair_is_no_text() -> None:
    assert strict_json(rb'"\ud83d\ude00"') == "\U0001f600"
    with pytest.raises(ValueError, match="surrogates"):
        strict_json(rb'{"a": ["\ud83d"]}')
