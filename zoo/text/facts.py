"""What reading text files shows: what a person should know before training on them."""

from __future__ import annotations

import codecs
import hashlib
import re
from dataclasses import dataclass

LONG_LINE = 20_000
"""Lines of more characters are counted as long: minified code, tables, base64."""

# UTF-8 that was read as Latin-1 and saved again: "Ã©" where there was "é", and its kin.
_READ_TWICE = re.compile("[\u00c2\u00c3][\u0080-\u00bf]|\u00e2\u20ac[\u0153\u2122\u201c\u201d]")


@dataclass
class TextFacts:
    """Counts over all files; `add_file` and `add_document` keep them.

    Attributes:
        marks: files that begin with a byte order mark, which is dropped.
        returns: files with carriage returns, which become line feeds.
        replaced: bytes that are not UTF-8 and became U+FFFD, where that was asked for.
        lost: U+FFFD that the files hold themselves: characters that were lost before.
        controls: characters such as NUL, which no text needs.
        read_twice: pairs of characters that look like UTF-8 which was read as Latin-1.
        long_lines: lines of more than LONG_LINE characters.
        longest: characters of the longest line.
        longest_in: file and line, or file, of the document that it is in.
    """

    marks: int = 0
    returns: int = 0
    replaced: int = 0
    lost: int = 0
    controls: int = 0
    read_twice: int = 0
    long_lines: int = 0
    longest: int = 0
    longest_in: str = ""

    def add_file(self, data: bytes) -> None:
        """Count what only the bytes show."""
        self.marks += data.startswith(codecs.BOM_UTF8)
        self.returns += b"\r" in data
        lost = data.count("\ufffd".encode())
        self.lost += lost
        try:
            data.decode("utf-8")
        except UnicodeDecodeError:
            self.replaced += data.decode("utf-8", "replace").count("\ufffd") - lost

    def add_document(self, text: str, source: str) -> None:
        """Count what a document shows."""
        self.controls += len(_CONTROLS.findall(text))
        self.read_twice += len(_READ_TWICE.findall(text))
        for line in text.split("\n"):
            self.long_lines += len(line) > LONG_LINE
            if len(line) > self.longest:
                self.longest, self.longest_in = len(line), source

    def remarks(self) -> list[str]:
        """What is worth saying, one string a line."""
        lines = []
        if self.replaced:
            lines.append(f"Not UTF-8, now U+FFFD: {self.replaced:,} places")
        if self.lost:
            lines.append(
                f"U+FFFD in the files themselves: {self.lost:,} characters were lost before"
            )
        if self.read_twice:
            lines.append(
                f"Looks like UTF-8 that was read as Latin-1 and saved again (Ã© for é): "
                f"{self.read_twice:,} places"
            )
        if self.controls:
            lines.append(f"Control characters, such as NUL: {self.controls:,}")
        if self.marks:
            lines.append(f"Byte order marks, dropped: {_files(self.marks)}")
        if self.returns:
            lines.append(f"Carriage returns, made line feeds: {_files(self.returns)}")
        if self.long_lines:
            lines.append(
                f"Lines of more than {LONG_LINE:,} characters: {self.long_lines:,}, the longest "
                f"{self.longest:,} in {self.longest_in}; are they text?"
            )
        return lines


_CONTROLS = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f]")


def digest_of(text: str) -> int:
    """64 bits of a document's content: equal for equal texts.

    >>> digest_of("a") == digest_of("a"), digest_of("a") == digest_of("b")
    (True, False)
    """
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def _files(count: int) -> str:
    return f"{count:,} file{'s' if count != 1 else ''}"
