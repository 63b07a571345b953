"""`curves.png`: how loss, accuracy and learning rate went. Matplotlib loads when it is called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

_TRAIN, _VAL, _BEST = "#7a8ca3", "#d1495b", "#1b998b"


def draw_curves(rows: Sequence[dict[str, Any]], file: BinaryIO, title: str) -> None:
    """Draw the rows of a metrics log.

    Args:
        rows: as `zoo.train.log.read_rows` gives them.
        file: to write the picture to, PNG.
        title: above the panels.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator, PercentFormatter

    steps = [row for row in rows if row["kind"] == "step"]
    epochs = [row for row in rows if row["kind"] == "epoch"]
    steps_an_epoch = epochs[0]["step"] if epochs else max(len(steps), 1)
    at_step = np.array([row["step"] for row in steps]) / steps_an_epoch
    at_epoch = np.array([row["step"] for row in epochs]) / steps_an_epoch

    figure = Figure(figsize=(12, 3.8), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)  # not pyplot: no display, no global state
    loss, accuracy, rate = figure.subplots(1, 3)
    figure.suptitle(title, x=0.01, ha="left", fontsize=11)

    raw = column(steps, "loss")
    loss.plot(at_step, raw, color=_TRAIN, alpha=0.25, linewidth=0.8)
    loss.plot(at_step, smoothed(raw), color=_TRAIN, linewidth=1.5, label="training")
    loss.plot(at_epoch, column(epochs, "val_loss"), "o-", color=_VAL, ms=3.5, label="validation")
    loss.set_title("loss", loc="left", fontsize=10)
    loss.set_ylim(bottom=0)

    name, of_train, of_val = "accuracy", "train_accuracy", "val_accuracy"
    if epochs and "val_map" in epochs[0]:
        name, of_train, of_val = "F1 of training, mean average precision", "train_f1", "val_map"
    train, val = column(epochs, of_train), column(epochs, of_val)
    accuracy.plot(at_epoch, train, "o-", color=_TRAIN, ms=3.5, label="training")
    accuracy.plot(at_epoch, val, "o-", color=_VAL, ms=3.5, label="validation")
    best = [i for i, row in enumerate(epochs) if row["best"]]
    if best:
        label = f"kept: {val[best[-1]]:.1%}"
        accuracy.plot(at_epoch[best[-1]], val[best[-1]], "*", color=_BEST, ms=13, label=label)
    accuracy.set_title(name, loc="left", fontsize=10)
    accuracy.yaxis.set_major_formatter(PercentFormatter(1.0))
    accuracy.set_ylim(top=1.02)

    rate.plot(at_step, column(steps, "lr"), color=_BEST, linewidth=1.5)
    rate.set_title("learning rate", loc="left", fontsize=10)
    rate.set_ylim(bottom=0)

    for axes in (loss, accuracy, rate):
        axes.set_xlabel("epoch")
        axes.set_xlim(0, max(at_epoch.max(initial=0), 1) * 1.02)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(alpha=0.25, linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in (loss, accuracy):
        axes.legend(frameon=False, fontsize=9)
    figure.savefig(file, format="png")


def column(rows: Sequence[dict[str, Any]], key: str) -> NDArray[np.float64]:
    """One value of each row of a log; NaN where it was not finite."""
    return np.array([np.nan if row[key] is None else row[key] for row in rows], dtype=float)


def smoothed(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean of each value and those around it, over a window of about a thirtieth of all; gaps are
    left out.

    >>> smoothed(np.array([1.0, 3.0]))
    array([1., 3.])
    """
    if len(values) == 0:
        return values
    half = len(values) // 60
    known = np.isfinite(values)
    window = np.ones(2 * half + 1)
    total = np.convolve(np.where(known, values, 0.0), window)[half : half + len(values)]
    count = np.convolve(known, window)[half : half + len(values)]
    return total / np.where(count > 0, count, np.nan)
