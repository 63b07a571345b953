"""What `finetune_text` hands back: the run's figures, and the model it made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import zoo
from zoo.stored import RUN_WEIGHTS
from zoo.train.log import Row, read_rows
from zoo.train.report import REPORT
from zoo.train.text_report import TextSummary

if TYPE_CHECKING:
    from zoo.export import Exported
    from zoo.models.text_model import TextModel
    from zoo.text.generation import Completion
    from zoo.text.perplexity import TextMeasured


@dataclass(frozen=True)
class TextResult:
    """A finished run on text.

    Attributes:
        path: its folder.
        summary: its figures, as summary.json holds them.

    >>> result = zoo.finetune_text("gpt2", "book.txt", lora=True)       # doctest: +SKIP
    >>> result.perplexity_before, result.val_perplexity                 # doctest: +SKIP
    (38.1, 21.3)
    >>> result.complete(["It was"])[0].text                             # doctest: +SKIP
    """

    path: Path
    summary: TextSummary

    @property
    def val_perplexity(self) -> float:
        """exp(`val_loss`)."""
        return self.summary.val_perplexity

    @property
    def val_loss(self) -> float:
        """Validation loss of the kept weights, nats a token."""
        return self.summary.val_loss

    @property
    def perplexity_before(self) -> float | None:
        """Validation perplexity of the weights that training started from; None for random ones."""
        return self.summary.perplexity_before

    @property
    def sample_before(self) -> str | None:
        """How the weights that training started from go on from the run's prompt; None for random
        ones."""
        return self.summary.sample_before

    @property
    def sample_after(self) -> str:
        """How the kept weights go on from the same prompt, with the same seed."""
        return self.summary.sample_after

    @property
    def best_epoch(self) -> int:
        """The epoch whose weights were kept, from 1."""
        return self.summary.best_epoch

    @property
    def weights(self) -> Path:
        """The file with the kept weights, adapters merged."""
        return self.path / RUN_WEIGHTS

    @property
    def report(self) -> Path | None:
        """The page about the run, or None where it was not wanted."""
        page = self.path / REPORT
        return page if page.is_file() else None

    @property
    def log(self) -> list[Row]:
        """All rows of metrics.jsonl: one for each step and one for each epoch."""
        return read_rows(self.path / "metrics.jsonl")

    @property
    def history(self) -> list[Row]:
        """The rows of epochs: "epoch", "train_loss", "val_loss", "val_perplexity" and more."""
        return [row for row in self.log if row["kind"] == "epoch"]

    @cached_property
    def model(self) -> TextModel:
        """The model with the kept weights, in inference mode; loaded when first asked for."""
        from zoo.models.text_model import expect_text

        return expect_text(zoo.load(self.path))

    def generate(self, prompt: str, **settings: Any) -> Iterator[str]:
        """The text that follows a prompt, as it is made; see `TextModel.generate`."""
        return self.model.generate(prompt, **settings)

    def complete(self, prompts: Sequence[str], n: int = 1, **settings: Any) -> list[Completion]:
        """Continuations of prompts; see `TextModel.complete`."""
        return self.model.complete(prompts, n, **settings)

    def evaluate(self, data: str | Path, **options: Any) -> TextMeasured:
        """Perplexity on other text; see `zoo.text.perplexity.measure_text`."""
        from zoo.text.perplexity import measure_text

        return measure_text(self.model, str(data), run=str(self.path), **options)

    def export(self, format: str, out: str | Path | None = None) -> Exported:
        """Write the kept weights for other programs; see `zoo.export.export`."""
        from zoo.export import export

        return export(self.path, format, out)

    def __repr__(self) -> str:
        was = "" if self.perplexity_before is None else f" (before: {self.perplexity_before:.2f})"
        return (
            f"<zoo run {str(self.path)!r}: validation perplexity {self.val_perplexity:.2f}{was}, "
            f"epoch {self.best_epoch} of {self.summary.epochs}>"
        )
