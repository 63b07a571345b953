"""How far a run has come: beside its tensors, all the state that a checkpoint needs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any


@dataclass
class Best:
    """The epoch whose weights are kept: highest accuracy, then lowest loss, then earliest."""

    epoch: int  # counted from 1
    step: int
    val_accuracy: float
    val_loss: float
    per_class: list[tuple[int, int]]  # (right, all) validation pictures of each class

    def beats(self, other: Best | None) -> bool:
        """Whether these weights should replace `other`'s. A loss that is not finite never wins
        over one that is."""
        if other is None:
            return True
        loss, other_loss = (
            b.val_loss if math.isfinite(b.val_loss) else math.inf for b in (self, other)
        )
        return (-self.val_accuracy, loss) < (-other.val_accuracy, other_loss)


@dataclass
class Progress:
    """How far a run has come; with the tensors, all of its state."""

    step: int = 0  # optimizer steps tried, skipped ones included
    epoch: int = 0  # epochs completed
    batch: int = 0  # batches of the current epoch that are done
    loss_sum: float = 0.0  # cross-entropy over this epoch's samples, nats
    correct: int = 0  # of this epoch's samples
    samples: int = 0  # of this epoch whose loss was finite
    skipped: int = 0  # steps skipped in all, for a loss or gradient that is not finite
    skipped_in_a_row: int = 0
    images: int = 0  # trained on in all
    train_seconds: float = 0.0  # of training steps in all
    seconds: float = 0.0  # wall time in all, over all sessions
    best: Best | None = None

    def next_epoch(self) -> None:
        """Move on to the start of the following epoch."""
        self.epoch += 1
        self.batch = self.correct = self.samples = 0
        self.loss_sum = 0.0

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Progress:
        """The inverse of `dataclasses.asdict`."""
        best = values["best"]
        return cls(**{**values, "best": None if best is None else Best(**best)})
