"""Several runs on one page: their figures, where their settings differ, and their curves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import hub
from zoo.report.charts import Line, line_chart, percent, plain
from zoo.report.html import Child, Element, document, h
from zoo.report.measures import wilson
from zoo.report.record import Record
from zoo.report.sections import section, table
from zoo.report.style import STYLE
from zoo.train.curves import column
from zoo.train.report import duration

_LOOKS = 6  # colours of lines; further runs begin again
_STARTED_WITH = ("model", "weights", "data_path")


def write_comparison(folders: Sequence[Path], path: Path) -> Path:
    """Write a page that compares finished runs, the most accurate first.

    Args:
        folders: of the runs.
        path: of the page.

    Raises:
        NotARun: a folder holds no finished run.

    >>> write_comparison([Path("runs/a"), Path("runs/b")], Path("runs.html"))    # doctest: +SKIP
    PosixPath('runs.html')
    """
    records = [Record.read(folder) for folder in folders]
    records.sort(key=lambda record: -record.summary["val_accuracy"])
    page = document(f"{len(records)} runs", STYLE, *_body(records))
    with hub.atomic_file(path, len(page)) as file:
        file.write(page)
    return path


def _body(records: Sequence[Record]) -> list[Child]:
    names = [str(record.folder) for record in records]
    same = len({record.weights["data"]["fingerprint"] for record in records}) == 1
    return [
        h("header", h("h1", f"{len(records)} runs")),
        h(
            "p",
            "All on the same pictures."
            if same
            else "Not on the same pictures: their accuracies cannot be compared with each other.",
            class_="quiet" if same else "wrong",
        ),
        section("How they came out", h("div", _figures(records), class_="scroll")),
        section("Where they differ", h("div", _differences(records), class_="scroll")),
        section(
            "How training went",
            h(
                "div",
                _chart("validation accuracy", "val_accuracy", records, names),
                _chart("validation loss", "val_loss", records, names),
                class_="row",
            ),
        ),
    ]


def _figures(records: Sequence[Record]) -> Element:
    rows = []
    for i, record in enumerate(records):
        summary = record.summary
        right, count = map(sum, zip(*summary["class_accuracy"], strict=True))
        share = wilson(right, count)
        rows.append(
            [
                [h("i", class_=f"key run{i % _LOOKS}"), h("bdi", str(record.folder))],
                f"{summary['val_accuracy']:.2%}",
                f"{percent(share.low)} to {percent(share.high)}",
                f"{summary['val_loss']:.4f}",
                f"{summary['best_epoch']} of {summary['epochs']}",
                duration(summary["seconds"]),
                f"{summary['peak_memory_bytes'] / 2**20:.0f} MiB",
            ]
        )
    head = ["run", "accuracy", "95% interval", "loss", "kept epoch", "took", "memory"]
    return table(head, rows, numeric=(1, 3))


def _differences(records: Sequence[Record]) -> Element:
    facts = []
    for record in records:
        started = {name: record.origin[name] for name in _STARTED_WITH}
        facts.append({**started, "recipe": record.recipe, **record.config.to_dict()})
    names = list(dict.fromkeys(name for fact in facts for name in fact))
    rows = [
        [name, *(h("code", str(fact.get(name, "–"))) for fact in facts)]
        for name in names
        if len({str(fact.get(name)) for fact in facts}) > 1
    ]
    if not rows:
        return h("p", "Nowhere: all settings are the same.")
    return table(["", *(record.folder.name for record in records)], rows)


def _chart(title: str, key: str, records: Sequence[Record], names: Sequence[str]) -> Element:
    lines = []
    for i, record in enumerate(records):
        epochs = [row for row in record.rows if row["kind"] == "epoch"]
        at = column(epochs, "epoch")
        look = f"run{i % _LOOKS}"
        lines.append(Line(names[i], look, at, column(epochs, key), dots=True))
    of_accuracy = key == "val_accuracy"
    return line_chart(
        title,
        lines,
        x_name="epoch",
        y_text=percent if of_accuracy else plain,
        y_range=(None, 1.0) if of_accuracy else (0.0, None),
    )
