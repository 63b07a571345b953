"""The page about a run on pictures that may have several labels: `write_label_report`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import hub
import zoo
from hub.progress import progress_bar
from zoo.data import Audit, ImageSet, Loader
from zoo.models.image_model import expect_images
from zoo.report import sections
from zoo.report.charts import interval, percent
from zoo.report.gradcam import heat_maps
from zoo.report.html import Child, Element, document, h
from zoo.report.measures import calibration_of, f1, wilson
from zoo.report.page import card
from zoo.report.record import Record
from zoo.report.style import STYLE
from zoo.train.inference import evaluate
from zoo.train.label_metrics import (
    LabelScore,
    LabelTally,
    macro_f1,
    mean_average_precision,
    micro_f1,
)
from zoo.train.report import REPORT, duration

if TYPE_CHECKING:
    from zoo.models.image_model import ImageModel

_SHOWN = 12  # mistakes of each kind shown as pictures
_MOST_ROWS = 40  # labels before the rest is folded away
_PRECISION = sections.Score(
    "F1 of training, mean average precision of validation", "train_f1", "val_map", percent,
    (None, 1.0),
)  # fmt: skip


def write_label_report(
    folder: Path,
    val: ImageSet,
    audit: Audit,
    *,
    batch_size: int = 16,
    threads: int | None = None,
    show_progress: bool = False,
) -> Path:
    """Write `report.html` into the folder of a finished run; arguments and errors are those of
    `zoo.report.page.write_report`.

    >>> write_label_report(Path("run1"), prepared.val, prepared.audit)     # doctest: +SKIP
    PosixPath('run1/report.html')
    """
    record = Record.read(folder)
    model = expect_images(zoo.load(folder))
    tally = LabelTally(len(val.classes))
    bar = progress_bar(
        show=show_progress, total=len(val), desc="report", unit=" images", leave=False
    )
    with Loader(val, model.preprocessing, batch_size, threads=threads) as loader, bar:
        evaluate(model, loader, bar.update, tally=tally)
    page = document(record.title, STYLE, *_body(record, audit, tally, val, model))
    path = folder / REPORT
    with hub.atomic_file(path, len(page)) as file:
        file.write(page)
    return path


def _body(
    record: Record, audit: Audit, tally: LabelTally, val: ImageSet, model: ImageModel
) -> list[Child]:
    thresholds = np.asarray(model.thresholds, dtype=np.float64)
    scores = tally.scores(thresholds)
    return [
        _head(record, scores, tally),
        sections.curves(record.rows, _PRECISION),
        _label_section(val.classes, scores),
        sections.calibration_section(
            calibration_of(tally.probabilities.ravel(), tally.truth.ravel() > 0),
            "decisions",
        ),
        *_looked_at(tally, thresholds, val, model),
        sections.audit_section(
            [audit.headline, *audit.remarks()],
            audit.classes,
            audit.train_counts,
            audit.val_counts,
        ),
        sections.settings_section(
            record.recipe,
            record.origin.get("reasons", ()),
            record.config.to_dict(),
            record.own_settings(),
        ),
        sections.provenance(record.sources(), record.command()),
    ]


def _head(record: Record, scores: list[LabelScore], tally: LabelTally) -> Element:
    summary = record.summary
    return h(
        "header",
        h("h1", record.title),
        h("p", h("code", record.command()), class_="quiet name"),
        sections.facts(
            [
                (
                    "mean average precision",
                    f"{mean_average_precision(scores):.2%}",
                    f"{len(scores)} labels, {tally.count} validation pictures",
                ),
                ("micro F1", f"{micro_f1(scores):.2%}", "over all decisions"),
                ("macro F1", f"{macro_f1(scores):.2%}", "mean over labels"),
                ("validation loss", f"{tally.loss:.4f}", "nats a label"),
                ("kept", f"epoch {summary['best_epoch']}", f"of {summary['epochs']}"),
                ("took", duration(summary["seconds"]), sections.effort(summary)),
            ]
        ),
    )


def _label_section(classes: Sequence[str], scores: list[LabelScore]) -> Element:
    known = [pair for pair in zip(classes, scores, strict=True) if pair[1].pictures]
    known.sort(key=lambda pair: (pair[1].average_precision, pair[0]))
    unseen = [name for name, score in zip(classes, scores, strict=True) if not score.pictures]
    head = [
        "label", "pictures", "average precision", "threshold", "right", "missed", "wrongly given",
        "precision", "", "recall", "", "F1", "",
    ]  # fmt: skip
    numeric = (1, 2, 3, 4, 5, 6)
    few = len(known) <= _MOST_ROWS + 5
    shown, folded = (known, []) if few else (known[:_MOST_ROWS], known[_MOST_ROWS:])
    return sections.section(
        "Label by label",
        h(
            "p",
            "Weakest first. A label is given to a picture from its threshold on, which is the one "
            "of the highest F1 on these same pictures: F1 flatters a little, average precision, "
            "which has no threshold, does not. Small figures are 95% intervals (Wilson's).",
            class_="quiet",
        ),
        h("div", sections.table(head, map(_row, shown), numeric=numeric), class_="scroll"),
        sections.foldable(
            f"{len(folded)} more labels",
            h("div", sections.table(head, map(_row, folded), numeric=numeric), class_="scroll"),
        )
        if folded
        else None,
        h("p", "Without validation pictures: ", ", ".join(unseen), class_="quiet name")
        if unseen
        else None,
    )


def _row(pair: tuple[str, LabelScore]) -> list[Child]:
    name, score = pair
    assert score.average_precision is not None
    row: list[Child] = [
        h("bdi", name, class_="name"),
        str(score.pictures),
        percent(score.average_precision),
        f"{score.threshold:.3f}",
        str(score.hits),
        str(score.misses),
        str(score.false_alarms),
    ]
    shares = (
        wilson(score.hits, score.hits + score.false_alarms),
        wilson(score.hits, score.pictures),
        f1(score.hits, score.misses, score.false_alarms),
    )
    for share in shares:
        row += [[percent(share.value), " ", sections.range_of(share)], interval(share)]
    return row


def _looked_at(
    tally: LabelTally, thresholds: NDArray[np.float64], val: ImageSet, model: ImageModel
) -> list[Child]:
    """The surest wrong decisions: labels given to pictures that lack them, and the reverse."""
    probabilities, truth = tally.probabilities.astype(np.float64), tally.truth > 0
    given = probabilities >= thresholds
    # How far beyond its threshold, as a share of the way to certainty.
    beyond = np.where(
        given, (probabilities - thresholds) / np.maximum(1 - thresholds, 1e-9),
        (thresholds - probabilities) / np.maximum(thresholds, 1e-9),
    )  # fmt: skip
    explained = (
        "Left: the picture as the model sees it. Right: where it looked for this label (Grad-CAM); "
        "bright places speak for it."
    )
    parts = []
    for title, wrong, none in (
        ("Labels given wrongly, the surest first", given & ~truth, "no label was given wrongly"),
        ("Labels missed, the surest first", ~given & truth, "no label was missed"),
    ):
        rows, columns = np.nonzero(wrong)
        order = np.argsort(-beyond[rows, columns], kind="stable")[:_SHOWN]
        cards = [
            _card(int(rows[i]), int(columns[i]), probabilities, truth, val, model) for i in order
        ]
        said = f"{len(rows)} decisions. {explained}" if cards else f"None: {none}."
        parts.append(
            sections.section(title, h("p", said, class_="quiet"), h("div", cards, class_="cards"))
        )
    return list(parts)


def _card(
    i: int,
    label: int,
    probabilities: NDArray[np.float64],
    truth: NDArray[np.bool_],
    val: ImageSet,
    model: ImageModel,
) -> Element:
    square = model.preprocessing.apply(val.load(i))
    (heat,) = heat_maps(model, [square], np.array([label]))
    names: Any = [val.classes[j] for j in np.flatnonzero(truth[i])]
    return card(
        square,
        heat,
        val.name(i),
        h(
            "div",
            h("bdi", val.classes[label], class_="said wrong"),
            f" {percent(float(probabilities[i, label]))}",
        ),
        h("div", "has ", h("bdi", ", ".join(names) or "no label")),
    )
