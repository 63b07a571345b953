"""JSON as files of weights have it: each key once, and no NaN."""

from __future__ import annotations

import json
from typing import Any, NoReturn


def strict_json(raw: bytes) -> Any:
    """The value of UTF-8 JSON text.

    Raises:
        ValueError: it is no JSON, nests too deep, names a key twice, or has NaN or Infinity.

    >>> strict_json(b'{"a": [1, 2]}')
    {'a': [1, 2]}
    """
    try:
        return json.loads(
            raw.decode("utf-8"), object_pairs_hook=_no_duplicates, parse_constant=_no_constant
        )
    except RecursionError as error:
        raise ValueError("it nests too deep") from error


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"the key {name[:80]!r} appears twice")
        found[name] = value
    return found


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON number")
