"""Cross-validation: as many runs as folds, each of which validates on another part."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from typing import Any

import hub
from zoo.train.checkpoint import Checkpoints
from zoo.train.errors import ConfigError, OutFolderInUse, quoted
from zoo.train.report import SUMMARY, class_table, duration

_FOLDS = "folds.json"
_RUNS = Path("runs")  # where they go whose folder nobody named


@dataclass(frozen=True)
class CrossValidation:
    """What the runs of all folds found; `folds.json` holds these fields.

    Attributes:
        accuracies: validation accuracy of each fold.
        losses: validation loss of each fold.
        classes: names, in index order.
        class_accuracy: (right, all) validation pictures of each class, over all folds.
        seconds: wall time of all runs.
    """

    accuracies: tuple[float, ...]
    losses: tuple[float, ...]
    classes: tuple[str, ...]
    class_accuracy: tuple[tuple[int, int], ...]
    seconds: float

    @property
    def accuracy(self) -> float:
        """Fraction of all pictures that the run which had not seen them classifies rightly."""
        right, total = map(sum, zip(*self.class_accuracy, strict=True))
        return right / total

    @property
    def deviation(self) -> float:
        """Standard deviation of the folds' accuracies, from n - 1."""
        mean = sum(self.accuracies) / len(self.accuracies)
        squares = sum((a - mean) ** 2 for a in self.accuracies)
        return math.sqrt(squares / (len(self.accuracies) - 1))

    def lines(self) -> list[str]:
        """For people, one string a line."""
        right, total = map(sum, zip(*self.class_accuracy, strict=True))
        return [
            "",
            *(
                f"  fold {number}  accuracy {accuracy:.2%}, loss {loss:.4f}"
                for number, (accuracy, loss) in enumerate(
                    zip(self.accuracies, self.losses, strict=True), 1
                )
            ),
            f"Accuracy over all {len(self.accuracies)} folds {self.accuracy:.2%} ({right} of "
            f"{total}), standard deviation between folds {self.deviation:.2%}",
            *class_table(self.classes, self.class_accuracy),
            f"Took {duration(self.seconds)}",
        ]


def cross_validate(
    model: str,
    data: str | os.PathLike[str],
    *,
    folds: int = 5,
    out: str | os.PathLike[str] | None = None,
    say: Callable[[str], None] = print,
    **arguments: Any,
) -> CrossValidation:
    """Fine-tune once for each fold of the pictures, in `out/fold-1` and so on.

    Called again with the same arguments, it goes on where it was stopped: runs that are finished
    stay, the one that is not is resumed. Over all runs each picture validates once.

    Args:
        folds: how many, 2 or more.
        out: folder of the runs; None takes the first free `runs/MODEL-folds-N`.
        The others are those of `zoo.train.finetune`.

    Raises:
        OutFolderInUse: `out` holds something else than folds; and what `finetune` raises.

    >>> cross_validate("resnet20", "demo", folds=3, out="cv").accuracy      # doctest: +SKIP
    0.99
    """
    from zoo.train.run import finetune, resume

    if folds < 2:
        raise ConfigError(f"folds={folds}; expected 2 or more")
    folder = _folder(out, model)
    names = [folder / f"fold-{number}" for number in range(1, folds + 1)]
    strangers = {path.name for path in folder.glob("*")} - {path.name for path in names} - {_FOLDS}
    if strangers:
        raise OutFolderInUse(
            f"{folder} holds {min(strangers)}, which is no fold of {folds}; nothing was changed.\n"
            "Name another folder with --out, or the same number of folds as before."
        )
    summaries = []
    for number, path in enumerate(names):
        say(f"Fold {number + 1} of {folds}, in {quoted(path)}\n")
        if not (path / SUMMARY).is_file():
            if Checkpoints(path / "last").newest_path() is not None:
                settings = {k: v for k, v in arguments.items() if k in ("show_progress", "report")}
                resume(path, data=data, say=say, **settings)
            else:
                finetune(model, data, out=path, folds=folds, fold=number, say=say, **arguments)
        summaries.append(json.loads((path / SUMMARY).read_text("utf-8")))
    per_class = [summary["class_accuracy"] for summary in summaries]
    found = CrossValidation(
        accuracies=tuple(summary["val_accuracy"] for summary in summaries),
        losses=tuple(summary["val_loss"] for summary in summaries),
        classes=tuple(summaries[0]["classes"]),
        class_accuracy=tuple(
            (sum(right for right, _ in each), sum(total for _, total in each))
            for each in zip(*per_class, strict=True)
        ),
        seconds=sum(summary["seconds"] for summary in summaries),
    )
    with hub.atomic_file(folder / _FOLDS) as file:
        text = json.dumps({"accuracy": found.accuracy, **asdict(found)}, indent=2)
        file.write((text + "\n").encode())
    say("\n".join(found.lines()))
    return found


def _folder(out: str | os.PathLike[str] | None, model: str) -> Path:
    if out is not None:
        return Path(out)
    return next(p for n in count(1) if not (p := _RUNS / f"{model}-folds-{n}").exists())
