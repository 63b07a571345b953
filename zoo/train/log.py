"""`metrics.jsonl`: one JSON object a line, a row for every step and one for every epoch."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import hub

Row = dict[str, Any]


class MetricsLog:
    """Appends rows to a file. `sync` makes them durable, which must happen before a checkpoint that
    comes after them is published; `keep` removes rows that a resumed run is going to write again.

    >>> log = MetricsLog(Path("run1/metrics.jsonl"))            # doctest: +SKIP
    >>> log.append({"kind": "step", "step": 1, "loss": 2.3})    # doctest: +SKIP
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: IO[str] = open(path, "a", encoding="utf-8")

    def append(self, row: Row) -> None:
        """Write one row; it survives the process at once, and the machine after `sync`."""
        self._file.write(json.dumps({k: _plain(v) for k, v in row.items()}) + "\n")
        self._file.flush()

    def sync(self) -> None:
        """Return when all rows so far are on the disk."""
        os.fsync(self._file.fileno())

    def keep(self, wanted: Callable[[Row], bool]) -> None:
        """Drop the rows for which `wanted` is false, and a last line that was cut off."""
        rows = [row for row in read_rows(self.path) if wanted(row)]
        self._file.close()
        with hub.atomic_file(self.path) as file:
            file.write("".join(json.dumps(row) + "\n" for row in rows).encode())
        self._file = open(self.path, "a", encoding="utf-8")

    def close(self) -> None:
        """Close the file; rows written so far stay."""
        self._file.close()


def read_rows(path: Path) -> list[Row]:
    """All whole rows of a log. A line that was cut off by a crash is left out.

    >>> [row["step"] for row in read_rows(Path("run1/metrics.jsonl"))]      # doctest: +SKIP
    [1, 2, 3]
    """
    rows = []
    with open(path, "rb") as file:
        for line in file:
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                break  # nothing after a torn line was ever part of a checkpointed state
            if not isinstance(row, dict) or type(row.get("step")) is not int or "kind" not in row:
                break
            rows.append(row)
    return rows


def _plain(value: Any) -> Any:
    """JSON has no NaN and no infinity: those become null."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
