"""Names of models: architectures, which code defines, and sets of weights, which cards define."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import hub
from zoo.errors import UnknownModelError, UnknownOption

if TYPE_CHECKING:
    from zoo.models.zoo_model import ZooModel

# Modules of zoo.models; each has VARIANTS (configurations by name) and build(variant, ...), which
# returns a ZooModel.
FAMILIES = ("resnet", "vgg", "gpt")


class Config(Protocol):
    """What the zoo knows of a row of a family's VARIANTS, a dataclass; the rest is its own.

    >>> get_arch("resnet50").config.task
    'image-classification'
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def task(self) -> str:
        """What such models do: "image-classification" or "text-generation"."""

    @property
    def designed_for(self) -> str:
        """The task of the paper, in words, such as "224x224 pixels and 1000 classes"."""


@dataclass(frozen=True)
class Arch:
    """An architecture: one variant of a family.

    >>> get_arch("resnet50").family
    'resnet'
    """

    name: str  # such as "resnet50"
    family: str  # module of zoo.models that defines it
    config: Config  # the family's row for it

    def build(self, **options: Any) -> ZooModel:
        """A randomly initialised model, in training mode.

        Args:
            options: keyword arguments of the family's `build`, such as num_classes.

        Raises:
            UnknownOption: the family's `build` does not take one of them.

        >>> get_arch("resnet20").build(num_classes=4).get_classifier().out_features
        4
        """
        self.check_options(options)
        return import_module(f"zoo.models.{self.family}").build(self.name, **options)

    def check_options(self, options: Iterable[str]) -> None:
        """Raises UnknownOption unless the family's `build` takes all these keyword arguments."""
        signature = inspect.signature(import_module(f"zoo.models.{self.family}").build)
        takes = []
        for parameter in [*signature.parameters.values()][1:]:
            if parameter.kind is parameter.VAR_KEYWORD:  # changes the row
                takes += [field.name for field in fields(self.config)]
            else:
                takes.append(parameter.name)
        for option in options:
            if option not in takes:
                raise UnknownOption(
                    f"{self.name} has no option '{option}'; it takes {', '.join(takes)}"
                )


@cache
def archs() -> Mapping[str, Arch]:
    """All architectures by name, families and sizes in order.

    >>> "resnet50" in archs()
    True
    """
    found: dict[str, Arch] = {}
    for family in FAMILIES:
        for name, config in import_module(f"zoo.models.{family}").VARIANTS.items():
            found[name] = Arch(name, family, config)
    return MappingProxyType(found)


def get_arch(name: str) -> Arch:
    """The architecture of that name, or the one that the card of that name is for.

    Raises:
        UnknownModelError: there is neither; the message suggests near names.

    >>> get_arch("resnet50").family
    'resnet'
    """
    if name in archs():
        return archs()[name]
    cards = hub.load_cards()
    if name in cards and cards[name].arch in archs():
        return archs()[cards[name].arch]
    known = [*archs(), *cards]
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.6)
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    raise UnknownModelError(
        f"there is no model named '{name}'; {hint}To see all names, type: zoo list", tuple(near)
    )


def check_name(name: str) -> None:
    """Raises UnknownModelError unless `name` is an architecture's or a card's.

    >>> check_name("resnet50")
    """
    get_arch(name)


def list_models(pattern: str = "*", pretrained: bool = False, task: str | None = None) -> list[str]:
    """Names that `load` takes.

    Args:
        pattern: of names, with * and ? as in file names.
        pretrained: list the cards, that is the sets of weights, whose own name or whose
            architecture's name fits the pattern; else the architectures.
        task: list what does this only: "image-classification" or "text-generation".

    >>> list_models("resnext*")
    ['resnext50_32x4d', 'resnext101_32x8d', 'resnext101_64x4d']
    """
    wanted = [arch.name for arch in archs().values() if task in (None, arch.config.task)]
    if not pretrained:
        return [name for name in wanted if fnmatchcase(name, pattern)]
    return [
        card.name
        for arch in wanted
        for card in hub.cards_for(arch)
        if fnmatchcase(card.name, pattern) or fnmatchcase(arch, pattern)
    ]
