"""Metrics for TensorBoard, beside `metrics.jsonl`; needs the extra `zoo[tensorboard]`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zoo.train.callbacks import Callback
from zoo.train.errors import TrainError

if TYPE_CHECKING:
    from zoo.train.trainer import Trainer

_OF_STEPS = ("loss", "lr", "grad_norm")
_NO_METRICS = ("kind", "epoch", "step", "lr", "best", "seconds")


class MissingExtra(TrainError):
    """A package that an optional part of zoo needs is not installed."""


class TensorBoard(Callback):
    """Writes loss, learning rate and gradient norm of each step, and the metrics of each epoch.

    A resumed run goes on in the same folder; what it is going to write again is hidden.

    Args:
        folder: to write to; None takes the folder `tensorboard` of the run.

    Raises:
        MissingExtra: on construction, where the extra is not installed.

    >>> zoo.finetune("resnet18", "pets", callbacks=[TensorBoard()])      # doctest: +SKIP
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        try:
            import tensorboardX
        except ImportError as error:
            raise MissingExtra(
                "TensorBoard logs need a package that is not installed. Type: "
                "pip install 'zoo[tensorboard]'"
            ) from error
        self._writer_class = tensorboardX.SummaryWriter
        self.folder = None if folder is None else Path(folder)

    def on_start(self, trainer: Trainer) -> None:
        folder = trainer.out / "tensorboard" if self.folder is None else self.folder
        done = trainer.progress.step
        self._writer = self._writer_class(
            str(folder), purge_step=done + 1 if done else None, write_to_disk=True
        )

    def on_step(self, trainer: Trainer, row: dict[str, Any]) -> None:
        self._add("step", {name: row[name] for name in _OF_STEPS}, row["step"])

    def on_epoch(self, trainer: Trainer, row: dict[str, Any]) -> None:
        metrics = {name: value for name, value in row.items() if name not in _NO_METRICS}
        self._add("epoch", metrics, row["step"])

    def on_save(self, trainer: Trainer) -> None:
        self._writer.flush()

    def on_end(self, trainer: Trainer) -> None:
        self._writer.close()

    def _add(self, group: str, values: dict[str, Any], step: int) -> None:
        for name, value in values.items():
            if isinstance(value, int | float) and math.isfinite(value):
                self._writer.add_scalar(f"{group}/{name}", value, step)
