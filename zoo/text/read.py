"""Documents from files: plain text, JSONL and CSV.

The policy of encodings, the same on every machine whatever its locale: files are UTF-8; a byte
order mark is dropped; line ends of every kind become a line feed; a byte that is not UTF-8 is
refused with its offset, or replaced by U+FFFD where `bad_bytes="replace"` asks for it.
"""

from __future__ import annotations

import codecs
import csv
import glob
import io
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zoo.text.errors import BadEncoding, BadRecord, TextNotFound

TEXT_SUFFIXES = (".txt", ".text", ".md", ".jsonl", ".csv")
_WIDE_MARKS = ((codecs.BOM_UTF16_LE, "UTF-16"), (codecs.BOM_UTF16_BE, "UTF-16"))


@dataclass(frozen=True)
class Document:
    """A text of its own.

    Attributes:
        prompt: what is read but not learned; '' for plain text.
        text: what is learned, and scored.
        source: file and line, for messages.
    """

    prompt: str
    text: str
    source: str


def find_files(sources: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[Path]:
    """The text files that `sources` name: files, folders (all text files in them, at any depth) and
    patterns with * and ?; each once, in a fixed order. Hidden files are left out.

    Raises:
        TextNotFound: a name that nothing is found for.

    >>> find_files("books/*.txt")      # doctest: +SKIP
    [PosixPath('books/emma.txt'), PosixPath('books/ulysses.txt')]
    """
    if isinstance(sources, str | os.PathLike):
        sources = [sources]
    found: dict[Path, None] = {}
    for source in sources:
        path = Path(source)
        if path.is_file():
            found[path] = None
            continue
        if path.is_dir():
            inside = sorted(p for p in path.rglob("*") if p.is_file() and _is_text(p, path))
            if not inside:
                raise TextNotFound(
                    f"{path}: no text files in this folder. Expected files that end in "
                    f"{', '.join(TEXT_SUFFIXES)}; any other file may be named itself"
                )
        else:
            matches = sorted(glob.glob(os.fspath(source), recursive=True))
            inside = [p for p in map(Path, matches) if p.is_file()]
            if not inside:
                raise TextNotFound(
                    f"{source}: no such file, folder or pattern. Expected text, for example: "
                    "--data book.txt, --data ./books or --data 'books/*.txt'"
                )
        found |= dict.fromkeys(inside)
    return list(found)


def _is_text(path: Path, root: Path) -> bool:
    hidden = any(part.startswith(".") for part in path.relative_to(root).parts)
    return not hidden and path.suffix.lower() in TEXT_SUFFIXES


def read_documents(path: Path, data: bytes, bad_bytes: str = "refuse") -> Iterator[Document]:
    """The documents of a file: the whole of a plain text, each line of a JSONL or CSV file.

    A line of JSONL is an object with "text", or with "prompt" and "completion"; a CSV file has a
    first line that names such columns. Other entries are passed over.

    Args:
        path: of the file; its suffix decides.
        data: its bytes.
        bad_bytes: "refuse" or "replace".

    Raises:
        BadEncoding: with the offset of the first byte that is wrong.
        BadRecord: with the line.

    >>> [d.text for d in read_documents(Path("a.jsonl"), b'{"text": "one"}')]
    ['one']
    """
    kind = path.suffix.lower()
    text = decode(data, str(path), bad_bytes, keep_newlines=kind == ".csv")
    if kind == ".jsonl":
        yield from _from_rows(_jsonl_rows(text, path))
    elif kind == ".csv":
        yield from _from_rows(_csv_rows(text, path))
    elif text:
        yield Document("", text, str(path))


def decode(data: bytes, source: str, bad_bytes: str = "refuse", keep_newlines: bool = False) -> str:
    """Bytes as text, by the policy of this module.

    Raises:
        BadEncoding: a byte that is not UTF-8, and bad_bytes is not "replace".

    >>> decode(b"\\xef\\xbb\\xbfa\\r\\nb", "a file")
    'a\\nb'
    """
    for mark, name in _WIDE_MARKS:
        if data.startswith(mark):
            raise BadEncoding(
                f"{source}: starts as {name}; expected UTF-8. Convert it, for example: "
                f"iconv -f {name} -t UTF-8 OLD > NEW"
            )
    start = len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0
    try:
        text = data[start:].decode("utf-8", "replace" if bad_bytes == "replace" else "strict")
    except UnicodeDecodeError as error:
        at = start + error.start
        raise BadEncoding(
            f"{source}: byte 0x{data[at]:02x} at offset {at} is not UTF-8 ({error.reason}). "
            "Convert the file, for example: iconv -f WINDOWS-1252 -t UTF-8 OLD > NEW; or let such "
            "bytes become U+FFFD: --bad-bytes replace"
        ) from error
    return text if keep_newlines else text.replace("\r\n", "\n").replace("\r", "\n")


def _jsonl_rows(text: str, path: Path) -> Iterator[tuple[str, Any]]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            yield where, json.loads(line)
        except (ValueError, RecursionError) as error:
            raise BadRecord(f"{where}: no JSON ({error}); expected an object a line") from error


def _csv_rows(text: str, path: Path) -> Iterator[tuple[str, Any]]:
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        for row in reader:
            yield f"{path}, line {reader.line_num}", row
    except csv.Error as error:
        raise BadRecord(f"{path}, line {reader.line_num}: {error}; expected CSV") from error


def _from_rows(rows: Iterable[tuple[str, Any]]) -> Iterator[Document]:
    for where, row in rows:
        names = ("text",) if isinstance(row, dict) and "text" in row else ("prompt", "completion")
        if not isinstance(row, dict) or not all(isinstance(row.get(name), str) for name in names):
            has = ", ".join(map(str, row)) if isinstance(row, dict) else type(row).__name__
            raise BadRecord(
                f"{where}: has {has or 'nothing'}; expected texts named text, or prompt and "
                "completion"
            )
        *prompt, text = (row[name].replace("\r\n", "\n").replace("\r", "\n") for name in names)
        try:
            "".join([*prompt, text]).encode("utf-8")
        except UnicodeEncodeError as error:  # JSON can spell what is no text
            raise BadRecord(
                f"{where}: half of a surrogate pair at character {error.start}; expected text"
            ) from error
        if text:
            yield Document("".join(prompt), text, where)
