"""Tokenizers as the files that other programs read: vocab.json and merges.txt."""

from __future__ import annotations

import json
from pathlib import Path

import hub
from zoo.text.tokenizer import Tokenizer, byte_letters


def save_tokenizer(tokenizer: Tokenizer, folder: Path) -> None:
    """Write `vocab.json` and `merges.txt` into a folder; `load_tokenizer(folder)` gives it back.

    Of GPT-2's tokenizer these are, byte for byte, the published files.

    >>> save_tokenizer(zoo.text.gpt2_tokenizer(), Path("out"))                # doctest: +SKIP
    """
    letters = byte_letters()

    def written(token: bytes) -> str:
        return "".join(letters[value] for value in token)

    numbers = {written(token): number for token, number in tokenizer.ranks.items()}
    ordered = sorted((numbers | tokenizer.special).items(), key=lambda pair: pair[1])
    lines = [f"{written(left)} {written(right)}" for left, right in merges_of(tokenizer)]
    with hub.atomic_file(folder / "vocab.json") as file:
        file.write(json.dumps(dict(ordered)).encode())
    with hub.atomic_file(folder / "merges.txt") as file:
        file.write(("\n".join(["#version: 0.2", *lines]) + "\n").encode())


def merges_of(tokenizer: Tokenizer) -> list[tuple[bytes, bytes]]:
    """The two tokens that each longer token is made of, in the order in which they are joined.

    >>> from zoo.text.tokenizer import gpt2_tokenizer
    >>> merges_of(gpt2_tokenizer())[:2]
    [(b' ', b't'), (b' ', b'a')]
    """
    longer = [(number, token) for token, number in tokenizer.ranks.items() if len(token) > 1]
    return [_parts(token, number, tokenizer.ranks) for number, token in sorted(longer)]


def _parts(token: bytes, number: int, ranks: dict[bytes, int]) -> tuple[bytes, bytes]:
    """What is left of a token when all joins but the last are made: those of lower numbers."""
    parts = [token[i : i + 1] for i in range(len(token))]
    while len(parts) > 2:
        joined = [ranks.get(a + b, number) for a, b in zip(parts, parts[1:], strict=False)]
        at = min(range(len(joined)), key=joined.__getitem__)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return parts[0], parts[1]
