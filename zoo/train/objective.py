"""What a picture's labels mean for training: one class each, or several labels or none."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

import engine
from engine import Tensor
from engine.nn import functional as F
from zoo.data import ImageSet
from zoo.train.config import TrainConfig
from zoo.train.label_metrics import (
    LabelTally,
    f1_of,
    macro_f1,
    mean_average_precision,
    micro_f1,
)
from zoo.train.metrics import Tally
from zoo.train.parts import class_weights
from zoo.train.task import Column, Evaluation, Sums

AnyTally = Tally | LabelTally


class Objective(ABC):
    """The loss of a run on pictures, and what is counted of its answers."""

    columns: ClassVar[Sequence[Column]]
    counted: ClassVar[Sequence[str]]  # names of what `counts` gives

    @abstractmethod
    def loss(self, logits: Tensor, labels: NDArray[Any], reduction: str) -> Tensor:
        """What is descended, from logits (N, classes) and labels: of each picture (N,), where the
        reduction is "none", or the "sum" of that."""

    @abstractmethod
    def tally(self) -> AnyTally:
        """A new count."""

    @abstractmethod
    def counts(self, tally: Any) -> dict[str, float]:
        """What of a training batch is summed up over an epoch."""

    @abstractmethod
    def train_metrics(self, sums: Sums, weight: int) -> dict[str, float]:
        """Metrics of an epoch's training, from those sums."""

    @abstractmethod
    def evaluation(self, tally: Any) -> Evaluation:
        """How good the weights are."""


class OneClass(Objective):
    """Cross-entropy; the best epoch has the highest accuracy, then the lowest loss."""

    counted = ("correct",)
    columns = (
        Column("train loss", "train_loss", ">10.4f"),
        Column("train acc", "train_accuracy", ">9.1%"),
        Column("val loss", "val_loss", ">8.4f"),
        Column("val acc", "val_accuracy", ">7.1%"),
    )

    def __init__(self, images: ImageSet, config: TrainConfig) -> None:
        weights = class_weights(images.counts(), config)
        self._weights = None if weights is None else engine.from_numpy(weights)
        self._smoothing = config.label_smoothing
        self._classes = len(images.classes)

    def loss(self, logits: Tensor, labels: NDArray[Any], reduction: str) -> Tensor:
        return F.cross_entropy(
            logits,
            engine.asarray(labels, device=logits.device),
            weight=_beside(logits, self._weights),
            reduction=reduction,
            label_smoothing=self._smoothing,
        )

    def tally(self) -> Tally:
        return Tally(self._classes)

    def counts(self, tally: Tally) -> dict[str, float]:
        return {"correct": tally.right}

    def train_metrics(self, sums: Sums, weight: int) -> dict[str, float]:
        return {"train_accuracy": sums.counts.get("correct", 0) / weight}

    def evaluation(self, tally: Tally) -> Evaluation:
        return Evaluation(
            {"val_loss": tally.loss, "val_accuracy": tally.accuracy},
            order=(-tally.accuracy, tally.loss),
            details={"per_class": tally.per_class()},
        )


class SeveralLabels(Objective):
    """Binary cross-entropy of each label, averaged over labels; the best epoch has the highest mean
    average precision, then the lowest loss. The thresholds are those that suit validation best."""

    counted = ("hits", "misses", "false_alarms")
    columns = (
        Column("train loss", "train_loss", ">10.4f"),
        Column("val loss", "val_loss", ">8.4f"),
        Column("val mAP", "val_map", ">7.1%"),
        Column("val F1", "val_micro_f1", ">6.1%"),
    )

    def __init__(self, images: ImageSet, config: TrainConfig) -> None:
        self._labels = len(images.classes)
        self._smoothing = config.label_smoothing
        self._positive: Tensor | None = None
        if config.class_weights == "auto":
            counts = np.maximum(images.counts(), 1)
            weights = (len(images) - counts) / counts
            self._positive = engine.from_numpy(np.clip(weights, 1, 100).astype(np.float32))

    def loss(self, logits: Tensor, labels: NDArray[Any], reduction: str) -> Tensor:
        # As much to each label as smoothing gives to each class where there is one a picture.
        targets = labels * (1 - self._smoothing) + self._smoothing / self._labels
        losses = F.binary_cross_entropy_with_logits(
            logits,
            engine.asarray(targets.astype(np.float32), device=logits.device),
            reduction="none",
            pos_weight=_beside(logits, self._positive),
        )
        each = losses.mean(axis=1)
        return each.sum() if reduction == "sum" else each

    def tally(self) -> LabelTally:
        return LabelTally(self._labels)

    def counts(self, tally: LabelTally) -> dict[str, float]:
        said, has = tally.probabilities >= 0.5, tally.truth > 0
        return {
            "hits": float((said & has).sum()),
            "misses": float((~said & has).sum()),
            "false_alarms": float((said & ~has).sum()),
        }

    def train_metrics(self, sums: Sums, weight: int) -> dict[str, float]:
        return {"train_f1": f1_of(*(sums.counts.get(name, 0) for name in self.counted))}

    def evaluation(self, tally: LabelTally) -> Evaluation:
        scores = tally.scores()
        mean = mean_average_precision(scores)
        return Evaluation(
            {
                "val_loss": tally.loss,
                "val_map": mean,
                "val_micro_f1": micro_f1(scores),
                "val_macro_f1": macro_f1(scores),
            },
            order=(-mean, tally.loss),
            details={"labels": [score.to_dict() for score in scores]},
        )


def objective_for(images: ImageSet, config: TrainConfig) -> Objective:
    """What to train on these pictures.

    >>> type(objective_for(zoo.demo.load_digits(), TrainConfig())).__name__     # doctest: +SKIP
    'OneClass'
    """
    return (SeveralLabels if images.several else OneClass)(images, config)


def _beside(logits: Tensor, weights: Tensor | None) -> Tensor | None:
    return None if weights is None else weights.to(logits.device)
