"""A learning rate to start from: the range test of Smith, arXiv:1506.01186, section 3.3."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import hub
from engine.optim import Scheduler, clip_grad_norm_
from zoo.train.average import replaced_state
from zoo.train.errors import TrainError
from zoo.train.loop_config import LoopConfig
from zoo.train.task import Task

_LOWEST, _HIGHEST = 1e-6, 10.0  # rates that are tried
_STEPS = 100
_SMOOTHING = 0.9  # of the losses: what each keeps of those before
_WORSE = 4.0  # the test ends where the loss is so many times the least
_BELOW_LEAST = 10.0  # the suggestion is so much below the rate of the least loss
_FEWEST = 5  # steps that a suggestion needs


class NoRateFound(TrainError):
    """The test saw too little to suggest a learning rate."""


@dataclass(frozen=True)
class RateTest:
    """What a range test saw.

    Attributes:
        rates: learning rate of each step.
        losses: smoothed loss of each step.
        suggestion: a tenth of the rate at which the smoothed loss was least.
    """

    rates: tuple[float, ...]
    losses: tuple[float, ...]
    suggestion: float


@dataclass(frozen=True)
class _Rising:
    """From the lowest rate to the highest, by the same factor each step."""

    steps: int

    def lr_at(self, step: int) -> float:
        return _LOWEST * (_HIGHEST / _LOWEST) ** (step / (self.steps - 1))


def range_test(task: Task, config: LoopConfig, epoch: int, steps: int = _STEPS) -> RateTest:
    """Train for a few steps at rising rates, then take all of it back.

    Args:
        task: left as it was.
        config: of the run; its `lr` has no part in the result.
        epoch: from which to take what is frozen, and the batches.
        steps: to take at most.

    Raises:
        NoRateFound: the loss was not finite from the start, or there are too few batches.

    >>> range_test(task, config, epoch=0).suggestion      # doctest: +SKIP
    0.0042
    """
    rates: list[float] = []
    losses: list[float] = []
    mean = 0.0
    with task, replaced_state(task.model, {}):
        task.start_epoch(epoch)
        optimizer = task.make_optimizer()
        scheduler = Scheduler(optimizer, _Rising(steps))
        while len(rates) < steps:
            batches = task.batches(epoch, 0)
            try:
                for number, batch in enumerate(batches):
                    weight = task.batch_weights[number]
                    sums = task.backward([batch], weight)
                    norm = clip_grad_norm_(
                        task.model.parameters(), config.clip_norm or math.inf,
                        error_if_nonfinite=False,
                    )  # fmt: skip
                    if not sums.finite or not math.isfinite(norm):
                        return _result(rates, losses)
                    mean = _SMOOTHING * mean + (1 - _SMOOTHING) * sums.loss / weight
                    rates.append(scheduler.lr)
                    losses.append(mean / (1 - _SMOOTHING ** len(rates)))
                    if losses[-1] > _WORSE * min(losses) or len(rates) == steps:
                        return _result(rates, losses)
                    optimizer.step()
                    optimizer.zero_grad()
                    scheduler.step()
            finally:
                batches.close()
                optimizer.zero_grad()
    return _result(rates, losses)


def find_lr(
    model: str,
    data: str | os.PathLike[str],
    *,
    plot: str | os.PathLike[str],
    weights: str | os.PathLike[str] = "default",
    recipe: str | os.PathLike[str] = "auto",
    strict: bool = False,
    say: Callable[[str], None] = print,
    show_progress: bool = False,
    **settings: Any,
) -> RateTest:
    """Suggest a learning rate for what `finetune` with the same arguments would train, and draw
    what was seen. Where a run trains the last layer first, the rate is for all layers.

    Args:
        plot: PNG file to draw to.
        The others are those of `zoo.train.finetune`.

    Raises:
        NoRateFound: see `range_test`; and what `finetune` raises.

    >>> find_lr("resnet18", "pets", plot="lr.png").suggestion     # doctest: +SKIP
    0.0042
    """
    from zoo.train.picture_task import PictureTask
    from zoo.train.run import settle

    start = settle(model, data, weights, recipe, None, strict, say, show_progress, settings)
    config = start.plan.config
    task = PictureTask(start.network, start.prepared.train, start.prepared.val, config)
    found = range_test(task, config, epoch=config.epochs - 1)
    with hub.atomic_file(plot) as file:
        draw_rates(found, file, f"{model}: loss at rising learning rates")
    say(
        f"The loss was least near {found.suggestion * _BELOW_LEAST:.2g}; a tenth of that is a good "
        f"start: --lr {found.suggestion:.2g}\nDrawn in {os.fspath(plot)}"
    )
    return found


def draw_rates(found: RateTest, file: BinaryIO, title: str) -> None:
    """Draw losses over rates, PNG."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    axes.plot(found.rates, found.losses, color="#d1495b", linewidth=1.8)
    label = f"suggested: {found.suggestion:.2g}"
    axes.axvline(found.suggestion, color="#1b998b", linewidth=1.5, linestyle="--", label=label)
    axes.set_xscale("log")
    axes.set_ylim(0, min(max(found.losses), 2 * found.losses[0]) * 1.05)
    axes.set_xlabel("learning rate")
    axes.set_ylabel("loss, smoothed")
    axes.set_title(title, loc="left", fontsize=10)
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9)
    figure.savefig(file, format="png")


def _result(rates: Sequence[float], losses: Sequence[float]) -> RateTest:
    if len(rates) < _FEWEST:
        raise NoRateFound(
            f"the loss was not finite after {len(rates)} steps at the lowest learning rates "
            f"(from {_LOWEST:g}); check the pictures and the weights"
        )
    lowest = min(range(len(losses)), key=losses.__getitem__)
    return RateTest(tuple(rates), tuple(losses), rates[lowest] / _BELOW_LEAST)
