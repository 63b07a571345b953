"""What a finished run leaves for people and scripts: `summary.json`, `curves.png` and a table."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import hub
from zoo.train.errors import quoted
from zoo.train.log import Row
from zoo.train.provenance import made_with

REPORT = "report.html"  # the page about a run, in its folder
SUMMARY = "summary.json"  # its figures, beside it
MADE_WITH = "made_with"  # in it, beside them: what `provenance.made_with` knows
_MOST_CLASSES = 30  # printed before the rest is summed up
_WIDEST_NAME = 31  # of a class; longer ones are shortened in the middle


@dataclass(frozen=True, kw_only=True)
class RunSummary:
    """What the summaries of all runs on pictures have.

    Attributes:
        val_loss: of the weights that were kept, over all validation pictures.
        epochs: epochs trained.
        best_epoch: the one whose weights were kept, from 1.
        seconds: wall time in all, over all sessions of the run.
        images_per_second: pictures that went through the model, per second of training steps, in
            the last epoch of that kind; None where no epoch was.
        features_per_second: the same of epochs that train the last layer alone and look up what
            was computed before; None where no epoch did.
        peak_memory_bytes: most memory that the process held at once.
        skipped_steps: steps left out because a loss or gradient was not finite.
        classes: names, in index order.
        weights_sha256: of `model.safetensors`.

    >>> zoo.finetune("resnet20", "demo").summary.val_accuracy     # doctest: +SKIP
    0.99
    """

    val_loss: float
    epochs: int
    best_epoch: int
    seconds: float
    images_per_second: float | None
    features_per_second: float | None
    peak_memory_bytes: int
    skipped_steps: int
    classes: tuple[str, ...]
    weights_sha256: str

    @property
    def headline(self) -> str:
        """How good it is, in a few words."""
        raise NotImplementedError(f"{type(self).__name__} has no headline")

    def scores(self) -> list[str]:
        """How good it is, one string a line."""
        raise NotImplementedError(f"{type(self).__name__} has no scores")

    def lines(self, out: Path, notes: Sequence[str] = ()) -> list[str]:
        """The report for people, one string a line; `out` goes into the next commands, `notes` are
        further lines on how it went."""
        speed = speed_text(self.images_per_second, self.features_per_second)
        lines = [
            "",
            *self.scores(),
            f"Took {duration(self.seconds)}, {speed}, "
            f"at most {self.peak_memory_bytes / 2**20:.0f} MiB of memory",
            *notes,
        ]
        if self.skipped_steps:
            lines.append(f"Skipped {self.skipped_steps} steps: loss or gradients were not finite")
        page = []
        if (out / REPORT).is_file():
            page = [f"  {out / REPORT}   all about it on one page, for a browser"]
        return [
            *lines,
            "",
            f"  {out / 'model.safetensors'}   the weights, with classes and preprocessing",
            f"  {out / 'curves.png'}   how loss, score and learning rate went",
            *page,
            "",
            "Next:",
            f"  zoo predict {quoted(out)} PICTURE...",
            f"  zoo evaluate {quoted(out)} --data DIR    with pictures that it has not seen",
        ]


@dataclass(frozen=True, kw_only=True)
class Summary(RunSummary):
    """The outcome of a run on pictures of one class each; `summary.json` holds these fields.

    Attributes:
        val_accuracy: of the weights that were kept, over all validation pictures.
        class_accuracy: (right, all) validation pictures of each class, for the kept weights.

    >>> zoo.finetune("resnet20", "demo").summary.val_accuracy     # doctest: +SKIP
    0.99
    """

    val_accuracy: float
    class_accuracy: tuple[tuple[int, int], ...]

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Summary:
        """Of the values that `summary.json` holds."""
        values = own_fields(cls, values)
        pairs = tuple((right, count) for right, count in values["class_accuracy"])
        return cls(**{**values, "classes": tuple(values["classes"]), "class_accuracy": pairs})

    @property
    def headline(self) -> str:
        return f"{self.val_accuracy:.2%} right on validation"

    def scores(self) -> list[str]:
        right, count = map(sum, zip(*self.class_accuracy, strict=True))
        return [
            f"Validation accuracy {self.val_accuracy:.2%} ({right} of {count}), loss "
            f"{self.val_loss:.4f}, after epoch {self.best_epoch} of {self.epochs}",
            *class_table(self.classes, self.class_accuracy),
        ]


def write_summary(out: Path, summary: Any) -> None:
    """Write a run's `summary.json`: the fields of its summary, a dataclass, and what it was made
    with.

    Raises:
        OSError: with the system's reason; an old file stays.

    >>> write_summary(Path("run1"), summary)     # doctest: +SKIP
    """
    values = {**asdict(summary), MADE_WITH: made_with()}
    with hub.atomic_file(out / SUMMARY) as file:
        file.write(json.dumps(values, indent=2, ensure_ascii=False).encode() + b"\n")


def own_fields(kind: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that a kind of summary, a dataclass, has fields for, out of a `summary.json`.

    >>> own_fields(Summary, {"val_loss": 0.1, "made_with": {}})
    {'val_loss': 0.1}
    """
    names = {field.name for field in fields(kind)}
    return {name: value for name, value in values.items() if name in names}


def rates_of(rows: Sequence[Row]) -> dict[str, float | None]:
    """The speeds of a run's last epochs of each kind, from its log, for a summary.

    >>> rates_of([{"kind": "epoch", "features_per_second": 9.0}])
    {'images_per_second': None, 'features_per_second': 9.0}
    """
    found: dict[str, float | None] = {"images_per_second": None, "features_per_second": None}
    for row in rows:
        if row["kind"] == "epoch":
            found |= {name: row[name] for name in found if name in row}
    return found


def speed_text(images: float | None, features: float | None) -> str:
    """The speeds of a run in words.

    >>> speed_text(120.0, 9000.0)
    '120.0 images/s (9000.0 features/s, looked up)'
    """
    looked_up = "" if features is None else f"{features:.1f} features/s, looked up"
    if images is None:
        return looked_up
    return f"{images:.1f} images/s" + (f" ({looked_up})" if looked_up else "")


def class_table(classes: Sequence[str], class_accuracy: Sequence[tuple[int, int]]) -> list[str]:
    """One line for each class with (right, all) pictures, as percentages and bars."""
    names = [_short(name) for name in classes]
    shown = list(zip(names, class_accuracy, strict=True))
    width = max([len("class"), *(len(name) for name, _ in shown[:_MOST_CLASSES])])
    lines = [f"  {'class':<{width}}   right     of  accuracy"]
    for name, (right, count) in shown[:_MOST_CLASSES]:
        share = f"{right / count:>8.1%}  {'#' * round(20 * right / count)}" if count else "       -"
        lines.append(f"  {name:<{width}}  {right:>6} {count:>6}  {share}".rstrip())
    if len(shown) > _MOST_CLASSES:
        lines.append(f"  ... and {len(shown) - _MOST_CLASSES} more classes")
    return lines


def _short(name: str) -> str:
    """A name that leaves room for the rest of a line of 80 columns."""
    return name if len(name) <= _WIDEST_NAME else f"{name[: _WIDEST_NAME - 12]}…{name[-11:]}"


def duration(seconds: float) -> str:
    """Seconds in words.

    >>> duration(3725)
    '1 h 2 min 5 s'
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [(hours, "h"), (minutes, "min"), (rest, "s")]
    return " ".join(f"{n} {unit}" for n, unit in parts if n) or "0 s"
