"""Names of models: architectures, which code defines, and sets of weights, which cards define."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import hub
from zoo.errors import UnknownModelError

if TYPE_CHECKING:
    from zoo.models.image_model import ImageModel

# Modules of zoo.models; each has VARIANTS (configurations by name) and build(variant, ...).
FAMILIES = ("resnet",)


@dataclass(frozen=True)
class Arch:
    """An architecture: one variant of a family."""

    name: str  # such as "resnet50"
    family: str  # module of zoo.models that defines it
    image_size: int  # side of the pictures it was designed for, pixels
    num_classes: int  # of the task it was designed for

    def build(self, num_classes: int | None = None, **config: Any) -> ImageModel:
        """A randomly initialised model, in training mode.

        Args:
            num_classes: outputs; None for the paper's.
            config: what else the family's `build` takes.
        """
        return import_module(f"zoo.models.{self.family}").build(self.name, num_classes, **config)


@cache
def archs() -> Mapping[str, Arch]:
    """All architectures by name, families and sizes in order."""
    found: dict[str, Arch] = {}
    for family in FAMILIES:
        for name, config in import_module(f"zoo.models.{family}").VARIANTS.items():
            found[name] = Arch(name, family, config.image_size, config.num_classes)
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
    """Raises UnknownModelError unless `name` is an architecture's or a card's."""
    get_arch(name)


def list_models(pattern: str = "*", pretrained: bool = False) -> list[str]:
    """Names that `load` takes.

    Args:
        pattern: of names, with * and ? as in file names.
        pretrained: list the cards, that is the sets of weights, whose own name or whose
            architecture's name fits the pattern; else the architectures.

    >>> list_models("resnext*")
    ['resnext50_32x4d', 'resnext101_32x8d', 'resnext101_64x4d']
    """
    if not pretrained:
        return [name for name in archs() if fnmatchcase(name, pattern)]
    return [
        card.name
        for arch in archs()
        for card in hub.cards_for(arch)
        if fnmatchcase(card.name, pattern) or fnmatchcase(arch, pattern)
    ]
