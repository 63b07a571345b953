"""Features of pictures on disk: an array and the names of its rows."""

from __future__ import annotations

import csv
import io
import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np

import hub
from zoo.data import UnreadableImage
from zoo.data.sources import Source
from zoo.train.predictions import embed

if TYPE_CHECKING:
    from zoo.models.image_model import ImageModel

_COPIED = 1 << 20  # bytes at a time


@dataclass(frozen=True)
class Embedded:
    """What `write_features` wrote.

    Attributes:
        path: of the array, (rows, width) float32.
        names: of the table that says which row is of which picture: row,path.
        rows, width: of the array; both 0 where no picture could be read.
        failures: pictures that could not be read; they have no row.
    """

    path: Path
    names: Path
    rows: int
    width: int
    failures: tuple[UnreadableImage, ...]


def write_features(
    model: ImageModel,
    sources: Iterable[Source],
    path: str | os.PathLike[str],
    *,
    batch_size: int = 16,
    threads: int | None = None,
) -> Embedded:
    """Write the features of pictures to a `.npy` file, and their names to a `.csv` beside it, each
    whole or not at all. Takes the memory of a few batches, whatever the number of pictures.

    Args:
        model: see `zoo.train.predictions.embed`.
        sources: pictures, in the order of the rows.
        path: of the array; the table has its name with `.csv` as suffix.
        batch_size, threads: see `embed`.

    >>> write_features(zoo.load("run1"), ["cat.jpg"], "cats.npy").width    # doctest: +SKIP
    512
    """
    path = Path(path)
    table = path.with_suffix(".csv")
    failures: list[UnreadableImage] = []
    rows = width = 0
    with tempfile.TemporaryFile() as features, tempfile.TemporaryFile() as names:
        text = io.TextIOWrapper(names, "utf-8", errors="surrogateescape", newline="")
        writer = csv.writer(text)
        writer.writerow(["row", "path"])
        for name, row in embed(model, sources, batch_size=batch_size, threads=threads):
            if isinstance(row, UnreadableImage):
                failures.append(row)
                continue
            features.write(np.ascontiguousarray(row, dtype="<f4").tobytes())
            writer.writerow([rows, name])
            rows, width = rows + 1, row.size
        text.flush()
        with hub.atomic_file(path, 4 * rows * width) as file:
            header = {"descr": "<f4", "fortran_order": False, "shape": (rows, width)}
            np.lib.format.write_array_header_1_0(file, header)
            _copy(features, file)
        with hub.atomic_file(table) as file:
            _copy(names, file)
        text.detach()
    return Embedded(path, table, rows, width, tuple(failures))


def _copy(source: IO[bytes], target: IO[bytes]) -> None:
    source.seek(0)
    while block := source.read(_COPIED):
        target.write(block)
