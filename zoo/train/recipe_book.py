"""Recipes of any kind of run: settings that go together, by name or by file."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from zoo.train.errors import ConfigError
from zoo.train.loop_config import LoopConfig

AUTO = "auto"


@dataclass(frozen=True)
class Recipe:
    """Settings and where they come from.

    Attributes:
        name: of the recipe, or the path of its file.
        settings: fields of the run's configuration; those not named keep their defaults.
        reasons: why, one sentence each.
    """

    name: str
    settings: dict[str, Any]
    reasons: tuple[str, ...]

    def lines(self) -> list[str]:
        """For people, one string a line."""
        return [f"Recipe {self.name}: {self.reasons[0]}", *(f"  {r}" for r in self.reasons[1:])]


@dataclass(frozen=True)
class RecipeBook:
    """The recipes of one kind of run.

    Attributes:
        config: the class of its configurations.
        recipes: by name, what each is, and the settings in which it differs from `config()`.
        check: gives back a configuration that can work from pretrained weights (True) or from none,
            and raises ConfigError for another.
        usual: name of the recipe that changes the least, for pretrained weights.
        example: what to type to see a recipe.

    >>> from zoo.train.text_recipes import BOOK
    >>> BOOK.named("full").reasons
    ('all weights',)
    """

    config: type[LoopConfig]
    recipes: Mapping[str, tuple[str, dict[str, Any]]]
    check: Callable[[Any, bool], Any]
    usual: str
    example: str

    def named(self, name: str) -> Recipe:
        """The recipe of this name, or of the TOML file at this path.

        Raises:
            ConfigError: there is neither, or the file is no recipe of this kind.
        """
        if name in self.recipes:
            what, settings = self.recipes[name]
            return Recipe(name, settings, (what,))
        return Recipe(name, self._read(name), ("all that the file sets",))

    def _read(self, name: str) -> dict[str, Any]:
        path = Path(name)
        if path.suffix != ".toml" and not path.exists():
            raise ConfigError(
                f"recipe={name!r}; expected {AUTO}, {', '.join(self.recipes)}, or the path of a "
                f".toml file. To see one, type: {self.example}"
            )
        try:
            settings = tomllib.loads(path.read_text("utf-8"))
            self.config.from_dict(settings)
        except OSError as error:
            raise ConfigError(f"{path}: {error.strerror}; expected a recipe file") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ConfigError(
                f"{path}: no recipe file: {error}. Expected lines such as: epochs = 5"
            ) from error
        except ConfigError as error:
            raise ConfigError(f"{path}: {error}") from error
        return settings


def recipe_text(config: LoopConfig, comments: Sequence[str] = ()) -> str:
    """A configuration as the text of a recipe file: TOML with a comment for each setting, all that
    has a part in the weights.

    >>> recipe_text(LoopConfig(epochs=3)).splitlines()[3]
    'epochs = 3'
    """
    lines = [*(f"# {line.strip()}" for line in comments), "# zoo finetune --recipe FILE", ""]
    for own in fields(config):
        if not own.metadata["free"]:
            text = own.metadata["text"]
            if own.metadata["choices"]:
                text += f" ({', '.join(own.metadata['choices'])})"
            lines += [*textwrap.wrap(text, 98, initial_indent="# ", subsequent_indent="# ")]
            value = json.dumps(getattr(config, own.name), ensure_ascii=False)
            lines += [f"{own.name} = {value}"]
    return "\n".join(lines) + "\n"
