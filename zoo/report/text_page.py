"""The page about a run on text: `write_text_report`."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path

import hub
from zoo.report import sections
from zoo.report.charts import plain
from zoo.report.html import Child, Element, document, h
from zoo.report.record import Record
from zoo.report.style import STYLE
from zoo.train.report import REPORT, duration

_LN2 = math.log(2)


def write_text_report(folder: str | os.PathLike[str]) -> Path:
    """Write `report.html` into the folder of a finished run on text, from what is in the folder.

    Args:
        folder: of the run.

    Returns:
        The file's path.

    Raises:
        NotARun: the folder holds no finished run.

    >>> write_text_report("run1")     # doctest: +SKIP
    PosixPath('run1/report.html')
    """
    record = Record.read(folder)
    page = document(record.title, STYLE, *_body(record))
    path = record.folder / REPORT
    with hub.atomic_file(path, len(page)) as file:
        file.write(page)
    return path


def _body(record: Record) -> list[Child]:
    before = record.origin.get("before")
    start = None if before is None else (before["perplexity"], before["loss"])
    return [
        _head(record),
        sections.curves(
            record.rows,
            sections.Score("perplexity", "train_perplexity", "val_perplexity", start=start),
        ),
        _samples(record),
        sections.section(
            "The text", [h("p", line, class_="name") for line in record.origin.get("audit", ())]
        ),
        sections.settings_section(
            record.recipe,
            record.origin.get("reasons", ()),
            record.config.to_dict(),
            record.own_settings(),
        ),
        sections.provenance(record.sources(), record.command()),
    ]


def _head(record: Record) -> Element:
    summary = record.summary
    before, after = summary["perplexity_before"], summary["val_perplexity"]
    was = "training began with random values" if before is None else f"{before:.2f} before training"
    return h(
        "header",
        h("h1", record.title),
        h("p", h("code", record.command()), class_="quiet name"),
        sections.facts(
            [
                ("validation perplexity", f"{after:.2f}", was),
                (
                    "validation loss",
                    f"{summary['val_loss']:.4f}",
                    f"nats a token; {summary['val_loss'] / _LN2:.3f} bits",
                ),
                ("kept", f"epoch {summary['best_epoch']}", f"of {summary['epochs']}"),
                (
                    "took",
                    duration(summary["seconds"]),
                    f"{summary['tokens_per_second']:.0f} tokens/s, "
                    f"{summary['peak_memory_bytes'] / 2**20:.0f} MiB",
                ),
            ]
        ),
        _verdict(before, after, summary["best_epoch"], summary["epochs"]),
    )


def _verdict(before: float | None, after: float, best: int, epochs: int) -> Element:
    """What the figures come to, in a sentence or two."""
    said: list[Child] = [
        f"On text that it has not seen, the model is as unsure as if it chose among {plain(after)} "
        "equally likely tokens"
    ]
    if before is None:
        said.append(". ")
    elif after < before:
        said.append(f", before training among {plain(before)}. ")
    else:
        said.append(
            h("span", f"; before training among {plain(before)}, so training helped nothing. ",
              class_="wrong")
        )  # fmt: skip
    if best < epochs:
        said.append(
            f"It was best after epoch {best}; what came later learned the training text by heart."
        )
    return h("p", *said, class_="quiet")


def _samples(record: Record) -> Element:
    prompt, summary = record.origin["prompt"], record.summary
    samples = [("after", summary["sample_after"])]
    if summary["sample_before"] is not None:
        samples.insert(0, ("before", summary["sample_before"]))
    return sections.section(
        "What it writes",
        h(
            "p",
            "The same prompt and the same random draws"
            + (", before and after training." if len(samples) > 1 else "."),
            class_="quiet",
        ),
        h("div", [_sample(name, prompt, text) for name, text in samples], class_="samples"),
    )


def _sample(name: str, prompt: str, text: str) -> Element:
    shown: Sequence[Child] = [text]
    if text.startswith(prompt):
        shown = [h("span", prompt, class_="prompt"), text[len(prompt) :]]
    return h("figure", h("figcaption", h("b", name)), h("pre", *shown, class_="sample"))
