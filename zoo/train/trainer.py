"""The training loop, the only one.

Everything that a run does follows from its configuration, its pictures and its starting weights:
the order of pictures and their random views from (seed, epoch, sample), the learning rate from the
step, what is frozen from the epoch. `Progress` and the tensors are all the state there is, so a run
that is stopped anywhere and resumed ends with the same weights, bit for bit.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import engine
from engine.nn import functional as F
from engine.optim import Scheduler, clip_grad_norm_
from zoo.data import Batch, ImageSet, Loader
from zoo.data.loader import epoch_batches
from zoo.stored import RUN_WEIGHTS
from zoo.train.checkpoint import Checkpoint, Checkpoints
from zoo.train.config import TrainConfig
from zoo.train.errors import Interrupted, TrainingDiverged, quoted
from zoo.train.inference import evaluate, forward
from zoo.train.log import MetricsLog
from zoo.train.metrics import Tally
from zoo.train.parts import (
    augmentation,
    freeze_for_epoch,
    make_optimizer,
    make_schedule,
    set_training_mode,
)
from zoo.train.progress import Best, Progress
from zoo.train.saved import save_weights
from zoo.train.stop import StopRequest

if TYPE_CHECKING:
    from zoo.models.image_model import ImageModel


_TABLE_HEAD = "epoch    train loss  train acc    val loss  val acc        lr  images/s     time"


@dataclass
class Trainer:
    """Trains a model and keeps what it learned.

    Args:
        model: with `preprocessing` and `classes` set; its weights are the starting point.
        train, val: pictures, with the classes of the model.
        config: how to train.
        out: an existing folder; gets `model.safetensors`, `last/` and `metrics.jsonl`.
        origin: facts on the run that do not change (model name, source of the weights, data, ...),
            plain JSON values; stored with every checkpoint.
        say: called with each line that a person should see.
        show_progress: draw a progress bar on the error stream, where that is a terminal.

    >>> Trainer(model, train, val, TrainConfig(), out, origin={}).fit()     # doctest: +SKIP
    """

    model: ImageModel
    train: ImageSet
    val: ImageSet
    config: TrainConfig
    out: Path
    origin: dict[str, Any]
    say: Callable[[str], None] = print
    show_progress: bool = False
    progress: Progress = field(default_factory=Progress, init=False)

    def __post_init__(self) -> None:
        config, preprocessing = self.config, self.model.preprocessing
        self.optimizer = make_optimizer(self.model, config)
        self.checkpoints = Checkpoints(self.out / "last")
        sizes = epoch_batches(len(self.train), config.batch_size, training=True)
        self._batch_sizes = [len(batch) for batch in sizes]
        steps_per_epoch = -(-len(sizes) // config.accumulation)
        self.total_steps = steps_per_epoch * config.epochs
        self.scheduler = Scheduler(self.optimizer, make_schedule(config, self.total_steps))
        threads = config.threads or None
        self._train_loader = Loader(
            self.train,
            augmentation(config, preprocessing),
            config.batch_size,
            training=True,
            seed=config.seed,
            threads=threads,
        )
        self._val_loader = Loader(self.val, preprocessing, config.batch_size, threads=threads)

    def restore(self, checkpoint: Checkpoint) -> None:
        """Take over the state of a checkpoint that the same model and configuration wrote."""
        self.model.load_state_dict(checkpoint.tensors("model"))
        self.optimizer.load_state_dict(
            {**checkpoint.state["optimizer"], "state": checkpoint.nested("optimizer")}
        )
        self.scheduler.load_state_dict(checkpoint.state["scheduler"])
        self.progress = Progress.from_dict(checkpoint.state["progress"])
        engine.set_rng_state(checkpoint.state["rng"])

    def fit(self) -> Progress:
        """Train from wherever `progress` stands to the end of the last epoch.

        Raises:
            Interrupted: SIGINT or SIGTERM came; the state was saved.
            TrainingDiverged: too many steps in a row were not finite.
            CannotSave: the disk is full, or the like; the checkpoint before is intact.
        """
        p = self.progress
        self._started = time.perf_counter() - p.seconds
        self._log = MetricsLog(self.out / "metrics.jsonl")
        self._log.keep(
            lambda row: row["step"] <= p.step and (row["kind"] == "step" or row["epoch"] <= p.epoch)
        )
        try:
            with StopRequest() as self._stop, self._train_loader, self._val_loader:
                with self._open_bar() as self._bar:
                    if p.step == 0:
                        self._save()  # now, because a disk that cannot take it is better known now
                    if p.epoch < self.config.epochs:
                        self._say(_TABLE_HEAD)
                    while p.epoch < self.config.epochs:
                        self._train_epoch()
                        self._finish_epoch()
        finally:
            self._log.close()
        return p

    def _open_bar(self) -> AbstractContextManager[Any]:
        from tqdm import tqdm

        return tqdm(
            total=self.config.epochs * len(self.train),
            initial=self.progress.epoch * len(self.train)
            + sum(self._batch_sizes[: self.progress.batch]),
            unit=" images",
            dynamic_ncols=True,
            leave=False,
            disable=None if self.show_progress else True,
        )

    def _train_epoch(self) -> None:
        p, config = self.progress, self.config
        freeze_for_epoch(self.model, config, p.epoch)
        set_training_mode(self.model)
        self._bar.set_description(f"epoch {p.epoch + 1}/{config.epochs}", refresh=False)
        batches = self._train_loader.epoch(p.epoch, start_batch=p.batch)
        try:
            while p.batch < len(self._batch_sizes):
                started = time.perf_counter()
                group = list(islice(batches, config.accumulation))
                self._step(group)
                p.batch += len(group)
                p.train_seconds += time.perf_counter() - started
                if p.step % config.save_every == 0 and p.batch < len(self._batch_sizes):
                    self._save()
                self._stop_if_asked()
        finally:
            batches.close()

    def _step(self, group: list[Batch]) -> None:
        """One step of the optimizer on the mean loss over all samples of `group`."""
        p, config = self.progress, self.config
        lr = self.scheduler.lr
        samples = sum(len(batch.labels) for batch in group)
        # A batch that is not finite would spoil the running averages of batch norm as well.
        buffers = [(buffer, buffer.clone()) for buffer in self.model.buffers()]
        tally, finite = self._backward(group, samples)
        norm = math.nan
        if finite:
            longest = config.clip_norm or math.inf
            norm = clip_grad_norm_(self.model.parameters(), longest, error_if_nonfinite=False)
        p.step += 1
        if math.isfinite(norm):
            self.optimizer.step()
            p.loss_sum += tally.loss_sum
            p.correct += tally.right
            p.samples += samples
            p.skipped_in_a_row = 0
        else:
            for buffer, before in buffers:
                buffer.copy_(before)
            p.skipped += 1
            p.skipped_in_a_row += 1
        self.optimizer.zero_grad()
        self.scheduler.step()
        p.images += samples
        loss = tally.loss
        self._log.append(
            {
                "kind": "step",
                "step": p.step,
                "epoch": p.epoch + 1,
                "lr": lr,
                "loss": loss,
                "grad_norm": norm,
                "skipped": not math.isfinite(norm),
            }
        )
        self._bar.set_postfix_str(f"loss {loss:.3f}, lr {lr:.2g}", refresh=False)
        self._bar.update(samples)
        if p.skipped_in_a_row == config.max_bad_steps:
            raise self._diverged(lr)

    def _backward(self, group: list[Batch], samples: int) -> tuple[Tally, bool]:
        """Add up the gradients of `group`. Gives its loss and accuracy, and whether all was finite.

        What is descended has smoothed targets; what is reported has not, so that training and
        validation can be compared.
        """
        tally = Tally(len(self.train.classes))
        # Each batch contributes its sum, divided by the samples of all: the mean of unequal
        # batches' means would be another number.
        share = engine.asarray(np.float32(1 / samples))
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
                return tally, False
            loss.backward(share)
        return tally, True

    def _finish_epoch(self) -> None:
        """Validate, keep the weights if they are the best so far, save, and move on."""
        p = self.progress
        self._bar.set_description(f"epoch {p.epoch + 1}/{self.config.epochs}, validating")
        tally = evaluate(self.model, self._val_loader, lambda _: self._stop_if_asked())
        best = Best(p.epoch + 1, p.step, tally.accuracy, tally.loss, tally.per_class())
        improved = best.beats(p.best)
        if improved:
            p.best = best
            self._save_best()
        self._report_epoch(tally, improved)
        p.next_epoch()
        self._save()

    def _report_epoch(self, tally: Tally, improved: bool) -> None:
        from tqdm import tqdm

        p = self.progress
        seen = max(p.samples, 1)  # 0 where every step was skipped
        rate = p.images / p.train_seconds if p.train_seconds else 0.0
        row: dict[str, Any] = {
            "kind": "epoch",
            "epoch": p.epoch + 1,
            "step": p.step,
            "lr": self.scheduler.schedule.lr_at(p.step - 1),
            "train_loss": p.loss_sum / seen,
            "train_accuracy": p.correct / seen,
            "val_loss": tally.loss,
            "val_accuracy": tally.accuracy,
            "best": improved,
            "images_per_second": rate,
            "seconds": time.perf_counter() - self._started,
        }
        self._log.append(row)
        clock = tqdm.format_interval(row["seconds"])
        self._say(
            f"{p.epoch + 1:>3}/{self.config.epochs:<3}  {row['train_loss']:>10.4f}  "
            f"{row['train_accuracy']:>9.1%}  {tally.loss:>10.4f}  {tally.accuracy:>7.1%}  "
            f"{row['lr']:>8.2g}  {rate:>8.1f}  {clock}{'  best' if improved else ''}"
        )

    def _save(self) -> None:
        """Write a checkpoint from which `restore` goes on exactly here."""
        self.progress.seconds = time.perf_counter() - self._started
        self._log.sync()
        optimizer = self.optimizer.state_dict()
        state = {
            "origin": self.origin,
            "config": self.config.to_dict(),
            "progress": asdict(self.progress),
            "rng": engine.get_rng_state(),
            "optimizer": {k: v for k, v in optimizer.items() if k != "state"},
            "scheduler": self.scheduler.state_dict(),
        }
        tensors = {f"model/{name}": t for name, t in self.model.state_dict().items()}
        for name, slots in optimizer["state"].items():
            tensors |= {f"optimizer/{name}/{slot}": t for slot, t in slots.items()}
        self.checkpoints.save(self.progress.epoch, self.progress.step, tensors, state)

    def _save_best(self) -> None:
        best = self.progress.best
        assert best is not None
        save_weights(
            self.out / RUN_WEIGHTS,
            self.model,
            recipe=self.config.recipe(),
            origin=self.origin,
            result={
                "epoch": best.epoch,
                "step": best.step,
                "val_accuracy": best.val_accuracy,
                "val_loss": best.val_loss,
            },
        )

    def _stop_if_asked(self) -> None:
        if self._stop.requested:
            self._save()
            raise Interrupted(
                f"stopped in epoch {self.progress.epoch + 1} of {self.config.epochs}, after step "
                f"{self.progress.step} of {self.total_steps}; everything is saved.\n"
                f"To go on, type: zoo finetune --resume {quoted(self.out)}"
            )

    def _diverged(self, lr: float) -> TrainingDiverged:
        p, last = self.progress, self.checkpoints.newest_path()
        return TrainingDiverged(
            f"loss or gradients were not finite for {p.skipped_in_a_row} steps in a row "
            f"(steps {p.step - p.skipped_in_a_row + 1} to {p.step}, learning rate {lr:.3g}), so "
            "these steps were skipped and the run ends here.\n"
            f"The last checkpoint is {last}. Start again with a lower rate, for example: "
            f"--lr {self.config.lr / 10:.3g}"
        )

    def _say(self, line: str) -> None:
        from tqdm import tqdm

        with tqdm.external_write_mode():  # the bar steps aside for the line
            self.say(line)
