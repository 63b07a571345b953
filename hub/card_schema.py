"""Dataclasses as the schema of a table: each field says how its value is parsed.

A parser returns the value, or raises ValueError saying what was expected.

>>> from hub.card_schema import list_of, natural
>>> list_of(natural, 2)([3, 4])
(3, 4)
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import MISSING, field, fields
from typing import Any, TypeVar

from hub.errors import SourceError
from hub.sources import is_address, parse_source

R = TypeVar("R")
Parser = Callable[[Any], Any]


def text(value: Any) -> str:
    """A text that is not empty."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a text (in quotes, if it looks like a number)")
    return value


def natural(value: Any) -> int:
    """A whole number from 1."""
    if type(value) is not int or value < 1:
        raise ValueError("a whole number from 1")
    return value


def number(value: Any) -> float:
    """A number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError("a number")
    return float(value)


def percent(value: Any) -> float:
    """A number from 0 to 100."""
    if not 0 <= number(value) <= 100:
        raise ValueError("a number from 0 to 100")
    return float(value)


def perplexity(value: Any) -> float:
    """A number from 1."""
    if not number(value) >= 1:
        raise ValueError("a number from 1")
    return float(value)


def flag(value: Any) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def table(value: Any) -> dict[str, Any]:
    """Names and values."""
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise ValueError("a table of names and values")
    return value


def url(value: Any) -> str:
    """An address that hub.sources understands."""
    expected = "an https:// address, hf:ORG/REPO/FILE or file:///..."
    try:
        if is_address(text(value)):
            parse_source(value)
            return str(value)
    except SourceError as error:
        raise ValueError(f"{expected} ({error})") from None
    raise ValueError(expected)


def hex_digits(least: int, most: int) -> Parser:
    """Parser of a text of `least` to `most` hex digits."""

    def parse(value: Any) -> str:
        if not re.fullmatch(f"[0-9a-f]{{{least},{most}}}", text(value)):
            count = least if least == most else f"{least} to {most}"
            raise ValueError(f"{count} lower-case hex digits, in quotes")
        return str(value)

    return parse


def one_of(*choices: str) -> Parser:
    """Parser of one of these texts."""

    def parse(value: Any) -> str:
        if value not in choices:
            raise ValueError(f"one of {', '.join(choices)}")
        return str(value)

    return parse


def list_of(item: Parser, count: int | None = None) -> Parser:
    """Parser of a list, of `count` values if given."""

    def parse(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list) or not value or (count and len(value) != count):
            raise ValueError(f"a list of {count} values" if count else "a list, not empty")
        return tuple(item(v) for v in value)

    return parse


def packaged(value: Any) -> str:
    """A relative path inside the distribution."""
    parts = text(value).split("/")
    if "\\" in value or any(part in ("", ".", "..") for part in parts):
        raise ValueError("a relative path inside the distribution, such as zoo/assets/NAME")
    return str(value)


def key(parse: Parser, **default: Any) -> Any:
    """A field of a record: how its value is parsed, and its default, if it may be left out."""
    return field(metadata={"parse": parse}, **default)


def record(kind: type[R]) -> Callable[[Any], R]:
    """Parser of a table into the dataclass `kind`."""

    def parse(value: Any) -> R:
        known = {f.name: f for f in fields(kind) if "parse" in f.metadata}  # type: ignore[arg-type]
        given = table(value)
        for name in given:
            if name not in known:
                raise ValueError(f"no key {name!r}; the keys are {', '.join(known)}")
        values = {}
        for name, f in known.items():
            if name in given:
                try:
                    values[name] = f.metadata["parse"](given[name])
                except ValueError as error:
                    raise ValueError(f"in {name}: {error}") from None
            elif f.default is MISSING and f.default_factory is MISSING:
                raise ValueError(f"the key {name!r}")
        return kind(**values)

    return parse
