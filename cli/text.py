"""Plain-text layout: tables that fit a terminal, and colours where there is one."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from typing import IO

_WIDTH = 80  # where nobody says how wide the output is
_BETWEEN = 2  # blanks between two columns
_NARROWEST = 8  # a column is not made narrower than this
_CODES = {"bold": "1", "red": "31", "green": "32", "yellow": "33", "quiet": "2"}


def output_width() -> int:
    """Columns of the terminal, or of what `COLUMNS` says; 80 for files and pipes."""
    return shutil.get_terminal_size((_WIDTH, 24)).columns


def table(
    head: Sequence[str], rows: Iterable[Sequence[str]], width: int | None = None
) -> list[str]:
    """Lines of a table. Columns are as wide as their longest cell; where that is too wide, the
    widest but the first are wrapped: names stay whole, for whoever searches or copies them.

    Args:
        head: names of the columns.
        rows: cells, as many in each row as there are names.
        width: of the whole; None for that of the output.

    >>> table(("a", "b"), [("long", "x")])
    ['a     b', 'long  x']
    >>> table(("name", "what"), [("x", "two words")], width=12)
    ['name  what', 'x     two', '      words']
    """
    cells = [tuple(head), *map(tuple, rows)]
    widths = _fitted(cells, output_width() if width is None else width)
    lines = []
    for row in cells:
        wrapped = [_wrapped(cell, size) for cell, size in zip(row, widths, strict=True)]
        for i in range(max(map(len, wrapped))):
            parts = [cell[i] if i < len(cell) else "" for cell in wrapped]
            padded = (f"{part:<{size}}" for part, size in zip(parts, widths, strict=True))
            lines.append((" " * _BETWEEN).join(padded).rstrip())
    return lines


def _fitted(cells: Sequence[Sequence[str]], width: int) -> list[int]:
    """Widths of the columns: narrowed down to their longest words, then, if need be, further."""
    columns = range(len(cells[0]))
    widths = [max(len(row[i]) for row in cells) for i in columns]
    words = [max((len(w) for row in cells for w in row[i].split()), default=0) for i in columns]
    for least in (words, [_NARROWEST] * len(widths)):
        while sum(widths) + _BETWEEN * (len(widths) - 1) > width:
            wider = [i for i in columns[1:] if widths[i] > least[i]]
            if not wider:
                break
            widths[max(wider, key=lambda i: widths[i])] -= 1
    return widths


def _wrapped(cell: str, width: int) -> list[str]:
    if len(cell) <= width:
        return [cell]
    return textwrap.wrap(cell, width, break_on_hyphens=False) or [""]


def folded(text: str, indent: str = "", width: int | None = None) -> list[str]:
    """A paragraph as lines that fit the output, each behind `indent`; long words stay whole."""
    return textwrap.wrap(
        text,
        output_width() if width is None else width,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def coloured(stream: IO[str]) -> bool:
    """Whether to write colours: to a terminal that has them, unless `NO_COLOR` is set
    (https://no-color.org)."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return stream.isatty()


def paint(text: str, look: str, stream: IO[str] | None = None) -> str:
    """`text` in a colour, where the stream (default: the output) shows colours.

    Args:
        look: bold, red, green, yellow or quiet.

    >>> import io
    >>> paint("wrong", "red", io.StringIO())
    'wrong'
    """
    if not coloured(sys.stdout if stream is None else stream):
        return text
    return f"\x1b[{_CODES[look]}m{text}\x1b[0m"
