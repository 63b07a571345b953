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
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from hub.errors import CardError, SourceError, UnknownCard
from hub.keymaps import KEY_MAPS
from hub.sources import is_address, parse_source

R = TypeVar("R")
Parser = Callable[[Any], Any]  # returns the value, or raises ValueError saying what was expected


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a text (in quotes, if it looks like a number)")
    return value


def _natural(value: Any) -> int:
    if type(value) is not int or value < 1:
        raise ValueError("a whole number from 1")
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError("a number")
    return float(value)


def _percent(value: Any) -> float:
    if not 0 <= _number(value) <= 100:
        raise ValueError("a number from 0 to 100")
    return float(value)


def _perplexity(value: Any) -> float:
    if not _number(value) >= 1:
        raise ValueError("a number from 1")
    return float(value)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def _table(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise ValueError("a table of names and values")
    return value


def _url(value: Any) -> str:
    expected = "an https:// address, hf:ORG/REPO/FILE or file:///..."
    try:
        if is_address(_text(value)):
            parse_source(value)
            return str(value)
    except SourceError as error:
        raise ValueError(f"{expected} ({error})") from None
    raise ValueError(expected)


def _hex(least: int, most: int) -> Parser:
    def parse(value: Any) -> str:
        if not re.fullmatch(f"[0-9a-f]{{{least},{most}}}", _text(value)):
            count = least if least == most else f"{least} to {most}"
            raise ValueError(f"{count} lower-case hex digits, in quotes")
        return str(value)

    return parse


def _one_of(*choices: str) -> Parser:
    def parse(value: Any) -> str:
        if value not in choices:
            raise ValueError(f"one of {', '.join(choices)}")
        return str(value)

    return parse


def _list_of(item: Parser, count: int | None = None) -> Parser:
    def parse(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list) or not value or (count and len(value) != count):
            raise ValueError(f"a list of {count} values" if count else "a list, not empty")
        return tuple(item(v) for v in value)

    return parse


def _packaged(value: Any) -> str:
    parts = _text(value).split("/")
    if "\\" in value or any(part in ("", ".", "..") for part in parts):
        raise ValueError("a relative path inside the distribution, such as zoo/assets/NAME")
    return str(value)


def _read(parse: Parser, **default: Any) -> Any:
    return field(metadata={"parse": parse}, **default)


def _record(kind: type[R]) -> Callable[[Any], R]:
    """Parser of a table into the dataclass `kind`."""

    def parse(value: Any) -> R:
        known = {f.name: f for f in fields(kind) if "parse" in f.metadata}  # type: ignore[arg-type]
        table = _table(value)
        for key in table:
            if key not in known:
                raise ValueError(f"no key {key!r}; the keys are {', '.join(known)}")
        values = {}
        for name, f in known.items():
            if name in table:
                try:
                    values[name] = f.metadata["parse"](table[name])
                except ValueError as error:
                    raise ValueError(f"in {name}: {error}") from None
            elif f.default is MISSING and f.default_factory is MISSING:
                raise ValueError(f"the key {name!r}")
        return kind(**values)

    return parse


@dataclass(frozen=True)
class CardFile:
    """One file that holds a card's weights: where it is and how to know it."""

    format: str = _read(_one_of("safetensors", "pth"))
    verified: str = _read(_one_of("full", "prefix"))
    url: str | None = _read(_url, default=None)
    packaged: str | None = _read(_packaged, default=None)
    mirrors: tuple[str, ...] = _read(_list_of(_url), default=())
    sha256: str | None = _read(_hex(64, 64), default=None)
    sha256_prefix: str | None = _read(_hex(8, 63), default=None)
    bytes: int | None = _read(_natural, default=None)
    bytes_approx: int | None = _read(_natural, default=None)
    key_map: str = _read(_one_of(*KEY_MAPS), default="torchvision")

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

    size: int = _read(_natural)
    resize: int = _read(_natural)
    crop: int = _read(_natural)
    interpolation: str = _read(_one_of("bilinear", "bicubic"))
    mean: tuple[float, ...] = _read(_list_of(_number, 3))
    std: tuple[float, ...] = _read(_list_of(_number, 3))


@dataclass(frozen=True)
class CardClasses:
    """What the outputs stand for."""

    number: int = _read(_natural)
    labels: str = _read(_text)
    names: tuple[str, ...] = _read(_list_of(_text), default=())

    def __post_init__(self) -> None:
        if self.names and len(self.names) != self.number:
            raise ValueError(f"{self.number} names (there are {len(self.names)})")


@dataclass(frozen=True)
class CardMetric:
    """A published result: accuracy in percent at an input of `size` pixels, or a perplexity."""

    dataset: str = _read(_text)
    top1: float | None = _read(_percent, default=None)
    size: int | None = _read(_natural, default=None)
    top5: float | None = _read(_percent, default=None)
    perplexity: float | None = _read(_perplexity, default=None)

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

    context: int = _read(_natural)
    vocabulary: int = _read(_natural)
    tokenizer: str = _read(_text)


@dataclass(frozen=True)
class Card:
    """A set of published weights; the module's docstring documents each field.

    >>> card = hub.get_card("resnet20.letters")
    >>> card.arch, card.input.size
    ('resnet20', 32)
    """

    name: str = _read(_text)
    arch: str = _read(_text)
    files: tuple[CardFile, ...] = _read(_list_of(_record(CardFile)))
    params: int = _read(_natural)
    license: str = _read(_text)
    source: str = _read(_text)
    input: CardInput | None = _read(_record(CardInput), default=None)
    classes: CardClasses | None = _read(_record(CardClasses), default=None)
    text: CardText | None = _read(_record(CardText), default=None)
    metrics: tuple[CardMetric, ...] = _read(_list_of(_record(CardMetric)), default=())
    default: bool = _read(_flag, default=False)
    config: Mapping[str, Any] = _read(_table, default_factory=dict, hash=False)
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
        card: Card = _record(Card)(table)
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
