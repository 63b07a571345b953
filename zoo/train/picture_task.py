"""Classifying pictures, as a task for the training loop."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

import engine
from engine.nn import functional as F
from zoo.data import Batch, ImageSet, Loader
from zoo.data.loader import epoch_batches
from zoo.train.config import TrainConfig
from zoo.train.inference import evaluate, forward
from zoo.train.metrics import Tally
from zoo.train.parts import (
    augmentation,
    freeze_for_epoch,
    make_optimizer,
    make_schedule,
    set_training_mode,
)
from zoo.train.progress import Best
from zoo.train.saved import save_weights
from zoo.train.task import Column, Evaluation, Sums, Task

if TYPE_CHECKING:
    from engine.optim import Optimizer
    from engine.optim.schedule import Schedule
    from zoo.models.image_model import ImageModel


class PictureTask(Task):
    """Sort pictures into classes; the epoch of the highest accuracy is kept, then of the lowest
    loss.

    Args:
        model: with `preprocessing` and `classes` set.
        train, val: pictures, with the classes of the model.
        config: how to train.

    >>> Trainer(PictureTask(model, train, val, config), config, out, origin={}).fit()
    ... # doctest: +SKIP
    """

    unit = "images"
    columns = (
        Column("train loss", "train_loss", ">10.4f"),
        Column("train acc", "train_accuracy", ">9.1%"),
        Column("val loss", "val_loss", ">10.4f"),
        Column("val acc", "val_accuracy", ">7.1%"),
    )

    def __init__(
        self, model: ImageModel, train: ImageSet, val: ImageSet, config: TrainConfig
    ) -> None:
        self.model: ImageModel = model
        self.train = train
        self.val = val
        self.config = config
        batches = epoch_batches(len(train), config.batch_size, training=True)
        self.batch_weights = [len(batch) for batch in batches]
        threads = config.threads or None
        self._train_loader = Loader(
            train,
            augmentation(config, model.preprocessing),
            config.batch_size,
            training=True,
            seed=config.seed,
            threads=threads,
        )
        self._val_loader = Loader(val, model.preprocessing, config.batch_size, threads=threads)

    def make_optimizer(self) -> Optimizer:
        return make_optimizer(self.model, self.config)

    def make_schedule(self, steps_per_epoch: int) -> Schedule:
        return make_schedule(self.config, steps_per_epoch * self.config.epochs)

    def start_epoch(self, epoch: int) -> None:
        freeze_for_epoch(self.model, self.config, epoch)
        set_training_mode(self.model)

    def batches(self, epoch: int, start: int) -> Generator[Batch, None, None]:
        return self._train_loader.epoch(epoch, start_batch=start)

    def backward(self, group: Sequence[Batch], weight: int) -> Sums:
        """What is descended has smoothed targets; what is reported has not, so that training and
        validation can be compared."""
        tally = Tally(len(self.train.classes))
        share = engine.asarray(np.float32(1 / weight))
        for batch in group:
            logits = forward(self.model, batch.images, self.model.preprocessing)
            loss = F.cross_entropy(
                logits,
                engine.from_numpy(batch.labels),
                reduction="sum",
                label_smoothing=self.config.label_smoothing,
            )
            tally.add(logits.detach().numpy(), batch.labels)
            if not math.isfinite(loss.item()):
                return Sums(finite=False)
            loss.backward(share)
        return Sums(tally.loss_sum, counts={"correct": tally.right})

    def train_metrics(self, sums: Sums, weight: int) -> dict[str, float]:
        return {"train_accuracy": sums.counts.get("correct", 0) / weight}

    def evaluate(self, on_batch: Callable[[int], None]) -> Evaluation:
        tally = evaluate(self.model, self._val_loader, on_batch)
        return Evaluation(
            {"val_loss": tally.loss, "val_accuracy": tally.accuracy},
            order=(-tally.accuracy, tally.loss),
            details={"per_class": tally.per_class()},
        )

    def save_weights(self, path: Path, origin: Mapping[str, Any], best: Best) -> None:
        save_weights(
            path,
            self.model,
            recipe=self.config.recipe(),
            origin=origin,
            result={"epoch": best.epoch, "step": best.step, **best.metrics},
        )

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._train_loader.close()
        self._val_loader.close()
