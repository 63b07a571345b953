"""Who is told what a run does: the metrics log, the terminal, and whatever a caller adds.

A callback is an object with some of the methods of `Callback`; what they get is the `Trainer`,
whose `progress`, `task`, `config` and `out` may be read. They must not draw from the engine's
random numbers, or a resumed run would see others. What they raise ends the run; the state of the
last checkpoint stays.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hub.progress import progress_bar
from zoo.train.log import MetricsLog

if TYPE_CHECKING:
    from zoo.train.trainer import Trainer


class Callback:
    """Base class whose methods do nothing. Rows are those of `metrics.jsonl`.

    To end a run early, call `trainer.end_early(reason)`: it validates, keeps its best weights and
    finishes as if the present epoch had been the last.

    >>> class Printer(Callback):
    ...     def on_epoch(self, trainer, row):
    ...         print(row["epoch"], row["val_loss"])
    """

    def on_start(self, trainer: Trainer) -> None:
        """Once, before the first step, of a resumed run as well."""

    def on_epoch_start(self, trainer: Trainer) -> None:
        """Before the first batch of an epoch, or where a resumed run goes on in the midst of it."""

    def on_step(self, trainer: Trainer, row: dict[str, Any]) -> None:
        """After each step: "step" and "epoch" (from 1), "lr", "loss", "grad_norm", "skipped"."""

    def on_validation(self, trainer: Trainer) -> None:
        """After the last batch of an epoch, before validation."""

    def on_epoch(self, trainer: Trainer, row: dict[str, Any]) -> None:
        """After validation: "epoch" (from 1), "step", "lr", "train_loss", metrics of the task with
        "val_loss" among them, "best" (whether these weights are the best so far), "seconds"."""

    def on_save(self, trainer: Trainer) -> None:
        """Before each checkpoint is written."""

    def on_end(self, trainer: Trainer) -> None:
        """Once, however the run ends."""


class LogCallback(Callback):
    """Keeps `metrics.jsonl`. A resumed run first drops the rows that it is going to write again.

    >>> LogCallback(Path("run1/metrics.jsonl")).path.name
    'metrics.jsonl'
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def on_start(self, trainer: Trainer) -> None:
        done = trainer.progress
        self._log = MetricsLog(self.path)
        self._log.keep(
            lambda row: (
                row["step"] <= done.step and (row["kind"] == "step" or row["epoch"] <= done.epoch)
            )
        )

    def on_step(self, trainer: Trainer, row: dict[str, Any]) -> None:
        self._log.append(row)

    def on_epoch(self, trainer: Trainer, row: dict[str, Any]) -> None:
        self._log.append(row)

    def on_save(self, trainer: Trainer) -> None:
        self._log.sync()

    def on_end(self, trainer: Trainer) -> None:
        self._log.close()


class Terminal(Callback):
    """A bar on the error stream, and a table with a line for each epoch.

    Args:
        show_progress: draw the bar; see hub.progress.

    >>> Terminal(show_progress=False).show_progress
    False
    """

    def __init__(self, show_progress: bool) -> None:
        self.show_progress = show_progress
        self._open = ExitStack()

    def on_start(self, trainer: Trainer) -> None:
        task, done = trainer.task, trainer.progress
        each = sum(task.batch_weights)
        self._bar = self._open.enter_context(
            progress_bar(
                show=self.show_progress,
                total=trainer.config.epochs * each,
                initial=done.epoch * each + sum(task.batch_weights[: done.batch]),
                unit=f" {task.unit}",
                dynamic_ncols=True,
                leave=False,
            )
        )
        if done.epoch < trainer.config.epochs:
            titles = "".join(f"  {c.title:>{width_of(c.form)}}" for c in task.columns)
            rate = f"{task.unit}/s"
            self._say(trainer, f"epoch  {titles}  {'lr':>7}  {rate:>8}  {'time':>5}")

    def on_epoch_start(self, trainer: Trainer) -> None:
        self._bar.set_description(self._epoch(trainer), refresh=False)

    def on_step(self, trainer: Trainer, row: dict[str, Any]) -> None:
        self._bar.set_postfix_str(f"loss {row['loss']:.3f}, lr {row['lr']:.2g}", refresh=False)
        self._bar.update(trainer.step_weight)

    def on_validation(self, trainer: Trainer) -> None:
        self._bar.set_description(f"{self._epoch(trainer)}, validating")

    def on_epoch(self, trainer: Trainer, row: dict[str, Any]) -> None:
        from tqdm import tqdm

        cells = "".join(f"  {format(row[c.key], c.form)}" for c in trainer.task.columns)
        rate = row.get(f"{trainer.task.unit}_per_second")
        # Of an epoch that looks up what was computed before, it would be no speed of the model.
        speed = "cached" if rate is None else f"{rate:.1f}"
        self._say(
            trainer,
            f"{row['epoch']:>3}/{trainer.config.epochs:<3}{cells}  {row['lr']:>7.2g}  "
            f"{speed:>8}  "
            f"{tqdm.format_interval(row['seconds'])}{' best' if row['best'] else ''}",
        )
        if trainer.progress.ended:
            self._say(trainer, f"Ended here: {trainer.progress.ended}")

    def on_end(self, trainer: Trainer) -> None:
        self._open.close()

    def _epoch(self, trainer: Trainer) -> str:
        return f"epoch {trainer.progress.epoch + 1}/{trainer.config.epochs}"

    def _say(self, trainer: Trainer, line: str) -> None:
        from tqdm import tqdm

        with tqdm.external_write_mode():  # the bar steps aside for the line
            trainer.say(line)


def width_of(form: str) -> int:
    """The width that a format specification asks for.

    >>> width_of(">10.4f")
    10
    """
    return int(form.lstrip("<>").partition(".")[0])
