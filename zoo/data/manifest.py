"""Lists of pictures: CSV, TSV or JSON Lines files that say which picture belongs to which class.

    path,label,split                      {"path": "a/1.jpg", "label": "cat", "split": "train"}
    a/1.jpg,cat,train                     {"path": "a/2.jpg", "label": "dog", "split": "val"}
    a/2.jpg,dog,val

Paths are relative to the list's folder. The split may be left out; a validation part is then split
off. Other columns are ignored. Columns may also be called as COLUMNS says, in any case.

A picture may have several labels, with | between them or in a JSON list, or none where other
pictures have several:

    path,label                            {"path": "a/1.jpg", "label": ["beach", "sun"]}
    a/1.jpg,beach|sun                     {"path": "a/2.jpg", "label": []}
    a/2.jpg,
"""

from __future__ import annotations

import csv
import io
import json
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from zoo.data.errors import DataError

SUFFIXES = (".csv", ".tsv", ".jsonl")
"""Of files that are read as lists of pictures."""

COLUMNS = {
    "path": ("path", "file", "filename", "file_name", "image", "image_path"),
    "label": ("label", "labels", "class", "class_name", "category", "tags"),
    "split": ("split", "part", "subset", "set"),
}
"""Names of each column, the first found counts."""

SEPARATOR = "|"
"""Stands between the labels of a picture that has several."""

_PARTS = {"train": "train", "training": "train"} | dict.fromkeys(
    ("val", "valid", "validation", "test"), "val"
)


class ManifestError(DataError):
    """A list of pictures cannot be used; the message names the line."""


def read_manifest(path: Path) -> list[tuple[Path, str, str | None]]:
    """(picture's path, class, "train" or "val" or None) of each line of a list, each once. The
    class of a picture with several labels is all of them, sorted, with SEPARATOR between; that of
    a picture without any is "".

    Raises:
        ManifestError: no columns of these names, a line without a path or a class, another split
            than train and val, some lines with a split and some without, one picture in two
            classes, or a file that is no text.

    >>> read_manifest(Path("labels.csv"))[0]      # doctest: +SKIP
    (PosixPath('a/1.jpg'), 'cat', 'train')
    """
    found: dict[Path, tuple[str, str | None, int]] = {}
    unlabelled: list[int] = []  # lines whose picture may have no label where others have several
    several = False
    for line, row in _rows(path):
        values = {column: _value(row, column) for column in ("path", "split")}
        labels, is_list = _labels(row, path, line)
        if not all(map(_can_be_written, (*values.values(), *labels))):
            raise ManifestError(
                f"{path}, line {line}: a NUL or half of a surrogate pair; expected text"
            )
        several = several or len(labels) > 1 or (is_list and not labels)
        if not values["path"]:
            raise ManifestError(f"{path}, line {line}: no path; expected one in every line")
        if not labels and not is_list:
            unlabelled.append(line)
        part = None
        if values["split"]:
            part = _PARTS.get(values["split"].lower())
            if part is None:
                raise ManifestError(
                    f"{path}, line {line}: split {values['split']!r}; expected train or val"
                )
        picture = path.parent / values["path"]
        label = SEPARATOR.join(labels)
        before = found.setdefault(picture, (label, part, line))
        if before[:2] != (label, part):
            raise ManifestError(
                f"{path}, line {line}: {values['path']} is {label!r} here and {before[0]!r} in "
                f"line {before[2]}, or in another split; expected one line for each picture, with "
                f"{SEPARATOR} between its labels where it has several"
            )
    if unlabelled and not several:
        raise ManifestError(f"{path}, line {unlabelled[0]}: no label; expected one in every line")
    parts = {part for _, part, _ in found.values()}
    if None in parts and len(parts) > 1:
        line = next(line for _, part, line in found.values() if part is None)
        raise ManifestError(
            f"{path}, line {line}: no split, while other lines have one; expected train or val in "
            "every line, or in none"
        )
    return [(picture, label, part) for picture, (label, part, _) in found.items()]


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """(number of the line, its values by column in lower case) of each line that has content."""
    try:
        text = path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ManifestError(
            f"{path}: not UTF-8 text (byte {error.start}); save it as UTF-8"
        ) from error
    if path.suffix.lower() == ".jsonl":
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip():
                yield number, _object(path, number, line)
        return
    head = text.partition("\n")[0]
    separator = max(",;\t", key=head.count)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        yield from _table_rows(path, reader, head)
    except csv.Error as error:
        raise ManifestError(f"{path}, line {reader.line_num}: no CSV: {error}") from error


def _table_rows(
    path: Path, reader: csv.DictReader[str], head: str
) -> Iterator[tuple[int, dict[str, Any]]]:
    names = [(name or "").strip().lower() for name in reader.fieldnames or ()]
    for column in ("path", "label"):
        if not set(COLUMNS[column]) & set(names):
            raise ManifestError(
                f"{path}: no column {column}; its first line is {head.strip()!r}.\nExpected names "
                "of columns in the first line, for example: path,label or path,label,split"
            )
    reader.fieldnames = names
    for row in reader:
        if any(row.values()):
            yield reader.line_num, row


def _object(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        reason = getattr(error, "msg", error)
        raise ManifestError(f"{path}, line {number}: no JSON: {reason}") from error
    if not isinstance(row, dict):
        raise ManifestError(
            f'{path}, line {number}: expected an object such as {{"path": "1.jpg", "label": "cat"}}'
        )
    return {key.lower(): value for key, value in row.items()}


def _labels(row: dict[str, Any], path: Path, line: int) -> tuple[list[str], bool]:
    """The labels of a line, sorted, and whether they are a list rather than a text."""
    name = next((n for n in COLUMNS["label"] if isinstance(row.get(n), list)), None)
    if name is None:
        given: list[Any] = _value(row, "label").split(SEPARATOR)
    else:
        given = row[name]
    if any(isinstance(g, bool) or not isinstance(g, str | int) for g in given):
        raise ManifestError(
            f'{path}, line {line}: labels {given!r}; expected texts, such as ["beach", "sun"]'
        )
    labels = {unicodedata.normalize("NFC", str(g).strip()) for g in given} - {""}
    if any(SEPARATOR in label for label in labels):
        raise ManifestError(f"{path}, line {line}: a label with {SEPARATOR} in it; expected none")
    return sorted(labels), name is not None


def _value(row: dict[str, Any], column: str) -> str:
    """The text of a column, "" where there is none."""
    for name in COLUMNS[column]:
        value = row.get(name)
        if isinstance(value, str | int) and not isinstance(value, bool):
            return str(value).strip()
    return ""


def _can_be_written(text: str) -> bool:
    """Whether a text can name a file and stand in one. JSON can spell texts that cannot."""
    try:
        return b"\0" not in text.encode("utf-8")
    except UnicodeEncodeError:
        return False
