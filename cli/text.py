"""Plain-text layout."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a table, columns as wide as their longest cell.

    >>> table(("a", "b"), [("long", "x")])
    ['a     b', 'long  x']
    """
    cells = [tuple(head), *map(tuple, rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    return [
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]
