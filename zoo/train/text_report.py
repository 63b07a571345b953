"""What a finished run on text leaves for people and scripts: `summary.json` and `curves.png`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import hub
from zoo.train.errors import quoted
from zoo.train.log import read_rows
from zoo.train.report import REPORT, duration, write_summary


@dataclass(frozen=True)
class TextSummary:
    """The outcome of a run; `summary.json` holds these fields.

    Attributes:
        val_loss, val_perplexity: of the weights that were kept, over all validation tokens.
        perplexity_before: of the weights that training started from; None for random ones.
        sample_before, sample_after: how the model goes on from the same prompt, with one seed.
        epochs: epochs trained.
        best_epoch: the one whose weights were kept, from 1.
        seconds: wall time in all, over all sessions of the run.
        tokens_per_second: tokens trained on, per second of training steps.
        peak_memory_bytes: most memory that the process held at once.
        skipped_steps: steps left out because a loss or gradient was not finite.
        weights_sha256: of `model.safetensors`.

    >>> zoo.finetune_text("gpt2", "book.txt").val_perplexity     # doctest: +SKIP
    21.4
    """

    val_loss: float
    val_perplexity: float
    perplexity_before: float | None
    sample_before: str | None
    sample_after: str
    epochs: int
    best_epoch: int
    seconds: float
    tokens_per_second: float
    peak_memory_bytes: int
    skipped_steps: int
    weights_sha256: str

    def write(self, out: Path, title: str) -> None:
        """Write `summary.json`, and `curves.png` from the run's log."""
        write_summary(out, self)
        with hub.atomic_file(out / "curves.png") as file:
            draw_text_curves(read_rows(out / "metrics.jsonl"), file, title)

    def lines(self, out: Path) -> list[str]:
        """The report for people, one string a line; `out` goes into the next commands."""
        was = "" if self.perplexity_before is None else f" (before: {self.perplexity_before:.2f})"
        lines = [
            "",
            f"Validation perplexity {self.val_perplexity:.2f}{was}, loss {self.val_loss:.4f}, "
            f"after epoch {self.best_epoch} of {self.epochs}",
            f"Took {duration(self.seconds)}, {self.tokens_per_second:.0f} tokens/s, at most "
            f"{self.peak_memory_bytes / 2**20:.0f} MiB of memory",
        ]
        if self.skipped_steps:
            lines.append(f"Skipped {self.skipped_steps} steps: loss or gradients were not finite")
        page = []
        if (out / REPORT).is_file():
            page = [f"  {out / REPORT}   all about it on one page, for a browser"]
        return [
            *lines,
            "",
            f"  {out / 'model.safetensors'}   the weights, with the tokenizer",
            f"  {out / 'curves.png'}   loss, perplexity and learning rate",
            *page,
            "",
            "Next:",
            f"  zoo generate {quoted(out)} --prompt TEXT",
            f"  zoo evaluate {quoted(out)} --data TEXT    with text that it has not seen",
        ]


def draw_text_curves(rows: Sequence[dict[str, Any]], file: BinaryIO, title: str) -> None:
    """Draw the rows of a metrics log of a run on text as a PNG. Matplotlib loads when called."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    steps = [row for row in rows if row["kind"] == "step"]
    epochs = [row for row in rows if row["kind"] == "epoch"]
    figure = Figure(figsize=(12, 3.8), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)  # not pyplot: no display, no global state
    loss, perplexity, rate = figure.subplots(1, 3)
    figure.suptitle(title, x=0.01, ha="left", fontsize=11)
    at_step, at_epoch = [r["step"] for r in steps], [r["step"] for r in epochs]

    def column(key: str, of: Sequence[dict[str, Any]]) -> list[float]:
        return [float("nan") if row[key] is None else row[key] for row in of]

    loss.plot(at_step, column("loss", steps), color="#7a8ca3", linewidth=0.8, label="training")
    loss.plot(at_epoch, column("val_loss", epochs), "o-", color="#d1495b", label="validation")
    perplexity.plot(at_epoch, column("val_perplexity", epochs), "o-", color="#d1495b")
    rate.plot(at_step, column("lr", steps), color="#1b998b", linewidth=1.5)
    names = ("loss, nats a token", "validation perplexity", "learning rate")
    for axes, name in zip((loss, perplexity, rate), names, strict=True):
        axes.set_title(name, loc="left", fontsize=10)
        axes.set_xlabel("step")
        axes.grid(alpha=0.25, linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
    rate.set_ylim(bottom=0)
    loss.legend(frameon=False, fontsize=9)
    figure.savefig(file, format="png")
