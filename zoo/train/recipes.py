"""Recipes of runs on pictures: settings that go together, by name, by file, or chosen from the
data."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from zoo.train.config import FROM_SCRATCH, TrainConfig, check_several, check_start
from zoo.train.recipe_book import AUTO, Recipe, RecipeBook

RECIPES: dict[str, tuple[str, dict[str, Any]]] = {
    "linear": (
        "the last layer alone, on features that are computed once",
        {"freeze": "backbone", "epochs": 20},
    ),
    "finetune": (
        "the last layer first, on features that are computed once; then all layers, the first ones "
        "slowest",
        {"freeze": "auto", "epochs": 8, "head_epochs": 4, "first_lr": 0.1},
    ),
    "full": ("all layers from the first step", {"freeze": "none", "epochs": 8, "lr": 0.003}),
    "scratch": (
        "all layers, from random values",
        {
            "freeze": "none",
            **{
                f.name: getattr(FROM_SCRATCH, f.name)
                for f in fields(TrainConfig)
                if getattr(FROM_SCRATCH, f.name) != f.default
            },
        },
    ),
}
"""What each recipe is, and the settings in which it differs from `TrainConfig()`."""

BOOK = RecipeBook(TrainConfig, RECIPES, check_start, "finetune", "zoo finetune --print-recipe")

_FEW = 100  # pictures under which the last layer alone is trained
_FEW_A_CLASS = 10  # the same, on average for a class
_IMBALANCED = 3.0  # a largest class of so many times the smallest gets class weights
# (pictures up to, epochs of all layers, epochs of the last layer): more passes over smaller sets.
_EPOCHS = ((500, 8, 6), (5_000, 4, 4), (20_000, 3, 3), (sys.maxsize, 2, 2))


def make_recipe(
    name: str,
    *,
    pretrained: bool,
    counts: Sequence[int] | None = None,
    pictures: int | None = None,
) -> Recipe:
    """The recipe `name`.

    Args:
        name: a key of RECIPES, a path to a TOML file, or "auto".
        pretrained: whether training starts from pretrained weights.
        counts: pictures of each class, from which "auto" chooses, before any are set aside for
            validation; None: not known.
        pictures: how many there are, where some have several labels; None: each is in one class.

    Raises:
        ConfigError: no such recipe, a file that is none, or one that cannot work from random
            values.

    >>> make_recipe("auto", pretrained=True, counts=[30, 30]).name
    'linear'
    """
    recipe = _chosen(pretrained, counts, pictures) if name == AUTO else BOOK.named(name)
    check_start(TrainConfig.from_dict(recipe.settings), pretrained)
    return recipe


def plan_config(
    data: str | None,
    weights: str | os.PathLike[str],
    recipe: str | os.PathLike[str],
    settings: Mapping[str, Any],
) -> tuple[TrainConfig, Recipe, int]:
    """What `finetune` would train with: the configuration, its recipe, and how many classes there
    are (0 without data). Finds pictures, but does not read them.

    Raises:
        ConfigError, zoo.data.DataError: as `finetune`.

    >>> plan_config("demo", "default", "auto", {})[1].name
    'finetune'
    """
    from zoo import demo
    from zoo.data import scan

    name = os.fspath(recipe)
    counts: list[int] | None = None
    pictures: int | None = None
    if data == demo.NAME:
        counts = demo.load_digits().counts().tolist()
        if name == AUTO:
            settings = {**demo.SETTINGS, **settings}
    elif data is not None:
        found = scan(data)
        of_class = found.counts(found.train)
        counts = [of_class[class_name] for class_name in found.classes]
        pictures = len(found.train) if found.several else None
    pretrained = weights != "none"
    chosen = make_recipe(name, pretrained=pretrained, counts=counts, pictures=pictures)
    config = TrainConfig.from_dict({**chosen.settings, **settings})
    if pictures is not None:
        check_several(config)
    return check_start(config, pretrained), chosen, len(counts or ())


def _chosen(pretrained: bool, counts: Sequence[int] | None, pictures: int | None) -> Recipe:
    # Rare labels are the rule where pictures have several, and no reason to weigh them.
    weighed = counts if pictures is None else None
    if not pretrained:
        return _balanced("scratch", {}, ["there are no pretrained weights to keep"], weighed)
    if counts is None:
        return Recipe("finetune", RECIPES["finetune"][1], (RECIPES["finetune"][0],))
    classes, what = len(counts), "classes" if pictures is None else "different labels"
    pictures = sum(counts) if pictures is None else pictures
    if pictures < _FEW or pictures < _FEW_A_CLASS * classes:
        why = (
            f"{pictures} pictures of {classes} {what} are few: all layers would learn "
            "them by heart, so the last layer alone is trained, on features that are computed once"
        )
        return _balanced("linear", {"views": 4}, [why], weighed)
    epochs, head = next((all_, last) for most, all_, last in _EPOCHS if pictures <= most)
    why = (
        f"{pictures} pictures of {classes} {what} are enough for all layers, after the "
        "last layer has learned from features that are computed once"
    )
    settings = {"epochs": head + epochs, "head_epochs": head}
    return _balanced("finetune", settings, [why], weighed)


def _balanced(
    name: str, settings: Mapping[str, Any], reasons: list[str], counts: Sequence[int] | None
) -> Recipe:
    """The recipe, with class weights where classes are of very unequal size."""
    settings = {**RECIPES[name][1], **settings}
    present = [count for count in counts or () if count]
    if present and max(present) >= _IMBALANCED * min(present):
        settings["class_weights"] = "auto"
        reasons = [
            *reasons,
            f"the largest class has {max(present) / min(present):.0f} times the pictures of the "
            "smallest, so rare classes weigh more in the loss (--class-weights none: they do not)",
        ]
    return Recipe(name, settings, tuple(reasons))
