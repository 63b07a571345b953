"""A run as it goes: how far it is, how long it will take, its curves and samples.

Everything is read from the run's folder, so the run is neither asked nor slowed down, and it makes
no difference whether it is running, stopped or finished.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from zoo.report.charts import Line, line_chart, percent, plain
from zoo.report.html import Element, h
from zoo.train.checkpoint import Checkpoints
from zoo.train.curves import column, smoothed
from zoo.train.errors import NotARun
from zoo.train.log import Row, read_rows

METRICS, SAMPLES, SUMMARY = "metrics.jsonl", "samples.jsonl", "summary.json"
_SILENT_SECONDS = 300.0  # without a row; a long validation may take minutes


@dataclass(frozen=True)
class Live:
    """How a run stands.

    Attributes:
        title: model and data.
        state: "running"; "finished"; "silent": no row for minutes, so stopped or validating.
        epoch, epochs: complete, and in all.
        share: of the steps that are done, 0 to 1; of whole epochs until one is complete.
        seconds_left: estimated from the last epoch; None before the first is complete, and when
            nothing is running.
        silent_seconds: since the last row.
        result: what the best epoch so far measured, by name.
        rows: of the log.
        samples: {"epoch", "text"} of a language model.
    """

    title: str
    state: Literal["running", "silent", "finished"]
    epoch: int
    epochs: int
    share: float
    seconds_left: float | None
    silent_seconds: float
    result: dict[str, float]
    rows: list[Row]
    samples: list[Row]


def watch(folder: Path, now: float | None = None) -> Live:
    """How the run in a folder stands.

    Args:
        folder: of the run; started, at least.
        now: seconds since 1970; None asks the clock.

    Raises:
        NotARun: there is no run in it.

    >>> watch(Path("runs/pets")).state                              # doctest: +SKIP
    'running'
    """
    state = Checkpoints(folder / "last").newest_state()
    log = folder / METRICS
    if state is None or not log.is_file():
        raise NotARun(f"{folder}: no run. Expected the folder that `zoo finetune` writes to.")
    rows = read_rows(log)
    epochs = int(state["config"]["epochs"])
    ends = [row for row in rows if row["kind"] == "epoch"]
    silent = max((time.time() if now is None else now) - log.stat().st_mtime, 0.0)
    finished = (folder / SUMMARY).is_file()
    share = 1.0 if finished else _share(rows, ends, epochs)
    best = next((row for row in reversed(ends) if row["best"]), None)
    running = not finished and silent < _SILENT_SECONDS
    origin = state["origin"]
    data = origin.get("data_path") or ", ".join(origin.get("data_paths", ()))
    samples = folder / SAMPLES
    return Live(
        title=f"{origin['model']} on {Path(data).name}",
        state="finished" if finished else "running" if running else "silent",
        epoch=len(ends),
        epochs=epochs,
        share=share,
        seconds_left=_left(ends, share, epochs, silent) if running else None,
        silent_seconds=silent,
        result={k: v for k, v in (best or {}).items() if k.startswith("val_") and v is not None},
        rows=rows,
        samples=read_rows(samples) if samples.is_file() else [],
    )


def _share(rows: Sequence[Row], ends: Sequence[Row], epochs: int) -> float:
    if not ends:
        return 0.0
    steps = ends[-1]["step"] / len(ends) * epochs
    return float(min(rows[-1]["step"] / steps, 1.0))


def _left(ends: Sequence[Row], share: float, epochs: int, silent: float) -> float | None:
    """Seconds until the end, if what is to come goes as the last epoch went: the first ones may
    have been quick, on layers that stood still."""
    if not ends:
        return None
    before = ends[-2]["seconds"] if len(ends) > 1 else 0.0
    an_epoch = max(ends[-1]["seconds"] - before, 0.0)
    return max(an_epoch * epochs * (1.0 - share) - silent, 0.0)


def charts(rows: Sequence[Row]) -> Element:
    """Loss, accuracy or perplexity, and learning rate: over epochs, or over steps before the first
    epoch is complete."""
    steps = [row for row in rows if row["kind"] == "step"]
    ends = [row for row in rows if row["kind"] == "epoch"]
    unit = ends[0]["step"] if ends else 1
    x_name = "epoch" if ends else "step"
    at_step, at_end = column(steps, "step") / unit, column(ends, "step") / unit
    loss = column(steps, "loss")
    lines = [Line("", "faint", at_step, loss), Line("training", "train", at_step, smoothed(loss))]
    drawn = [("loss", [*lines, *_measured(ends, at_end, "val_loss")], plain)]
    if ends and "val_accuracy" in ends[0]:
        both = [
            *_measured(ends, at_end, "train_accuracy", "training", "train"),
            *_measured(ends, at_end, "val_accuracy"),
        ]
        drawn.append(("accuracy", both, percent))
    if ends and "val_map" in ends[0]:
        drawn.append(("mean average precision", _measured(ends, at_end, "val_map"), percent))
    if ends and "val_perplexity" in ends[0]:
        drawn.append(("perplexity", _measured(ends, at_end, "val_perplexity"), plain))
    drawn.append(("learning rate", [Line("", "rate", at_step, column(steps, "lr"))], plain))
    return h(
        "div",
        [
            line_chart(title, lines, x_name=x_name, y_text=text, y_range=_range(title))
            for title, lines, text in drawn
        ],
        class_="row",
    )


def _measured(
    ends: Sequence[Row],
    at: np.ndarray[Any, np.dtype[np.float64]],
    key: str,
    name: str = "validation",
    look: str = "val",
) -> list[Line]:
    """A line with a dot for each epoch; none where the run does not measure that."""
    if not ends or key not in ends[0]:
        return []
    return [Line(name, look, at, column(ends, key), dots=True)]


def _range(title: str) -> tuple[float | None, float | None]:
    return (None, 1.0) if title == "accuracy" else (0.0, None)
