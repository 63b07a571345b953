"""Model cards: one Markdown file per set of weights, whose YAML front matter is the registry.

A card is `model_cards/NAME.md`: a block between two `---` lines, then prose. The dataclasses below
are the schema: a key that is not a field is an error, a field without default is required.

    name: resnet50.tv_in1k_v1        # the file's name without .md: ARCH.TAG
    arch: resnet50                   # architecture, as `zoo.list_models()` knows it
    default: true                    # the architecture's weights when none are named
    config: {}                       # further keyword arguments of the architecture's builder
    files:                           # alternatives, tried in this order
      - url: https://...             # or hf:ORG/REPO/FILE, or file:///...; see hub.sources; or
                                     # `packaged: zoo/assets/NAME`, a file of this distribution
        mirrors: [https://...]       # the same bytes elsewhere
        format: safetensors          # or pth; for the reader of the card: readers go by content
        sha256: "64 hex digits"      # or `sha256_prefix: "8 or more"`, where no more is published
        verified: full               # or prefix
        bytes: 102530333             # exact, checked; or `bytes_approx`, for display
        key_map: torchvision         # a name in hub.keymaps.KEY_MAPS
    params: 25557032                 # learnable numbers
    license: BSD-3-Clause
    source: https://...              # where the weights are described

A card of an image classifier says besides:

    input:
      size: 224                      # side of the square the network sees, px
      resize: 256                    # length of the shorter side after resizing, px
      crop: 224                      # side of the central crop at evaluation, px
      interpolation: bilinear        # or bicubic; always antialiased
      mean: [0.485, 0.456, 0.406]    # per channel RGB, of values in 0..1
      std: [0.229, 0.224, 0.225]
    classes: {number: 1000, labels: imagenet-1k}    # optional `names`: list of the class names
    metrics:                         # as published, in percent
      - {dataset: imagenet-1k val, top1: 76.130, top5: 92.862, size: 224}

A card of a text model says instead:

    text:
      context: 1024                  # tokens that the network sees at once
      vocabulary: 50257              # different tokens
      tokenizer: gpt2                # the name by which the tokenizer is known
    metrics:                         # optional, as published
      - {dataset: wikitext-103, perplexity: 37.50}
"""

from __future__ import annotations

import difflib
import functools
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from hub import card_schema as schema
from hub.errors import CardError, UnknownCard
from hub.keymaps import KEY_MAPS


@dataclass(frozen=True)
class CardFile:
    """One file that holds a card's weights: where it is and how to know it."""

    format: str = schema.key(schema.one_of("safetensors", "pth"))
    verified: str = schema.key(schema.one_of("full", "prefix"))
    url: str | None = schema.key(schema.url, default=None)
    packaged: str | None = schema.key(schema.packaged, default=None)
    mirrors: tuple[str, ...] = schema.key(schema.list_of(schema.url), default=())
    sha256: str | None = schema.key(schema.hex_digits(64, 64), default=None)
    sha256_prefix: str | None = schema.key(schema.hex_digits(8, 63), default=None)
    bytes: int | None = schema.key(schema.natural, default=None)
    bytes_approx: int | None = schema.key(schema.natural, default=None)
    key_map: str = schema.key(schema.one_of(*KEY_MAPS), default="torchvision")

    def __post_init__(self) -> None:
        if (self.url is None) == (self.packaged is None):
            raise ValueError("either url or packaged")
        if (self.sha256 is None) == (self.sha256_prefix is None):
            raise ValueError("either sha256 or sha256_prefix")
        if (self.verified == "full") != (self.sha256 is not None):
            raise ValueError("verified: full beside sha256, verified: prefix beside sha256_prefix")
        if self.packaged and self.sha256 is None:
            raise ValueError("the full sha256 of a packaged file")

    @property
    def digest(self) -> str:
        """The SHA-256 as far as the card knows it: 64 hex digits, or the first 8 or more."""
        return self.sha256 or self.sha256_prefix or ""

    @property
    def urls(self) -> tuple[str, ...]:
        """The address and its mirrors, in the order in which they are tried."""
        return (self.url, *self.mirrors) if self.url else ()


@dataclass(frozen=True)
class CardInput:
    """Preprocessing that the weights were made with; lengths in pixels."""

    size: int = schema.key(schema.natural)
    resize: int = schema.key(schema.natural)
    crop: int = schema.key(schema.natural)
    interpolation: str = schema.key(schema.one_of("bilinear", "bicubic"))
    mean: tuple[float, ...] = schema.key(schema.list_of(schema.number, 3))
    std: tuple[float, ...] = schema.key(schema.list_of(schema.number, 3))


@dataclass(frozen=True)
class CardClasses:
    """What the outputs stand for."""

    number: int = schema.key(schema.natural)
    labels: str = schema.key(schema.text)
    names: tuple[str, ...] = schema.key(schema.list_of(schema.text), default=())

    def __post_init__(self) -> None:
        if self.names and len(self.names) != self.number:
            raise ValueError(f"{self.number} names (there are {len(self.names)})")


@dataclass(frozen=True)
class CardMetric:
    """A published result: accuracy in percent at an input of `size` pixels, or a perplexity."""

    dataset: str = schema.key(schema.text)
    top1: float | None = schema.key(schema.percent, default=None)
    size: int | None = schema.key(schema.natural, default=None)
    top5: float | None = schema.key(schema.percent, default=None)
    perplexity: float | None = schema.key(schema.perplexity, default=None)

    def __post_init__(self) -> None:
        pictures = (self.top1 is not None, self.size is not None)
        if not (all(pictures) or (self.perplexity is not None and not any(pictures))):
            raise ValueError("either top1 and size, or perplexity")

    @property
    def value(self) -> str:
        """The result in words, such as "76.1% top-1" or "perplexity 37.5"."""
        if self.top1 is None:
            return f"perplexity {self.perplexity:g}"
        return f"{self.top1:.1f}% top-1"


@dataclass(frozen=True)
class CardText:
    """What a text model reads."""

    context: int = schema.key(schema.natural)
    vocabulary: int = schema.key(schema.natural)
    tokenizer: str = schema.key(schema.text)


@dataclass(frozen=True)
class Card:
    """A set of published weights; the module's docstring documents each field.

    >>> card = hub.get_card("resnet20.letters")
    >>> card.arch, card.input.size
    ('resnet20', 32)
    """

    name: str = schema.key(schema.text)
    arch: str = schema.key(schema.text)
    files: tuple[CardFile, ...] = schema.key(schema.list_of(schema.record(CardFile)))
    params: int = schema.key(schema.natural)
    license: str = schema.key(schema.text)
    source: str = schema.key(schema.text)
    input: CardInput | None = schema.key(schema.record(CardInput), default=None)
    classes: CardClasses | None = schema.key(schema.record(CardClasses), default=None)
    text: CardText | None = schema.key(schema.record(CardText), default=None)
    metrics: tuple[CardMetric, ...] = schema.key(
        schema.list_of(schema.record(CardMetric)), default=()
    )
    default: bool = schema.key(schema.flag, default=False)
    config: Mapping[str, Any] = schema.key(schema.table, default_factory=dict, hash=False)
    prose: str = ""

    def __post_init__(self) -> None:
        if self.text is None:
            for key in ("input", "classes", "metrics"):
                if not getattr(self, key):
                    raise ValueError(f"the key {key!r}, or 'text' for a text model")
        elif self.input or self.classes or any(m.perplexity is None for m in self.metrics):
            raise ValueError("'text' and perplexities, or 'input', 'classes' and accuracies")

    @property
    def task(self) -> str:
        """What the weights do: "image-classification" or "text-generation"."""
        return "text-generation" if self.text else "image-classification"

    @property
    def bytes(self) -> int:
        """Size of the first file, to about 1%; 0 where unknown."""
        return self.files[0].bytes or self.files[0].bytes_approx or 0


def cards_folder() -> Path:
    """Where the cards are: `hub/model_cards` if installed, else `model_cards` beside `hub`."""
    package = Path(__file__).resolve().parent
    installed = package / "model_cards"
    return installed if installed.is_dir() else package.parent / "model_cards"


def load_cards(folder: str | os.PathLike[str] | None = None) -> Mapping[str, Card]:
    """All cards by name, in order of name. Each folder is read once per process.

    Args:
        folder: where the cards are; default `cards_folder()`.

    Raises:
        CardError: a card breaks the schema, or an architecture has several default cards.

    >>> load_cards()["resnet18.tv_in1k_v1"].params
    11689512
    """
    return _load(Path(folder) if folder is not None else cards_folder())


def get_card(name: str, folder: str | os.PathLike[str] | None = None) -> Card:
    """The card of this name.

    Raises:
        UnknownCard: there is none; the message suggests the nearest names.

    >>> get_card("resnet50.tv_in1k_v2").input.resize
    232
    """
    cards = load_cards(folder)
    if name in cards:
        return cards[name]
    near = difflib.get_close_matches(name, cards, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else "see `zoo list`."
    raise UnknownCard(f"there is no card named {name!r}; {hint}")


def card_of(name: str, folder: str | os.PathLike[str] | None = None) -> Card:
    """The card of this name, or the default card of the architecture of this name.

    Raises:
        UnknownCard: there is neither; the message suggests near names of both kinds.

    >>> card_of("resnet34").name
    'resnet34.tv_in1k_v1'
    """
    cards = load_cards(folder)
    if name in cards:
        return cards[name]
    if own := cards_for(name, folder):
        return own[0]
    known = [*dict.fromkeys(card.arch for card in cards.values()), *cards]
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.6)
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    raise UnknownCard(
        f"there are no weights named {name!r}; {hint}To see all, type: zoo list --pretrained"
    )


def cards_for(arch: str, folder: str | os.PathLike[str] | None = None) -> tuple[Card, ...]:
    """The cards of an architecture, its default first; empty if there are none.

    >>> [card.name for card in cards_for("resnet34")]
    ['resnet34.tv_in1k_v1']
    """
    cards = [card for card in load_cards(folder).values() if card.arch == arch]
    return tuple(sorted(cards, key=lambda card: not card.default))


def parse_card(text: str, name: str) -> Card:
    """A card from the text of its file; `name` is the file's name without suffix.

    Raises:
        CardError: the text breaks the schema; the message names the key.
    """
    import yaml

    match = re.match(r"---\n(.*?)\n---\n(.*)", text, re.DOTALL)
    if match is None:
        raise CardError(f"card {name}: expected front matter between two '---' lines at the start")
    # The C loader is eight times as fast; PyYAML builds without it exist.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        # An alias of an alias of ... is small as YAML and endless as JSON.
        events = yaml.parse(match[1], Loader=loader) if "&" in match[1] else ()
        if any(isinstance(event, yaml.AliasEvent) for event in events):
            raise ValueError("each value written out, without aliases (*name)")
        table = yaml.load(match[1], Loader=loader)
        card: Card = schema.record(Card)(table)
        if card.name != name or not name.startswith(f"{card.arch}."):
            raise ValueError(f"name {name!r} (the file's), starting with 'ARCH.'")
    except (yaml.YAMLError, RecursionError) as error:
        raise CardError(f"card {name}: its front matter is no valid YAML: {error}") from error
    except ValueError as error:
        raise CardError(f"card {name}: expected {error}") from error
    object.__setattr__(card, "prose", match[2].strip() + "\n")
    return card


@functools.lru_cache(maxsize=8)
def _load(folder: Path) -> Mapping[str, Card]:
    cards = {}
    for path in sorted(folder.glob("*.*.md")):
        cards[path.stem] = parse_card(path.read_text("utf-8"), path.stem)
    defaults: dict[str, str] = {}
    for card in cards.values():
        if card.default and defaults.setdefault(card.arch, card.name) != card.name:
            raise CardError(
                f"cards {defaults[card.arch]} and {card.name} are both the default of {card.arch}; "
                "remove `default: true` from one"
            )
    return MappingProxyType(cards)
