"""Puts the page together and writes it: `write_report`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

import hub
import zoo
from hub.progress import progress_bar
from zoo.data import Audit, ImageSet, Loader
from zoo.models.image_model import expect_images
from zoo.report import sections
from zoo.report.charts import percent
from zoo.report.gradcam import heat_maps
from zoo.report.html import Child, Element, document, h
from zoo.report.measures import Answers
from zoo.report.pictures import heated, thumbnail
from zoo.report.record import Record
from zoo.report.style import STYLE
from zoo.train.report import REPORT, duration
from zoo.train.scored import answer

if TYPE_CHECKING:
    from zoo.models.image_model import ImageModel

_SHOWN = 12  # mistakes shown as pictures, and as many hits


def write_report(
    folder: Path,
    val: ImageSet,
    audit: Audit,
    *,
    batch_size: int = 16,
    threads: int | None = None,
    show_progress: bool = False,
) -> Path:
    """Write `report.html` into the folder of a finished run.

    Args:
        folder: of the run; its weights answer for the pictures of `val` once more.
        val: the validation pictures of the run.
        audit: of its pictures.
        batch_size: pictures computed at once.
        threads: that decode; None takes one per CPU, at most 8.
        show_progress: draw a progress bar on the error stream, where that is a terminal.

    Returns:
        The file's path.

    Raises:
        NotARun: the folder holds no finished run.

    >>> write_report(Path("run1"), prepared.val, prepared.audit)     # doctest: +SKIP
    PosixPath('run1/report.html')
    """
    record = Record.read(folder)
    model = expect_images(zoo.load(folder))
    bar = progress_bar(
        show=show_progress, total=len(val), desc="report", unit=" images", leave=False
    )
    with Loader(val, model.preprocessing, batch_size, threads=threads) as loader, bar:
        answers = answer(model, loader, bar.update)
    page = document(record.title, STYLE, *_body(record, audit, answers, val, model))
    path = folder / REPORT
    with hub.atomic_file(path, len(page)) as file:
        file.write(page)
    return path


def _body(
    record: Record, audit: Audit, answers: Answers, val: ImageSet, model: ImageModel
) -> list[Child]:
    return [
        _head(record, answers),
        sections.curves(record.rows, sections.ACCURACY),
        sections.confusion(answers),
        sections.class_section(answers),
        sections.calibrated(answers),
        *_looked_at(answers, val, model),
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


def _head(record: Record, answers: Answers) -> Element:
    accuracy, summary = answers.accuracy, record.summary
    right = int(answers.right.sum())
    return h(
        "header",
        h("h1", record.title),
        h("p", h("code", record.command()), class_="quiet name"),
        sections.facts(
            [
                (
                    "validation accuracy",
                    f"{accuracy.value:.2%}",
                    f"{right} of {len(answers)}; 95% interval {percent(accuracy.low)} to "
                    f"{percent(accuracy.high)}",
                ),
                ("validation loss", f"{answers.loss:.4f}", "nats a picture"),
                ("kept", f"epoch {summary['best_epoch']}", f"of {summary['epochs']}"),
                ("classes", f"{len(answers.classes)}", f"{len(answers)} validation pictures"),
                (
                    "took",
                    duration(summary["seconds"]),
                    sections.effort(summary),
                ),
            ]
        ),
    )


def _looked_at(answers: Answers, val: ImageSet, model: ImageModel) -> list[Child]:
    mistakes = answers.most_confident_mistakes(_SHOWN)
    hits = answers.least_confident_hits(_SHOWN)
    shown = [*mistakes, *hits]
    cards = dict(zip(shown, _cards(shown, answers, val, model), strict=True))
    explained = (
        "Left: the picture as the model sees it. Right: where it looked for the class it names "
        "(Grad-CAM); bright places speak for it."
    )
    wrong = int((~answers.right).sum())
    return [
        sections.section(
            "The surest mistakes",
            h("p", f"{wrong} of {len(answers)} pictures are wrong. ", explained, class_="quiet")
            if mistakes
            else h("p", "None: every validation picture is right."),
            h("div", [cards[i] for i in mistakes], class_="cards"),
        ),
        sections.section(
            "The least sure hits",
            h("p", "Right, but barely. Mistakes to come look like these.", class_="quiet")
            if hits
            else h("p", "None: no validation picture is right."),
            h("div", [cards[i] for i in hits], class_="cards"),
        ),
    ]


def _cards(
    positions: list[int], answers: Answers, val: ImageSet, model: ImageModel
) -> list[Element]:
    if not positions:
        return []
    squares = [model.preprocessing.apply(val.load(i)) for i in positions]
    maps = heat_maps(model, squares, answers.predicted[positions])
    return [
        _card(i, square, heat, answers, val.name(i))
        for i, square, heat in zip(positions, squares, maps, strict=True)
    ]


def _card(
    i: int,
    square: NDArray[np.uint8],
    heat: NDArray[np.float32] | None,
    answers: Answers,
    name: str,
) -> Element:
    said, is_ = answers.classes[answers.predicted[i]], answers.classes[answers.labels[i]]
    wrong = said != is_
    return card(
        square,
        heat,
        name,
        h(
            "div",
            h("bdi", said, class_="said wrong" if wrong else "said"),
            f" {percent(float(answers.confidence[i]))}",
        ),
        h("div", "is ", h("bdi", is_), f" {percent(float(answers.label_probability[i]))}")
        if wrong
        else None,
    )


def card(
    square: NDArray[np.uint8], heat: NDArray[np.float32] | None, name: str, *said: Child
) -> Element:
    """A picture, where the model looked, and what there is to say of it."""
    images = [h("img", src=thumbnail(square), alt=f"picture {name}")]
    if heat is not None:
        images.append(h("img", src=heated(square, heat), alt="where the model looked"))
    return h(
        "div",
        h("div", images, class_="pair"),
        *said,
        h("div", h("bdi", name), class_="path"),
        class_="card",
    )
