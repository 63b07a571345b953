"""The parts of the page, one function each."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from zoo.report.charts import Line, interval, line_chart, percent, plain, reliability_chart
from zoo.report.html import Child, Element, h
from zoo.report.measures import (
    Answers,
    Calibration,
    ClassScore,
    Share,
    calibration,
    class_scores,
    confused_pairs,
)
from zoo.report.pictures import heat_map
from zoo.train.curves import column, smoothed
from zoo.train.log import Row
from zoo.train.report import speed_text

_MOST_IN_MATRIX = 20  # classes; with more, a picture and a list of pairs replace the table
_MOST_PAIRS = 25
_MOST_ROWS = 20  # of a table before the rest is folded away


def section(title: str, *children: Child) -> Element:
    """A part of the page under a heading."""
    return h("section", h("h2", title), *children)


def facts(pairs: Sequence[tuple[str, str, str]]) -> Element:
    """Figures at the top: (name, value, what else to say)."""
    return h(
        "dl",
        [h("div", h("dt", name), h("dd", value, h("small", more))) for name, value, more in pairs],
        class_="facts",
    )


def effort(summary: dict[str, Any]) -> str:
    """Speed and memory of a run on pictures, from its summary."""
    speed = speed_text(summary["images_per_second"], summary.get("features_per_second"))
    return f"{speed}, {summary['peak_memory_bytes'] / 2**20:.0f} MiB"


@dataclass(frozen=True)
class Score:
    """What decides how good an epoch was, for a chart.

    Attributes:
        title: of the chart.
        train, val: its names in the rows of the log.
        text: how values are written.
        y_range: least and greatest of the chart; None takes the data's.
        start: its value, and that of the loss, before the first step; None: not known.
    """

    title: str
    train: str
    val: str
    text: Callable[[float], str] = plain
    y_range: tuple[float | None, float | None] = (None, None)
    start: tuple[float, float] | None = None


ACCURACY = Score("accuracy", "train_accuracy", "val_accuracy", percent, (None, 1.0))


def curves(rows: Sequence[Row], score: Score) -> Element:
    """Loss, score and learning rate over the epochs."""
    steps = [row for row in rows if row["kind"] == "step"]
    epochs = [row for row in rows if row["kind"] == "epoch"]
    steps_an_epoch = epochs[0]["step"] if epochs else max(len(steps), 1)
    at_step = column(steps, "step") / steps_an_epoch
    at_epoch = column(epochs, "step") / steps_an_epoch
    loss = column(steps, "loss")
    kept = [i for i, row in enumerate(epochs) if row["best"]]
    val, val_loss, at_val = column(epochs, score.val), column(epochs, "val_loss"), at_epoch
    mark = None
    if kept:
        best = float(val[kept[-1]])
        mark = (float(at_epoch[kept[-1]]), best, f"kept: {score.text(best)}")
    if score.start is not None:
        at_val = np.concatenate([[0.0], at_val])
        val, val_loss = (
            np.concatenate([[start], values])
            for start, values in zip(score.start, (val, val_loss), strict=True)
        )
    return section(
        "How training went",
        h(
            "div",
            line_chart(
                "loss",
                [
                    Line("", "faint", at_step, loss),
                    Line("training", "train", at_step, smoothed(loss)),
                    Line("validation", "val", at_val, val_loss, dots=True),
                ],
                x_name="epoch",
            ),
            line_chart(
                score.title,
                [
                    Line("training", "train", at_epoch, column(epochs, score.train), dots=True),
                    Line("validation", "val", at_val, val, dots=True),
                ],
                x_name="epoch",
                y_text=score.text,
                y_range=score.y_range,
                mark=mark,
            ),
            line_chart(
                "learning rate",
                [Line("", "rate", at_step, column(steps, "lr"))],
                x_name="epoch",
            ),
            class_="row",
        ),
    )


def confusion(answers: Answers) -> Element:
    """Which classes are taken for which."""
    matrix = answers.confusion()
    classes = answers.classes
    pairs = confused_pairs(matrix, _MOST_PAIRS)
    if len(classes) <= _MOST_IN_MATRIX:
        return section(
            "What is taken for what",
            h("p", "Rows: what the pictures are. Columns: what the model says.", class_="quiet"),
            h("div", _matrix(matrix, classes), class_="scroll"),
        )
    return section(
        "What is taken for what",
        h(
            "p",
            f"{len(classes)} classes: one dot for each pair, in index order. Rows: what the "
            "pictures are. Columns: what the model says. The diagonal is right.",
            class_="quiet",
        ),
        h("img", src=heat_map(matrix), alt="confusion matrix", class_="heat"),
        h("h3", "The commonest mistakes"),
        table(
            ["is", "is taken for", "pictures", "of"],
            [
                [_name(classes[i]), _name(classes[j]), str(n), str(int(matrix[i].sum()))]
                for i, j, n in pairs
            ],
            numeric=(2, 3),
        ),
    )


def _matrix(matrix: Any, classes: Sequence[str]) -> Element:
    shares = matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1)
    head = h("tr", h("th", "is \\ said"), [h("th", h("bdi", name)) for name in classes])
    rows = []
    for i, name in enumerate(classes):
        cells = []
        for j, count in enumerate(matrix[i].tolist()):
            share = float(shares[i, j])
            looks = ["hitcell" if i == j else "misscell"]
            looks += ["zero"] if count == 0 else []
            looks += ["deep"] if share > 0.6 else []
            cells.append(
                h(
                    "td",
                    str(count),
                    class_=" ".join(looks),
                    style=f"--v:{round(100 * share)}",
                    title=f"{name} said to be {classes[j]}: {count}",
                )
            )
        rows.append(h("tr", h("th", h("bdi", name), title=name), cells))
    return h("table", h("thead", head), h("tbody", rows), class_="confusion")


def class_section(answers: Answers) -> Element:
    """Precision, recall and F1 of every class, the weakest first."""
    scores = class_scores(answers.classes, answers.confusion())
    known = [s for s in scores if s.pictures]
    known.sort(key=lambda s: (s.f1.value, s.name))
    unseen = [s.name for s in scores if not s.pictures]
    head = ["class", "pictures", "precision", "", "recall", "", "F1", ""]
    few = len(known) <= _MOST_ROWS + 5
    shown, folded = (known, []) if few else (known[:_MOST_ROWS], known[_MOST_ROWS:])
    means = [float(np.nanmean([getattr(s, key).value for s in known])) for key in ("recall", "f1")]
    return section(
        "Class by class",
        h(
            "p",
            f"Weakest first. Small figures are 95% intervals (Wilson's): with few pictures they "
            f"are wide, and differences inside them mean nothing. Mean recall over classes "
            f"{percent(means[0])}, mean F1 {percent(means[1])}.",
            class_="quiet",
        ),
        h("div", table(head, map(_class_row, shown), numeric=(1,)), class_="scroll"),
        foldable(
            f"{len(folded)} more classes",
            h("div", table(head, map(_class_row, folded), numeric=(1,)), class_="scroll"),
        )
        if folded
        else None,
        h("p", "Without validation pictures: ", ", ".join(unseen), class_="quiet name")
        if unseen
        else None,
    )


def _class_row(score: ClassScore) -> list[Child]:
    row: list[Child] = [_name(score.name), str(score.pictures)]
    for share in (score.precision, score.recall, score.f1):
        row += [[percent(share.value), " ", range_of(share)], interval(share)]
    return row


def range_of(share: Share) -> Element | None:
    """The ends of an interval in small print; None where nothing was counted."""
    if math.isnan(share.low):
        return None
    return h("span", f"{100 * share.low:.0f}–{100 * share.high:.0f}", class_="range")


def calibrated(answers: Answers) -> Element:
    """Whether the model's confidence can be believed."""
    mean = float(answers.confidence.mean())
    verdict = "about right"
    if abs(mean - answers.accuracy.value) > 0.02:
        verdict = "too sure" if mean > answers.accuracy.value else "not sure enough"
    said = (
        f"On average the model is {percent(mean)} sure and {percent(answers.accuracy.value)} "
        f"right: {verdict}."
    )
    return calibration_section(calibration(answers), "pictures", said)


def calibration_section(found: Calibration, what: str, said: str = "") -> Element:
    """Probabilities of `what` beside how often they came true."""
    return section(
        "Can its confidence be believed?",
        h(
            "div",
            reliability_chart(found, what),
            h(
                "div",
                h("p", f"Expected calibration error {percent(found.error)}. {said}"),
                h(
                    "p",
                    "Points on the dashed line are calibrated: of answers given with 80% "
                    "confidence, 80% are right. Below it the model is too sure. Bins with few "
                    f"{what} say little.",
                    class_="quiet",
                ),
                style="flex:1 1 16rem",
            ),
            class_="row",
        ),
    )


def settings_section(
    recipe: str, reasons: Sequence[str], config: dict[str, Any], own: dict[str, Any]
) -> Element:
    """The recipe, why it was chosen, and all settings; those that differ from it stand out."""
    first = [[h("span", k, class_="own"), h("code", str(v))] for k, v in own.items()]
    rest = [[k, h("code", str(v))] for k, v in config.items() if k not in own]
    return section(
        "Recipe",
        h("p", h("b", recipe), [h("div", reason, class_="quiet") for reason in reasons]),
        table(["its own", ""], first) if first else None,
        foldable(f"{len(rest)} settings as the recipe has them", table(["setting", ""], rest)),
    )


def provenance(pairs: Sequence[tuple[str, str]], command: str) -> Element:
    """Where everything comes from, and how to do it again."""
    return section(
        "Where it comes from",
        table(["", ""], [[name, h("code", value)] for name, value in pairs]),
        h("h3", "To do it again"),
        h("pre", command, class_="command"),
    )


def audit_section(
    lines: Sequence[str], classes: Sequence[str], train: Sequence[int], val: Sequence[int]
) -> Element:
    """What the pictures were found to be like."""
    most = max([1, *(a + b for a, b in zip(train, val, strict=True))])
    rows: list[list[Child]] = [
        [
            _name(name),
            str(a),
            str(b),
            [
                h("span", class_="bar train", style=f"width:{12 * a / most:.2f}rem"),
                h("span", class_="bar val", style=f"width:{12 * b / most:.2f}rem"),
            ],
        ]
        for name, a, b in sorted(zip(classes, train, val, strict=True), key=lambda r: -r[1] - r[2])
    ]
    head = ["class", "train", "val", ""]
    few = len(rows) <= _MOST_ROWS + 5
    shown, folded = (rows, []) if few else (rows[:_MOST_ROWS], rows[_MOST_ROWS:])
    return section(
        "The pictures",
        [h("p", line, class_="name") for line in lines],
        h(
            "p",
            [
                h("span", h("i", class_=f"key {look}"), name, class_="legend")
                for look, name in (("train", "to train"), ("val", "to validate"))
            ],
        ),
        h("div", table(head, shown, numeric=(1, 2)), class_="scroll"),
        foldable(f"{len(folded)} more classes", table(head, folded, numeric=(1, 2)))
        if folded
        else None,
    )


def foldable(summary: str, *children: Child) -> Element:
    """A part that opens when it is clicked on."""
    return h("details", h("summary", summary), *children)


def _name(text: str) -> Element:
    return h("bdi", text, class_="name")


def table(head: Sequence[str], rows: Any, numeric: Sequence[int] = ()) -> Element:
    """A table of cells, each a text or elements; `numeric` columns stand to the right."""

    def look(column: int) -> str | None:
        return "n" if column in numeric else None

    body = [h("tr", [h("td", cell, class_=look(i)) for i, cell in enumerate(row)]) for row in rows]
    titles = h("tr", [h("th", text, class_=look(i)) for i, text in enumerate(head)])
    return h("table", h("thead", titles) if any(head) else None, h("tbody", body))
