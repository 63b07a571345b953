"""The outcome of a run on pictures that may have several labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from zoo.train.label_metrics import LabelScore
from zoo.train.progress import Best
from zoo.train.report import RunSummary, Summary, own_fields

_MOST_LABELS = 30  # printed before the rest is summed up


@dataclass(frozen=True, kw_only=True)
class LabelSummary(RunSummary):
    """The outcome of a run; `summary.json` holds these fields.

    Attributes:
        val_map: mean average precision of the weights that were kept, over all validation pictures.
        val_micro_f1, val_macro_f1: over all decisions, and the mean over labels, at thresholds that
            were chosen on the same pictures.
        labels: how each label fared, in index order.
    """

    val_map: float
    val_micro_f1: float
    val_macro_f1: float
    labels: tuple[LabelScore, ...]

    @classmethod
    def of(cls, best: Best, common: Mapping[str, Any]) -> LabelSummary:
        """From the epoch that was kept, and the fields that all summaries have."""
        metrics: dict[str, Any] = {
            name: best.metrics[name] for name in ("val_map", "val_micro_f1", "val_macro_f1")
        }
        labels = tuple(LabelScore(**label) for label in best.details["labels"])
        return cls(labels=labels, **metrics, **common)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> LabelSummary:
        """Of the values that `summary.json` holds."""
        values = own_fields(cls, values)
        labels = tuple(LabelScore(**label) for label in values["labels"])
        return cls(**{**values, "classes": tuple(values["classes"]), "labels": labels})

    @property
    def headline(self) -> str:
        return f"mean average precision {self.val_map:.2%} on validation"

    def scores(self) -> list[str]:
        return [
            f"Validation mean average precision {self.val_map:.2%}, loss {self.val_loss:.4f}, "
            f"after epoch {self.best_epoch} of {self.epochs}",
            f"Micro F1 {self.val_micro_f1:.2%}, macro F1 {self.val_macro_f1:.2%}, at thresholds "
            "chosen on these pictures",
            *label_table(self.classes, self.labels),
        ]


def summary_of(values: Mapping[str, Any]) -> Summary | LabelSummary:
    """Of the values that the `summary.json` of a run on pictures holds.

    >>> summary_of(json.loads(Path("run1/summary.json").read_text())).headline     # doctest: +SKIP
    '98.06% right on validation'
    """
    return (LabelSummary if "labels" in values else Summary).from_dict(values)


def label_table(names: Sequence[str], scores: Sequence[LabelScore]) -> list[str]:
    """One line for each label: pictures that have it, average precision, threshold and F1."""
    shown = list(zip(names, scores, strict=True))
    width = max([len("label"), *(len(name) for name, _ in shown[:_MOST_LABELS])])
    lines = [f"  {'label':<{width}}  pictures  precision  threshold      F1"]
    for name, score in shown[:_MOST_LABELS]:
        average = score.average_precision
        lines.append(
            f"  {name:<{width}}  {score.pictures:>8}  "
            f"{'-' if average is None else f'{average:.1%}':>9}  {score.threshold:>9.3f}  "
            f"{score.f1:>6.1%}"
        )
    if len(shown) > _MOST_LABELS:
        lines.append(f"  ... and {len(shown) - _MOST_LABELS} more labels")
    return lines
