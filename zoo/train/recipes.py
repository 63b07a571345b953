"""Recipes: settings that go together, by name, by file, or chosen from the data."""

from __future__ import annotations

import json
import os
import sys
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from zoo.train.config import FROM_SCRATCH, TrainConfig, check_start
from zoo.train.errors import ConfigError

AUTO = "auto"

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

_FEW = 100  # pictures under which the last layer alone is trained
_FEW_A_CLASS = 10  # the same, on average for a class
_IMBALANCED = 3.0  # a largest class of so many times the smallest gets class weights
# (pictures up to, epochs of all layers, epochs of the last layer): more passes over smaller sets.
_EPOCHS = ((500, 8, 6), (5_000, 4, 4), (20_000, 3, 3), (sys.maxsize, 2, 2))


@dataclass(frozen=True)
class Recipe:
    """Settings and where they come from.

    Attributes:
        name: of the recipe, or the path of its file.
        settings: fields of `TrainConfig`; those not named keep their defaults.
        reasons: why, one sentence each.

    >>> Recipe("mine", {"epochs": 3}, ()).settings["epochs"]
    3
    """

    name: str
    settings: dict[str, Any]
    reasons: tuple[str, ...]

    def lines(self) -> list[str]:
        """For people, one string a line."""
        return [f"Recipe {self.name}: {self.reasons[0]}", *(f"  {r}" for r in self.reasons[1:])]


def make_recipe(name: str, *, pretrained: bool, counts: Sequence[int] | None = None) -> Recipe:
    """The recipe `name`.

    Args:
        name: a key of RECIPES, a path to a TOML file, or "auto".
        pretrained: whether training starts from pretrained weights.
        counts: training pictures of each class, from which "auto" chooses; None: not known.

    Raises:
        ConfigError: no such recipe, a file that is none, or one that cannot work from random
            values.

    >>> make_recipe("auto", pretrained=True, counts=[30, 30]).name
    'linear'
    """
    if name == AUTO:
        recipe = _chosen(pretrained, counts)
    elif name in RECIPES:
        recipe = Recipe(name, RECIPES[name][1], (RECIPES[name][0],))
    else:
        recipe = Recipe(name, _read(name), ("all that the file sets",))
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
    if data == demo.NAME:
        counts = demo.load_digits().counts().tolist()
        if name == AUTO:
            settings = {**demo.SETTINGS, **settings}
    elif data is not None:
        found = scan(data)
        of_class = Counter(picture.class_name for picture in found.train)
        counts = [of_class[class_name] for class_name in found.classes]
    pretrained = weights != "none"
    chosen = make_recipe(name, pretrained=pretrained, counts=counts)
    config = TrainConfig.from_dict({**chosen.settings, **settings})
    return check_start(config, pretrained), chosen, len(counts or ())


def recipe_text(config: TrainConfig, comments: Sequence[str] = ()) -> str:
    """A configuration as the text of a recipe file: TOML with a comment for each setting, all that
    has a part in the weights.

    >>> recipe_text(TrainConfig(epochs=3)).splitlines()[3]
    'epochs = 3'
    """
    lines = [*(f"# {line.strip()}" for line in comments), "# zoo finetune --recipe FILE", ""]
    for own in fields(config):
        if not own.metadata["free"]:
            text = own.metadata["text"]
            if own.metadata["choices"]:
                text += f" ({', '.join(own.metadata['choices'])})"
            lines += [*textwrap.wrap(text, 98, initial_indent="# ", subsequent_indent="# ")]
            lines += [f"{own.name} = {json.dumps(getattr(config, own.name))}"]
    return "\n".join(lines) + "\n"


def _read(name: str) -> dict[str, Any]:
    path = Path(name)
    if path.suffix != ".toml" and not path.exists():
        raise ConfigError(
            f"recipe={name!r}; expected {AUTO}, {', '.join(RECIPES)}, or the path of a .toml file. "
            "To see one, type: zoo finetune --print-recipe"
        )
    try:
        settings = tomllib.loads(path.read_text("utf-8"))
        TrainConfig.from_dict(settings)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}; expected a recipe file") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{path}: no recipe file: {error}. Expected lines such as: epochs = 5"
        ) from error
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error
    return settings


def _chosen(pretrained: bool, counts: Sequence[int] | None) -> Recipe:
    if not pretrained:
        return _balanced("scratch", {}, ["there are no pretrained weights to keep"], counts)
    if counts is None:
        return Recipe("finetune", RECIPES["finetune"][1], (RECIPES["finetune"][0],))
    pictures, classes = sum(counts), len(counts)
    if pictures < _FEW or pictures < _FEW_A_CLASS * classes:
        why = (
            f"{pictures} training pictures of {classes} classes are few: all layers would learn "
            "them by heart, so the last layer alone is trained, on features that are computed once"
        )
        return _balanced("linear", {"views": 4}, [why], counts)
    epochs, head = next((all_, last) for most, all_, last in _EPOCHS if pictures <= most)
    why = (
        f"{pictures} training pictures of {classes} classes are enough for all layers, after the "
        "last layer has learned from features that are computed once"
    )
    settings = {"epochs": head + epochs, "head_epochs": head}
    return _balanced("finetune", settings, [why], counts)


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
