"""Fuzzes the readers above the hub: pictures, lists, texts, tokenizers, checkpoints, runs, recipes.

    pip install atheris
    python -m tests.zoo.fuzz picture --seconds 600       # or list, text, tokenizer, tables,
                                                         # checkpoint, run, adapter, recipe, log;
                                                         # seconds of processor time
    python -m tests.zoo.fuzz picture --replay FILE...    # show what an input does
    python -m tests.zoo.fuzz picture --keep              # add inputs of new answers to the corpus

See `tests/fuzzing.py` for what an input may do; `tests/test_fuzz_corpora.py` replays the corpus in
`tests/zoo/corpus`. An input of "list" and "text" starts with a line that names the suffix; one of
"tables" is vocab.json and merges.txt with a line "----" between; one of "checkpoint" is the state,
one of "run" the metadata of a weights file, both as JSON.
"""

from __future__ import annotations

import functools
import hashlib
import json
import shutil
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from tests.fuzzing import Reader, Suite, as_file, scratch, watched

_PIXELS = 1 << 18  # what a picture may unpack to here: the search would spend its time on pixels
_TEXT = "Low, lower\nlowest \U0001f600"


def _read_picture(content: bytes) -> None:
    decoding = import_module("zoo.data.decode")  # the package has a function of that name
    usual, decoding.MAX_PIXELS = decoding.MAX_PIXELS, _PIXELS
    try:
        with watched():
            for min_side in (None, 8):
                found = decoding.decode_with_facts(content, min_side=min_side)
                pixels = np.asarray(found.image)
                assert pixels.ndim == 3 and pixels.shape[2] == 3 and pixels.dtype == np.uint8
    finally:
        decoding.MAX_PIXELS = usual


def _with_suffix(content: bytes) -> Path:
    suffix, _, rest = content.partition(b"\n")
    known = {b"csv": ".csv", b"tsv": ".tsv", b"jsonl": ".jsonl"}
    return as_file(rest, "list" + known.get(suffix.strip(), ".txt"))


def _read_list(content: bytes) -> None:
    from zoo.data.folder_layout import collect

    path = _with_suffix(content)
    with watched():
        train, val, _, _ = collect(path)
        for name in (*train, *(val or ())):
            name.encode("utf-8")  # what was read can be written to a run's files


def _read_text(content: bytes) -> None:
    from zoo.text.read import read_documents
    from zoo.text.tokenizer import byte_tokenizer

    path = _with_suffix(content)
    with watched():
        for document in read_documents(path, path.read_bytes()):
            text = document.prompt + document.text
            assert byte_tokenizer().decode(byte_tokenizer().encode(text)) == text


def _use(tokenizer: Any) -> None:
    from zoo.text.tokenizer import Tokenizer

    assert tokenizer.decode(tokenizer.encode(_TEXT)) == _TEXT
    tokenizer.encode(_TEXT + "".join(tokenizer.special)[:100], special=True)
    again = Tokenizer.from_dict(json.loads(json.dumps(tokenizer.to_dict())), "itself")
    assert again.digest == tokenizer.digest


def _read_tokenizer(content: bytes) -> None:
    from zoo.text.tokenizer import load_tokenizer

    path = as_file(content, "tokenizer.json")
    with watched():
        _use(load_tokenizer(path))


def _read_tables(content: bytes) -> None:
    from zoo.text.tokenizer import load_tokenizer

    vocab, _, merges = content.partition(b"\n----\n")
    folder = scratch() / "tables"
    folder.mkdir(exist_ok=True)
    (folder / "vocab.json").write_bytes(vocab)
    (folder / "merges.txt").write_bytes(merges)
    with watched():
        _use(load_tokenizer(folder))


def _metadata_file(path: Path, tensors: dict[str, Any], metadata: dict[str, str]) -> bytes:
    import hub

    hub.write_safetensors(path, tensors, metadata)
    return path.read_bytes()


@functools.cache
def _trainer() -> Any:
    sys.path.insert(0, str(Path(__file__).parent / "train"))
    from tiny_run import Tiny, pictures

    from zoo.train.config import TrainConfig
    from zoo.train.picture_task import PictureTask
    from zoo.train.trainer import Trainer

    config = TrainConfig(threads=1)
    task = PictureTask(Tiny(), pictures(6), pictures(3, seed=1), config)
    out = scratch() / "trained"
    out.mkdir(exist_ok=True)
    return Trainer(task, config, out, {}, say=lambda line: None)


def _read_checkpoint(content: bytes) -> None:
    from zoo.train.checkpoint import Checkpoints

    folder = scratch() / "checkpoints"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    state = content.decode("utf-8", "replace")
    tensors = {f"model/{name}": t.numpy() for name, t in _trainer().task.tensors().items()}
    whole = _metadata_file(scratch() / "whole", tensors, {"zoo.state": state})
    digest = hashlib.sha256(whole).hexdigest()[:16]
    (folder / f"ckpt-0001-000000003-{digest}.safetensors").write_bytes(whole)
    with watched():
        found = Checkpoints(folder).newest()
        assert found is not None
        found.settings(type(_trainer().config))
        found.origin("model", "weights", "classes", "data_path", "preprocessing", "data")
        _trainer().restore(found)


@functools.cache
def _states() -> dict[str, dict[str, Any]]:
    import zoo

    tiny = {"layers": 1, "heads": 1, "width": 4, "context": 8}
    nets = {"gpt_nano": zoo.load("gpt_nano", None, **tiny), "resnet20": zoo.load("resnet20", None)}
    return {
        name: {key: t.detach().numpy() for key, t in net.state_dict().items()}
        for name, net in nets.items()
    }


def _read_run(content: bytes) -> None:
    import zoo

    try:
        table = json.loads(content)
    except (ValueError, RecursionError):
        return
    if not isinstance(table, dict) or not all(isinstance(v, str) for v in table.values()):
        return
    try:
        text = json.dumps(table, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return  # no such text can stand in a file
    path = scratch() / "run.safetensors"
    state = _states()["resnet20" if b"resnet" in text else "gpt_nano"]
    _metadata_file(path, state, table)
    with watched():
        zoo.load(path)


def _read_adapter(content: bytes) -> None:
    import hub
    import zoo
    from zoo.train.lora import CONFIG, WEIGHTS, load_adapter

    folder = scratch() / "adapter"
    folder.mkdir(exist_ok=True)
    (folder / CONFIG).write_bytes(content)
    name = "base_model.model.transformer.h.0.attn.c_attn."
    arrays = {
        f"{name}lora_A.weight": np.zeros((2, 4), np.float32),
        f"{name}lora_B.weight": np.zeros((12, 2), np.float32),
    }
    hub.write_safetensors(folder / WEIGHTS, arrays, {})
    model = zoo.load("gpt_nano", None, layers=1, heads=1, width=4, context=8)
    with watched():
        load_adapter(model, folder)


def _read_recipe(content: bytes) -> None:
    from zoo.train.recipes import make_recipe

    path = as_file(content, "recipe.toml")
    with watched():
        make_recipe(str(path), pretrained=True)


def _read_log(content: bytes) -> str:
    from zoo.train.log import MetricsLog, read_rows

    path = as_file(content, "metrics.jsonl")
    with watched():
        rows = read_rows(path)
    log = MetricsLog(path)
    log.keep(lambda row: row["kind"] == "step" and row["step"] < 4)
    log.close()
    assert all(row in rows for row in read_rows(path))
    return f"read {len(rows)} rows"


TARGETS: dict[str, Reader] = {
    "picture": _read_picture,
    "list": _read_list,
    "text": _read_text,
    "tokenizer": _read_tokenizer,
    "tables": _read_tables,
    "checkpoint": _read_checkpoint,
    "run": _read_run,
    "adapter": _read_adapter,
    "recipe": _read_recipe,
    "log": _read_log,
}


def _refusals() -> tuple[type[BaseException], ...]:
    import hub
    from zoo.data.errors import DataError
    from zoo.errors import LoadError
    from zoo.text.errors import TextError
    from zoo.train.errors import TrainError

    return (hub.HubError, DataError, LoadError, TextError, TrainError)


def _load() -> None:
    import PIL.Image  # noqa: F401

    import zoo.data
    import zoo.data.decode
    import zoo.data.folder_layout
    import zoo.text.read
    import zoo.text.tokenizer
    import zoo.train.checkpoint
    import zoo.train.lora
    import zoo.train.recipes
    import zoo.train.trainer  # noqa: F401


SUITE = Suite(
    Path(__file__).parent / "corpus", TARGETS, _refusals, _load, ("zoo", "hub", "PIL", "tomllib")
)

if __name__ == "__main__":
    SUITE.main()
