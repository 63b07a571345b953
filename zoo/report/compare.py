"""Several runs on one page: their figures, where their settings differ, and their curves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import hub
from zoo.report.charts import Line, line_chart, percent, plain
from zoo.report.html import Child, Element, document, h
from zoo.report.measures import wilson
from zoo.report.record import Record
from zoo.report.sections import section, table
from zoo.report.style import STYLE
from zoo.train.curves import column
from zoo.train.errors import NotARun
from zoo.train.report import duration

_LOOKS = 6  # colours of lines; further runs begin again
# Of each kind: what its score is called, where it is kept, 1 where smaller is better and -1 where
# larger is, and how scores are called.
_SCORES = {
    "pictures": ("validation accuracy", "val_accuracy", -1, "accuracies"),
    "labels": ("mean average precision", "val_map", -1, "precisions"),
    "text": ("validation perplexity", "val_perplexity", 1, "perplexities"),
}
_STARTED_WITH = ("model", "weights", "data_path", "data_paths")


def write_comparison(folders: Sequence[Path], path: Path) -> Path:
    """Write a page that compares finished runs on pictures or on text, the best first.

    Args:
        folders: of the runs.
        path: of the page.

    Raises:
        NotARun: a folder holds no finished run, or they are of several kinds.

    >>> write_comparison([Path("runs/a"), Path("runs/b")], Path("runs.html"))    # doctest: +SKIP
    PosixPath('runs.html')
    """
    records = [Record.read(folder) for folder in folders]
    kinds = sorted({record.kind for record in records})
    if len(kinds) > 1:
        raise NotARun(
            f"these runs are of several kinds, {', '.join(kinds)}, which cannot be compared; "
            "expected runs of one kind"
        )
    _, score, sign, _ = _SCORES[kinds[0]]
    records.sort(key=lambda record: sign * record.summary[score])
    page = document(f"{len(records)} runs", STYLE, *_body(records))
    with hub.atomic_file(path, len(page)) as file:
        file.write(page)
    return path


def _body(records: Sequence[Record]) -> list[Child]:
    names = [str(record.folder) for record in records]
    same = len({record.weights["data"]["fingerprint"] for record in records}) == 1
    kind = records[0].kind
    title, score, _, scores = _SCORES[kind]
    what = "text" if kind == "text" else "pictures"
    figures = {"text": _text_figures, "labels": _label_figures, "pictures": _figures}[kind]
    return [
        h("header", h("h1", f"{len(records)} runs")),
        h(
            "p",
            f"All on the same {what}."
            if same
            else f"Not on the same {what}: their {scores} cannot be compared with each other.",
            class_="quiet" if same else "wrong",
        ),
        section(
            "How they came out",
            h("div", figures(records), class_="scroll"),
        ),
        section("Where they differ", h("div", _differences(records), class_="scroll")),
        section(
            "How training went",
            h(
                "div",
                _chart(title, score, records, names),
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
                *_effort(summary),
            ]
        )
    head = ["run", "accuracy", "95% interval", "loss", "kept epoch", "took", "memory"]
    return table(head, rows, numeric=(1, 3))


def _text_figures(records: Sequence[Record]) -> Element:
    rows = []
    for i, record in enumerate(records):
        summary = record.summary
        before = summary["perplexity_before"]
        rows.append(
            [
                [h("i", class_=f"key run{i % _LOOKS}"), h("bdi", str(record.folder))],
                f"{summary['val_perplexity']:.2f}",
                "–" if before is None else f"{before:.2f}",
                f"{summary['val_loss']:.4f}",
                *_effort(summary),
            ]
        )
    head = ["run", "perplexity", "before", "loss", "kept epoch", "took", "memory"]
    return table(head, rows, numeric=(1, 2, 3))


def _label_figures(records: Sequence[Record]) -> Element:
    rows = []
    for i, record in enumerate(records):
        summary = record.summary
        rows.append(
            [
                [h("i", class_=f"key run{i % _LOOKS}"), h("bdi", str(record.folder))],
                *(f"{summary[key]:.2%}" for key in ("val_map", "val_micro_f1", "val_macro_f1")),
                f"{summary['val_loss']:.4f}",
                *_effort(summary),
            ]
        )
    head = ["run", "mean average precision", "micro F1", "macro F1", "loss", "kept epoch", "took"]
    return table([*head, "memory"], rows, numeric=(1, 2, 3, 4))


def _effort(summary: dict[str, Any]) -> list[str]:
    return [
        f"{summary['best_epoch']} of {summary['epochs']}",
        duration(summary["seconds"]),
        f"{summary['peak_memory_bytes'] / 2**20:.0f} MiB",
    ]


def _differences(records: Sequence[Record]) -> Element:
    facts = []
    for record in records:
        started = {name: record.origin[name] for name in _STARTED_WITH if name in record.origin}
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
    of_share = key in ("val_accuracy", "val_map")
    return line_chart(
        title,
        lines,
        x_name="epoch",
        y_text=percent if of_share else plain,
        y_range=(None, 1.0) if of_share else (0.0 if key == "val_loss" else None, None),
    )
