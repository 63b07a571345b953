"""What a finished run leaves for people and scripts: `summary.json`, `curves.png` and a table."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from zoo.train.errors import quoted

REPORT = "report.html"  # the page about a run, in its folder
SUMMARY = "summary.json"  # its figures, beside it
_MOST_CLASSES = 30  # printed before the rest is summed up
_WIDEST_NAME = 31  # of a class; longer ones are shortened in the middle


@dataclass(frozen=True)
class Summary:
    """The outcome of a run; `summary.json` holds these fields.

    Attributes:
        val_accuracy, val_loss: of the weights that were kept, over all validation pictures.
        epochs: epochs trained.
        best_epoch: the one whose weights were kept, from 1.
        seconds: wall time in all, over all sessions of the run.
        images_per_second: pictures trained on, per second of training steps, in the last epoch:
            those before it may have taken features that were there already.
        peak_memory_bytes: most memory that the process held at once.
        skipped_steps: steps left out because a loss or gradient was not finite.
        classes: names, in index order.
        class_accuracy: (right, all) validation pictures of each class, for the kept weights.
        weights_sha256: of `model.safetensors`.

    >>> zoo.finetune("resnet20", "demo").summary.val_accuracy     # doctest: +SKIP
    0.99
    """

    val_accuracy: float
    val_loss: float
    epochs: int
    best_epoch: int
    seconds: float
    images_per_second: float
    peak_memory_bytes: int
    skipped_steps: int
    classes: tuple[str, ...]
    class_accuracy: tuple[tuple[int, int], ...]
    weights_sha256: str

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Summary:
        """Of the values that `summary.json` holds."""
        pairs = tuple((right, count) for right, count in values["class_accuracy"])
        return cls(**{**values, "classes": tuple(values["classes"]), "class_accuracy": pairs})

    def to_json(self) -> str:
        """The text of `summary.json`."""
        return json.dumps(asdict(self), indent=2, ensure_ascii=False) + "\n"

    def lines(self, out: Path, notes: Sequence[str] = ()) -> list[str]:
        """The report for people, one string a line; `out` goes into the next commands, `notes` are
        further lines on how it went."""
        right, count = map(sum, zip(*self.class_accuracy, strict=True))
        lines = [
            "",
            f"Validation accuracy {self.val_accuracy:.2%} ({right} of {count}), loss "
            f"{self.val_loss:.4f}, after epoch {self.best_epoch} of {self.epochs}",
            *class_table(self.classes, self.class_accuracy),
            f"Took {duration(self.seconds)}, {self.images_per_second:.1f} images/s, "
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
            f"  {out / 'curves.png'}   loss, accuracy and learning rate",
            *page,
            "",
            "Next:",
            f"  zoo predict {quoted(out)} PICTURE...",
            f"  zoo evaluate {quoted(out)} --data DIR    with pictures that it has not seen",
        ]


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
