"""How far a run has come: beside its tensors, all the state that a checkpoint needs."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Any

from zoo.train.task import Evaluation, Sums


@dataclass
class Best:
    """The epoch whose weights are kept; what `Evaluation.order` says, then the earliest.

    Attributes:
        epoch: counted from 1.
        step: steps done by its end.
        metrics, order, details: see `Evaluation`.
    """

    epoch: int
    step: int
    metrics: dict[str, float]
    order: list[float]
    details: Any = None

    @classmethod
    def of(cls, epoch: int, step: int, found: Evaluation) -> Best:
        """The best so far, as an evaluation found it."""
        return cls(epoch, step, dict(found.metrics), list(found.order), found.details)

    def beats(self, other: Best | None) -> bool:
        """Whether these weights should be kept in place of `other`'s, or of none. Weights that make
        a loss that is not finite are never kept: what they get right is chance."""
        if not all(map(math.isfinite, self.order)):
            return False
        return other is None or self.order < [
            value if math.isfinite(value) else math.inf for value in other.order
        ]


@dataclass
class Progress:
    """How far a run has come; with the tensors, all of its state."""

    step: int = 0  # optimizer steps tried, skipped ones included
    epoch: int = 0  # epochs completed
    batch: int = 0  # batches of the current epoch that are done
    loss_sum: float = 0.0  # over this epoch's samples or tokens
    counts: dict[str, float] = field(default_factory=dict)  # other sums of this epoch, by name
    weight: int = 0  # samples or tokens of this epoch whose loss was finite
    skipped: int = 0  # steps skipped in all, for a loss or gradient that is not finite
    skipped_in_a_row: int = 0
    seen: int = 0  # samples or tokens trained on in all
    train_seconds: float = 0.0  # of training steps in all
    epoch_seconds: float = 0.0  # of training steps of this epoch
    seconds: float = 0.0  # wall time in all, over all sessions
    averaged: int = 0  # updates of the average of weights
    stale: int = 0  # epochs since the best one
    ended: str = ""  # why the run ends before its last epoch; empty: it does not
    best: Best | None = None

    def add(self, sums: Sums, weight: int) -> None:
        """Count a step whose loss was finite."""
        self.loss_sum += sums.loss
        for name, count in sums.counts.items():
            self.counts[name] = self.counts.get(name, 0) + count
        self.weight += weight

    def sums(self) -> Sums:
        """What was counted in this epoch."""
        return Sums(self.loss_sum, counts=dict(self.counts))

    def next_epoch(self) -> None:
        """Move on to the start of the following epoch."""
        self.epoch += 1
        self.batch = self.weight = 0
        self.loss_sum = self.epoch_seconds = 0.0
        self.counts = {}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Progress:
        """The inverse of `dataclasses.asdict`.

        Raises:
            ValueError, TypeError, KeyError: values of another form.
        """
        best = values["best"]
        for own in fields(cls):
            if isinstance(own.default, int | float):
                kinds = (int,) if type(own.default) is int else (int, float)
                value = values[own.name]
                if type(value) not in kinds or value < 0 and own.name != "loss_sum":
                    raise ValueError(f"progress: {own.name} is {value!r}")
        return cls(**{**values, "best": None if best is None else Best(**best)})
