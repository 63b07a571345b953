"""JSON as files of weights have it: UTF-8, each key once, no NaN, no more than the file bears."""

from __future__ import annotations

import json
from typing import Any, NoReturn

# What a list or a number of two digits takes in Python, with its place in another list.
_BYTES_A_VALUE = 64
_FREE_BYTES = 16_000_000


def strict_json(raw: bytes, file_bytes: int = 0) -> Any:
    """The value of JSON text.

    Args:
        raw: the text.
        file_bytes: size of the file around it, if that is more.

    Raises:
        ValueError: it is no JSON, nests too deep, names a key twice, has NaN or Infinity, half of a
            surrogate pair, or so many values that they would take ten times the memory of the file.

    >>> strict_json(b'{"a": [1, 2]}')
    {'a': [1, 2]}
    """
    values = raw.count(b",") + raw.count(b"[") + raw.count(b"{")
    if values * _BYTES_A_VALUE > 10 * max(len(raw), file_bytes) + _FREE_BYTES:
        raise ValueError(f"{values:,} values are out of proportion to the file")
    try:
        value = json.loads(
            raw.decode("utf-8"), object_pairs_hook=_no_duplicates, parse_constant=_no_constant
        )
        # An escape may spell half of a surrogate pair, a text that no file and no terminal takes.
        if b"\\ud" in raw.lower():
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except RecursionError as error:
        raise ValueError("it nests too deep") from error
    return value


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"the key {name[:80]!r} appears twice")
        found[name] = value
    return found


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON number")
