"""The training loop, the only one.

Everything that a run does follows from its configuration, its data and its starting weights: the
batches of an epoch from (seed, epoch, number), the learning rate from the step, what is frozen from
the epoch. `Progress` and the tensors are all the state there is, so a run that is stopped anywhere
and resumed ends with the same weights, bit for bit. What is in a batch, what is descended and what
is measured is the business of a `Task`; who is told of it, that of callbacks.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import engine
from engine.optim import Scheduler, clip_grad_norm_
from zoo.data.errors import DataError
from zoo.placement import device_of
from zoo.stored import RUN_WEIGHTS
from zoo.train.average import WeightAverage, full_state, replaced_state
from zoo.train.callbacks import Callback, LogCallback, Terminal
from zoo.train.checkpoint import Checkpoint, Checkpoints
from zoo.train.errors import Interrupted, TrainingDiverged, quoted
from zoo.train.finite import all_finite, not_finite
from zoo.train.loop_config import LoopConfig
from zoo.train.progress import Best, Progress
from zoo.train.stop import StopRequest
from zoo.train.task import Evaluation, Task

if TYPE_CHECKING:
    from engine.nn import Module


# Epochs on features that are there already take milliseconds: a checkpoint after each would take
# most of the time. The time between two has no influence on what comes out.
_SAVE_SECONDS = 5.0


class _Halt(Exception):
    """Validation shall stop."""


@dataclass
class Trainer:
    """Trains a model and keeps what it learned.

    Args:
        task: what is trained; the weights of its model are the starting point.
        config: how to train.
        out: an existing folder; gets `model.safetensors`, `last/` and `metrics.jsonl`.
        origin: facts on the run that do not change (model name, source of the weights, data, ...),
            plain JSON values; stored with every checkpoint.
        say: called with each line that a person should see.
        show_progress: draw a progress bar on the error stream, where that is a terminal.
        callbacks: told what happens, after the log and the terminal; see `zoo.train.callbacks`.

    >>> Trainer(task, TrainConfig(), out, origin={}).fit()     # doctest: +SKIP
    """

    task: Task
    config: LoopConfig
    out: Path
    origin: dict[str, Any]
    say: Callable[[str], None] = print
    show_progress: bool = False
    callbacks: Sequence[Callback] = ()
    progress: Progress = field(default_factory=Progress, init=False)
    step_weight: int = field(default=0, init=False)  # samples or tokens of the latest step

    def __post_init__(self) -> None:
        self.ranks = self.task.ranks
        self.ranks.start(self.model)
        sharded = self.config.shard_optimizer == "on"
        self.optimizer = self.ranks.optimizer(self.task.make_optimizer(), sharded)
        self.checkpoints = Checkpoints(self.out / "last")
        steps_per_epoch = -(-len(self.task.batch_weights) // self.config.accumulation)
        self.total_steps = steps_per_epoch * self.config.epochs
        self.scheduler = Scheduler(self.optimizer, self.task.make_schedule(steps_per_epoch))
        if self.config.precision != "float32" and device_of(self.model).type == "cpu":
            self.say(
                f"Note: precision {self.config.precision} is for GPUs; on a CPU it gives their "
                "numbers, but takes longer than float32"
            )
        self.scaler = engine.amp.GradScaler(enabled=self.config.precision == "float16")
        self._saved = 0.0  # when the last checkpoint was written
        self._unsaved_best: dict[str, Any] | None = None
        self.average: WeightAverage | None = None
        if self.config.average != "none":
            self.average = WeightAverage(self.model, self.config.average, self.config.ema_decay)
        self._told: list[Callback] = []
        if self.ranks.rank == 0:
            log, terminal = LogCallback(self.out / "metrics.jsonl"), Terminal(self.show_progress)
            self._told = [log, terminal, *self.callbacks]

    @property
    def model(self) -> Module:
        """What is trained."""
        return self.task.model

    def restore(self, checkpoint: Checkpoint) -> None:
        """Take over the state of a checkpoint that the same task and configuration wrote.

        Raises:
            ForeignCheckpoint: it is of another form; what was taken over by then is of no use.
        """
        with checkpoint.understood():
            self.task.load_tensors(checkpoint.tensors("model"))
            self.optimizer.load_state_dict(
                {**checkpoint.state["optimizer"], "state": checkpoint.nested("optimizer")}
            )
            self.scheduler.load_state_dict(checkpoint.state["scheduler"])
            self.scaler.load_state_dict(checkpoint.state.get("scaler", {}))
            self.progress = Progress.from_dict(checkpoint.state["progress"])
            if self.average is not None:
                self.average.load(checkpoint.tensors("average"), self.progress.averaged)
            rng = checkpoint.state["rng"]
            self.ranks.set_rng_state(
                checkpoint.state.get("rng_of_ranks", [[rng["seed"], rng["offset"]]])
            )

    def go_on(self, checkpoint: Checkpoint) -> Progress:
        """`restore` a checkpoint, say where it stands, and `fit`.

        Raises:
            Interrupted, TrainingDiverged, CannotSave: as `fit`.
        """
        self.restore(checkpoint)
        done = self.progress
        self.say(
            f"Resuming {self.out} after step {done.step} of {self.total_steps}, "
            f"{done.epoch} of {self.config.epochs} epochs complete"
        )
        return self.fit()

    def fit(self) -> Progress:
        """Train from wherever `progress` stands to the end of the last epoch.

        Raises:
            Interrupted: SIGINT or SIGTERM came; the state was saved.
            TrainingDiverged: too many steps in a row were not finite, or no epoch's weights were.
            CannotSave: the disk is full, or the like; the checkpoint before is intact.
            zoo.data.DataError: what is trained on was deleted, changed or damaged; the state was
                saved.
            MemoryError: there is too little; the state was saved.
        """
        p = self.progress
        self._started = time.perf_counter() - p.seconds
        self.task.stop_if_asked = self._stop_if_asked
        self.task.show_progress = self.show_progress
        started: list[Callback] = []
        try:
            with StopRequest(quiet=self.ranks.rank > 0) as self._stop, self.task:
                for callback in self._told:
                    started.append(callback)
                    callback.on_start(self)
                if p.step == 0:
                    self._save()  # now, because a disk that cannot take it is better known now
                while p.epoch < self.config.epochs and not p.ended:
                    self._train_epoch()
                    self._finish_epoch()
        finally:
            for callback in reversed(started):
                callback.on_end(self)
        if p.best is None:
            raise self._diverged("the validation loss or a weight was not finite after every epoch")
        return p

    def end_early(self, reason: str) -> None:
        """Let the present epoch be the last one; `reason` is kept and told."""
        self.progress.ended = reason

    def _train_epoch(self) -> None:
        p, config = self.progress, self.config
        with self._saved_on_failure():
            self.task.start_epoch(p.epoch)
        self.ranks.watch(
            self.model, narrow=config.exchange == "bfloat16", synced=self.task.synced_norms
        )
        self._tell("on_epoch_start")
        batches = self.task.batches(p.epoch, p.batch)
        batch_count = len(self.task.batch_weights)
        try:
            while p.batch < batch_count:
                started = time.perf_counter()
                with self._saved_on_failure():
                    group = list(islice(batches, config.accumulation))
                self._step(group)
                p.batch += len(group)
                p.train_seconds += time.perf_counter() - started
                p.epoch_seconds += time.perf_counter() - started
                if p.step % config.save_every == 0 and p.batch < batch_count:
                    self._save()
                self._stop_if_asked()
        finally:
            batches.close()

    def _step(self, group: list[Any]) -> None:
        """One step of the optimizer on the mean loss over all samples of `group`."""
        p, config = self.progress, self.config
        lr = self.scheduler.lr
        weights = self.task.batch_weights[p.batch : p.batch + len(group)]
        weight = sum(weights)
        # A batch that is not finite would spoil the running averages of batch norm as well.
        buffers = [(buffer, buffer.clone()) for buffer in self.model.buffers()]
        drawn = engine.get_rng_state()
        self.task.loss_scale = self.scaler.get_scale()
        with self._saved_on_failure():
            try:
                here = sum(len(range(*self.ranks.part(w).indices(w))) for w in weights)
                sums = self.ranks.finish(self.task.backward(group, weight), self.task.counted, here)
            except MemoryError:  # as if the step had not begun, so that it can be tried again
                for buffer, before in buffers:
                    buffer.copy_(before)
                engine.set_rng_state(drawn)
                self.optimizer.zero_grad()
                raise
        norm = math.nan
        if sums.finite:
            self.scaler.unscale_(self.optimizer)
            longest = config.clip_norm or math.inf
            norm = clip_grad_norm_(self.model.parameters(), longest, error_if_nonfinite=False)
        culprit = "" if math.isfinite(norm) else not_finite(self.model, sums.finite)
        p.step += 1
        if math.isfinite(norm):
            self.optimizer.step()
            if self.average is not None and self.average.kind == "ema":
                self.average.update()
            p.add(sums, weight)
            p.skipped_in_a_row = 0
        else:
            for buffer, before in buffers:
                buffer.copy_(before)
            if not sums.finite or self.scaler.get_scale() <= 1:
                p.skipped += 1
                p.skipped_in_a_row += 1
            # Else a smaller scale of float16's gradients may be all that is missing: no bad step.
        self.scaler.update()
        self.optimizer.zero_grad()
        self.scheduler.step()
        p.seen += weight
        self.step_weight = weight
        row = {
            "kind": "step",
            "step": p.step,
            "epoch": p.epoch + 1,
            "lr": lr,
            "loss": sums.loss / weight if sums.finite else math.nan,
            "grad_norm": norm,
            "skipped": bool(culprit),
            **({"not_finite": culprit} if culprit else {}),
            **({"loss_scale": self.task.loss_scale} if self.scaler.is_enabled() else {}),
        }
        self._tell("on_step", row)
        if p.skipped_in_a_row == config.max_bad_steps:
            self._save_best()
            raise self._diverged(
                f"{culprit} was not finite, and {p.skipped_in_a_row} steps in a row were skipped "
                f"for such a cause (steps {p.step - p.skipped_in_a_row + 1} to {p.step}, learning "
                f"rate {lr:.3g})"
            )

    def _finish_epoch(self) -> None:
        """Validate, keep the weights if they are the best so far, save, and move on."""
        p, config = self.progress, self.config
        self._tell("on_validation")
        try:
            with self._saved_on_failure():
                found, improved = self._validate()
        except _Halt:
            self._stop_if_asked()  # here, where the model has its own weights again
            raise
        p.stale = 0 if improved else p.stale + 1
        if config.patience and p.stale >= config.patience:
            self.end_early(f"no improvement for {p.stale} epochs")
        self._tell("on_epoch", self._epoch_row(found, improved))
        p.ended = self.ranks.same(p.ended)  # those who are told may have ended it
        p.next_epoch()
        over = p.epoch == config.epochs or p.ended != ""
        if self.ranks.any(over or time.perf_counter() - self._saved > _SAVE_SECONDS):
            self._save()

    def _validate(self) -> tuple[Evaluation, bool]:
        """How good the weights are, or their average, and whether they are the best so far; those
        are kept."""
        p, average = self.progress, self.average
        first = math.floor(self.config.swa_start * self.config.epochs)
        swa = average is not None and average.kind == "swa" and p.epoch >= first
        if average is not None and swa and average.count <= p.epoch - first:
            average.update()  # unless a stopped validation has done so before
        averaged = average.tensors() if average is not None and average.count else {}
        with replaced_state(self.model, averaged):
            self.task.refresh(self._halt_if_asked)
            found = self.task.evaluate(lambda _: self._halt_if_asked())
            best = Best.of(p.epoch + 1, p.step, found)
            # The loss alone does not tell: behind a variance that overflowed, all is a finite 0.
            improved = best.beats(p.best) and not self.ranks.any(not all_finite(self.model))
            if improved:
                p.best = best
                self._unsaved_best = full_state(self.model) if self.ranks.rank == 0 else None
        return found, improved

    def _save_best(self) -> None:
        """Write the best weights, if they are not on the disk yet."""
        if self._unsaved_best is None:
            return
        assert self.progress.best is not None
        with replaced_state(self.model, self._unsaved_best):
            self.task.save_weights(self.out / RUN_WEIGHTS, self.origin, self.progress.best)
        self._unsaved_best = None

    def _epoch_row(self, found: Evaluation, improved: bool) -> dict[str, Any]:
        p = self.progress
        seen = max(p.weight, 1)  # 0 where every step was skipped
        done = sum(self.task.batch_weights)
        return {
            "kind": "epoch",
            "epoch": p.epoch + 1,
            "step": p.step,
            "lr": self.scheduler.schedule.lr_at(p.step - 1),
            "train_loss": p.loss_sum / seen,
            **self.task.train_metrics(p.sums(), seen),
            **found.metrics,
            "best": improved,
            f"{self.task.counted_in(p.epoch)}_per_second": (
                done / p.epoch_seconds if p.epoch_seconds else 0.0
            ),
            "seconds": time.perf_counter() - self._started,
        }

    def _save(self) -> None:
        """Write a checkpoint from which `restore` goes on exactly here."""
        p = self.progress
        p.seconds = time.perf_counter() - self._started
        self._save_best()  # first: a checkpoint that knows of them must find them
        self._tell("on_save")
        optimizer = self.optimizer.state_dict()
        rng_of_ranks = self.ranks.rng_states()
        if self.ranks.rank:  # rank 0 writes
            self._saved = time.perf_counter()
            return
        state: dict[str, Any] = {
            "origin": self.origin,
            "config": self.config.to_dict(),
            "progress": asdict(p),
            "rng": engine.get_rng_state(),
            "optimizer": {k: v for k, v in optimizer.items() if k != "state"},
            "scheduler": self.scheduler.state_dict(),
        }
        if self.scaler.is_enabled():
            state["scaler"] = self.scaler.state_dict()
        if self.ranks.size > 1:
            state["rng_of_ranks"] = rng_of_ranks
        tensors = {f"model/{name}": t for name, t in self.task.tensors().items()}
        for name, slots in optimizer["state"].items():
            tensors |= {f"optimizer/{name}/{slot}": t for slot, t in slots.items()}
        if self.average is not None:
            p.averaged = self.average.count
            state["progress"] = asdict(p)
            tensors |= {f"average/{name}": t for name, t in self.average.tensors().items()}
        self.checkpoints.save(p.epoch, p.step, tensors, state)
        self._saved = time.perf_counter()

    def _tell(self, event: str, *facts: Any) -> None:
        for callback in self._told:
            getattr(callback, event)(self, *facts)

    def _stop_if_asked(self) -> None:
        if self.ranks.any(self._stop.requested):
            self._save()
            raise Interrupted(
                f"stopped in epoch {self.progress.epoch + 1} of {self.config.epochs}, after step "
                f"{self.progress.step} of {self.total_steps}; everything is saved.\n"
                f"To go on, type: zoo finetune --resume {quoted(self.out)}"
            )

    def _halt_if_asked(self) -> None:
        if self.ranks.any(self._stop.requested):
            raise _Halt

    @contextlib.contextmanager
    def _saved_on_failure(self) -> Iterator[None]:
        """Save the state where what the block needs is not to be had, and say so. A block that
        fails must leave the state as it was before."""
        try:
            yield
        except (DataError, MemoryError) as error:
            if self.ranks.size > 1:
                raise  # saving takes all ranks, and the others are elsewhere
            self._save()
            error.args = (
                f"{error}\nThe run is saved as it was after step {self.progress.step} of "
                f"{self.total_steps}. With that mended, type: zoo finetune --resume "
                f"{quoted(self.out)}",
            )
            raise

    def _diverged(self, what: str) -> TrainingDiverged:
        return TrainingDiverged(
            f"{what}; the run ends here.\n"
            f"The last checkpoint is {self.checkpoints.newest_path()}. Start again with a lower "
            f"rate, for example: --lr {self.config.lr / 10:.3g}"
        )
