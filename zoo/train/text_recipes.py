"""Recipes of runs on text: settings that go together, by name, by file, or chosen from the size of
the text."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zoo.train.recipe_book import AUTO, Recipe, RecipeBook
from zoo.train.text_config import LORA, TEXT_FROM_SCRATCH, TextConfig, check_text_start

if TYPE_CHECKING:
    from collections.abc import Sequence

TEXT_RECIPES: dict[str, tuple[str, dict[str, Any]]] = {
    "lora": ("small adapters beside the weights, which stand still", dict(LORA)),
    "full": ("all weights", {}),
    "scratch": (
        "all weights, from random values",
        {
            f.name: getattr(TEXT_FROM_SCRATCH, f.name)
            for f in fields(TextConfig)
            if getattr(TEXT_FROM_SCRATCH, f.name) != f.default
        },
    ),
}
"""What each recipe is, and the settings in which it differs from `TextConfig()`."""

BOOK = RecipeBook(
    TextConfig, TEXT_RECIPES, check_text_start, "full", "zoo finetune gpt2 --print-recipe"
)

_FEW = 500_000  # bytes of text under which adapters are trained
_SMALL, _SMALL_LR = 20_000_000, 1e-3  # parameters under which all are trained, and the rate of that
# (bytes of text up to, epochs): more passes over shorter texts.
_EPOCHS = ((100_000, 5), (5_000_000, 3), (50_000_000, 2), (sys.maxsize, 1))
_EPOCHS_FROM_SCRATCH = ((2_000_000, 10), (20_000_000, 5), (100_000_000, 2), (sys.maxsize, 1))


def make_text_recipe(
    name: str, *, pretrained: bool, size: int | None = None, parameters: int | None = None
) -> Recipe:
    """The recipe `name`.

    Args:
        name: a key of TEXT_RECIPES, a path to a TOML file, or "auto".
        pretrained: whether training starts from pretrained weights.
        size: of the text, bytes, from which "auto" chooses; None: not known.
        parameters: of the model, about, likewise.

    Raises:
        ConfigError: no such recipe, a file that is none, or one that cannot work from random
            values.

    >>> make_text_recipe("auto", pretrained=True, size=40_000).name
    'lora'
    """
    recipe = _chosen(pretrained, size, parameters) if name == AUTO else BOOK.named(name)
    check_text_start(TextConfig.from_dict(recipe.settings), pretrained)
    return recipe


def plan_text_config(
    files: Sequence[Path] | None,
    weights: str | os.PathLike[str],
    recipe: str | os.PathLike[str],
    settings: Mapping[str, Any],
    model: Any = None,
) -> tuple[TextConfig, Recipe]:
    """What `finetune_text` would train with: the configuration and its recipe. Sees how long the
    files are, but does not read them.

    Args:
        files: as `zoo.text.read.find_files` finds them; None: not known.
        weights, recipe, settings: as for `finetune_text`.
        model: configuration of the architecture; None: not known.

    Raises:
        ConfigError: as `finetune_text`.

    >>> plan_text_config(None, "none", "auto", {"epochs": 2})[0].lr
    0.003
    """
    size = None if files is None else sum(path.stat().st_size for path in files)
    pretrained = os.fspath(weights) != "none"
    parameters = None
    if model is not None:
        parameters = model.width * (12 * model.layers * model.width + model.vocab)
    chosen = make_text_recipe(
        os.fspath(recipe), pretrained=pretrained, size=size, parameters=parameters
    )
    config = TextConfig.from_dict({**chosen.settings, **settings})
    return check_text_start(config, pretrained), chosen


def _chosen(pretrained: bool, size: int | None, parameters: int | None) -> Recipe:
    own: dict[str, Any] = {}
    if not pretrained:
        name, why = "scratch", "there are no pretrained weights to keep"
    elif parameters is not None and parameters < _SMALL:
        name, own = "full", {"lr": _SMALL_LR}
        why = (
            f"a model of {parameters / 1e6:.2g} million parameters has little to lose and much to "
            "learn: all weights, at a higher rate"
        )
    elif size is None or size >= _FEW:
        name = "full"
        why = (
            "all weights"
            if size is None
            else f"{_in_words(size)} of text is enough for all weights"
        )
    else:
        name = "lora"
        why = (
            f"{_in_words(size)} of text is little: all weights would learn it by heart, so small "
            "adapters beside them are trained"
        )
    settings = {**TEXT_RECIPES[name][1], **own}
    if size is not None:
        passes = _EPOCHS if pretrained else _EPOCHS_FROM_SCRATCH
        settings["epochs"] = next(epochs for most, epochs in passes if size <= most)
    return Recipe(name, settings, (why,))


def _in_words(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{max(size / 1e3, 0.1):.3g} kB"
