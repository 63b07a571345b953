"""What a run's folder says about the run: read back, so that a page can be made at any time."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hub
from zoo.stored import RUN_WEIGHTS
from zoo.train.checkpoint import Checkpoints
from zoo.train.errors import NotARun, quoted
from zoo.train.log import Row, read_rows
from zoo.train.loop_config import LoopConfig
from zoo.train.recipe_book import RecipeBook
from zoo.train.report import MADE_WITH


@dataclass(frozen=True)
class Record:
    """A finished run.

    Attributes:
        folder: its folder.
        weights: what its weights file says: arch, classes, source, data, result, versions, ...
        summary: the content of summary.json.
        rows: of its log.
        config: its settings.
        origin: model, weights, data path, ... as it was started.
        book: the recipes of its kind.
    """

    folder: Path
    weights: dict[str, Any]
    summary: dict[str, Any]
    rows: list[Row]
    config: LoopConfig
    origin: dict[str, Any]
    book: RecipeBook

    @classmethod
    def read(cls, folder: str | os.PathLike[str]) -> Record:
        """Read a run's folder.

        Raises:
            NotARun: it is none, or the run has not finished.
        """
        folder = Path(folder)
        file, summary = folder / RUN_WEIGHTS, folder / "summary.json"
        checkpoint = Checkpoints(folder / "last").newest() if folder.is_dir() else None
        if checkpoint is None or not file.is_file() or not summary.is_file():
            what = f"{folder}: no finished run"
            raise NotARun(
                f"{what}. To finish it, type: zoo finetune --resume {quoted(folder)}"
                if checkpoint is not None
                else f"{what}. Expected the folder that `zoo finetune` wrote to, with its "
                f"{RUN_WEIGHTS}, summary.json and last folder."
            )
        metadata = hub.SafetensorsFile(file).metadata
        origin = checkpoint.origin("model", "weights", "data")
        book = _book(origin)
        return cls(
            folder=folder,
            weights={k: json.loads(v) for k, v in metadata.items() if k != "format"},
            summary=json.loads(summary.read_text("utf-8")),
            rows=read_rows(folder / "metrics.jsonl"),
            config=checkpoint.settings(book.config),
            origin=origin,
            book=book,
        )

    @property
    def is_text(self) -> bool:
        """Whether the run trained a language model."""
        return bool(self.origin.get("task") == "text")

    @property
    def kind(self) -> str:
        """ "text", "labels" for pictures that may have several, or "pictures" of one class each."""
        return "text" if self.is_text else "labels" if "val_map" in self.summary else "pictures"

    @property
    def data_paths(self) -> list[str]:
        """Where the data was."""
        origin = self.origin
        return list(origin["data_paths"]) if self.is_text else [origin["data_path"]]

    @property
    def title(self) -> str:
        """What to call the run."""
        names = ", ".join(Path(path).name for path in self.data_paths)
        return f"{self.origin['model']} on {names}"

    @property
    def recipe(self) -> str:
        """Name of the recipe that the run's settings are told by."""
        name = self.origin.get("recipe")
        known = name in self.book.recipes
        return str(name) if known else "scratch" if self._from_nothing else self.book.usual

    @property
    def _from_nothing(self) -> bool:
        return bool(self.origin["weights"] == "none")

    def own_settings(self) -> dict[str, Any]:
        """Settings that differ from those of the recipe."""
        usual = self.book.config.from_dict(self.book.named(self.recipe).settings).to_dict()
        given = self.config.to_dict()
        return {name: value for name, value in given.items() if value != usual[name]}

    def command(self) -> str:
        """What to type to run it again, whatever recipe would be chosen then."""
        return command(self.origin, self.recipe, self.own_settings())

    def sources(self) -> list[tuple[str, str]]:
        """Where the weights come from, by name."""
        weights, data = self.weights, self.weights["data"]
        made_with = self.summary.get(MADE_WITH, {})
        what, count = ("tokens", data["tokens"]) if self.is_text else ("pictures", data["pictures"])
        return [
            ("these weights, SHA-256", self.summary["weights_sha256"]),
            ("started from", weights["source"]["name"]),
            ("of SHA-256", weights["source"]["sha256"] or "–"),
            (what, f"{count} in {', '.join(self.data_paths)}"),
            ("their fingerprint", data["fingerprint"]),
            *((f"version of {name}", version) for name, version in weights["versions"].items()),
            ("commit of zoo", made_with.get("commit") or "not known"),
            ("computer", made_with.get("computer") or "not known"),
        ]


def _book(origin: Mapping[str, Any]) -> RecipeBook:
    """The recipes of a run's kind."""
    if origin.get("task") == "text":
        from zoo.train.text_recipes import BOOK

        return BOOK
    from zoo.train import recipes

    return recipes.BOOK


def command(origin: Mapping[str, Any], recipe: str, settings: Mapping[str, Any]) -> str:
    """The `zoo finetune` that starts from `origin` with a recipe, changed by `settings`.

    >>> origin = {"model": "resnet18", "weights": "default", "data_path": "my pets"}
    >>> command(origin, "full", {"lr": 0.1})
    "zoo finetune resnet18 --data 'my pets' --recipe full --lr 0.1"
    """
    if origin.get("task") == "text":
        words = _text_words(origin)
    else:
        words = ["zoo finetune", quoted(origin["model"]), "--data", quoted(origin["data_path"])]
    if origin["weights"] != "default" and words[0] == "zoo finetune":
        words += ["--weights", quoted(origin["weights"])]
    words += ["--recipe", quoted(recipe)]
    if origin.get("strict"):
        words.append("--strict")
    for name, value in settings.items():
        words += [f"--{name.replace('_', '-')}", quoted(str(value))]
    return " ".join(words)


def _text_words(origin: Mapping[str, Any]) -> list[str]:
    """How the command for a run on text begins."""
    paths = [quoted(path) for path in origin["data_paths"]]
    started = origin.get("started_with") or {"tokenizer": None, "options": {}}
    config = origin["model"].removeprefix("gpt_")
    if origin["weights"] != "none" or config == origin["model"]:
        return ["zoo finetune", quoted(origin["model"]), "--data", *paths]
    words = ["zoo train", "--config", quoted(config), "--data", *paths]
    if started["tokenizer"] is not None:
        words += ["--tokenizer", quoted(started["tokenizer"])]
    for name, value in started["options"].items():
        words += [f"--{name}", quoted(str(value))]
    return words
