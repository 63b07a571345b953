"""Learning rates as pure functions of the step, and the object that applies them.

A schedule is a frozen value with one method, `lr_at(step)`: what it returns depends on the step
alone, so a resumed run continues with the numbers of an uninterrupted one. What a step is (a
batch, an epoch) is up to who counts them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from engine.optim.optimizer import Optimizer


class Schedule(Protocol):
    """A learning rate for every step from 0."""

    def lr_at(self, step: int) -> float:
        """The learning rate of that step."""


@dataclass(frozen=True)
class ConstantLR:
    """lr at every step.

    >>> ConstantLR(0.1).lr_at(1000)
    0.1
    """

    lr: float  # learning rate

    def __post_init__(self) -> None:
        _check_rates(self, "lr")

    def lr_at(self, step: int) -> float:
        _check_step(step)
        return self.lr


@dataclass(frozen=True)
class StepLR:
    """lr * gamma^floor(step / step_size).

    >>> [round(StepLR(1.0, step_size=2).lr_at(step), 2) for step in range(5)]
    [1.0, 1.0, 0.1, 0.1, 0.01]
    """

    lr: float  # learning rate at first
    step_size: int  # steps between two drops
    gamma: float = 0.1  # what each drop multiplies the rate by

    def __post_init__(self) -> None:
        _check_rates(self, "lr", "gamma")
        _check_counts(self, "step_size")

    def lr_at(self, step: int) -> float:
        _check_step(step)
        return self.lr * self.gamma ** (step // self.step_size)


@dataclass(frozen=True)
class CosineLR:
    """final_lr + (lr - final_lr) (1 + cos(pi step / total_steps)) / 2, then final_lr (Loshchilov
    and Hutter, arXiv:1608.03983, without restarts).

    >>> [round(CosineLR(1.0, total_steps=4).lr_at(step), 3) for step in range(5)]
    [1.0, 0.854, 0.5, 0.146, 0.0]
    """

    lr: float  # learning rate at step 0
    total_steps: int  # steps until final_lr is reached
    final_lr: float = 0.0  # learning rate at the end

    def __post_init__(self) -> None:
        _check_rates(self, "lr", "final_lr")
        _check_counts(self, "total_steps")

    def lr_at(self, step: int) -> float:
        _check_step(step)
        return _cosine(self.lr, self.final_lr, step / self.total_steps)


@dataclass(frozen=True)
class OneCycleLR:
    """Up from lr / div to lr over the first pct_start of the steps, then down to lr / final_div,
    along half cosines (Smith and Topin, arXiv:1708.07120).

    >>> [round(OneCycleLR(1.0, total_steps=4, pct_start=0.5).lr_at(step), 2) for step in range(5)]
    [0.04, 0.52, 1.0, 0.5, 0.0]
    """

    lr: float  # the highest learning rate
    total_steps: int  # steps until the lowest is reached
    pct_start: float = 0.3  # share of the steps on the way up, 0 to 1
    div: float = 25.0  # lr over the rate at step 0
    final_div: float = 1e5  # lr over the rate at the end

    def __post_init__(self) -> None:
        _check_rates(self, "lr")
        _check_counts(self, "total_steps")
        if not 0 <= self.pct_start <= 1:
            raise ValueError(f"OneCycleLR: pct_start={self.pct_start}; expected a share, 0 to 1")
        if not (self.div >= 1 and self.final_div >= 1):
            raise ValueError(
                f"OneCycleLR: div={self.div}, final_div={self.final_div}; expected 1 or more"
            )

    def lr_at(self, step: int) -> float:
        _check_step(step)
        peak = self.pct_start * self.total_steps
        if step < peak:
            return _cosine(self.lr / self.div, self.lr, step / peak)
        way_down = self.total_steps - peak
        done = (step - peak) / way_down if way_down else 1.0
        return _cosine(self.lr, self.lr / self.final_div, done)


@dataclass(frozen=True)
class LinearWarmup:
    """A straight line up to another schedule's first rate, then that schedule (Goyal et al.,
    arXiv:1706.02677).

    Step s of the warm-up has (s + 1) / (steps + 1) of `after.lr_at(0)`, so that no step is wasted
    on a rate of 0. `after` counts from the end of the warm-up: give it the steps that remain.

    >>> schedule = LinearWarmup(ConstantLR(1.0), steps=3)
    >>> [schedule.lr_at(step) for step in range(5)]
    [0.25, 0.5, 0.75, 1.0, 1.0]
    """

    after: Schedule  # what follows
    steps: int  # length of the warm-up, steps; may be 0

    def __post_init__(self) -> None:
        if self.steps < 0:
            raise ValueError(f"LinearWarmup: steps={self.steps}; expected 0 or more")

    def lr_at(self, step: int) -> float:
        _check_step(step)
        if step < self.steps:
            return self.after.lr_at(0) * (step + 1) / (self.steps + 1)
        return self.after.lr_at(step - self.steps)


class Scheduler:
    """Sets an optimizer's learning rates by a schedule, step by step.

    Each group gets the schedule's rate times its own rate over the optimizer's default one, so
    groups that were given a smaller rate keep the ratio. The rate of step 0 is set at once.

    Args:
        optimizer: whose groups' "lr" is set.
        schedule: the rate of groups that have the default one.

    Attributes:
        steps: how many steps were counted.
        lr: the schedule's rate now.

    >>> optimizer = engine.optim.SGD([engine.nn.Parameter([1.0])], lr=1.0)
    >>> scheduler = Scheduler(optimizer, StepLR(1.0, step_size=1, gamma=0.5))
    >>> scheduler.step()
    >>> optimizer.param_groups[0]["lr"]
    0.5
    """

    def __init__(self, optimizer: Optimizer, schedule: Schedule) -> None:
        default = optimizer.defaults["lr"]
        if default == 0 and any(group["lr"] != 0 for group in optimizer.param_groups):
            raise ValueError(
                "Scheduler: the optimizer's lr is 0, so its groups' rates have no ratio to it; "
                "give the optimizer an lr above 0"
            )
        self.optimizer = optimizer
        self.schedule = schedule
        self.steps = 0
        self._ratios = [
            group["lr"] / default if default else 1.0 for group in optimizer.param_groups
        ]
        self._set()

    @property
    def lr(self) -> float:
        """The schedule's learning rate of the present step."""
        return self.schedule.lr_at(self.steps)

    def step(self) -> None:
        """Counts one step and sets the rate of the next."""
        self.steps += 1
        self._set()

    def state_dict(self) -> dict[str, Any]:
        """{"steps": count, "ratios": each group's rate over the default}."""
        return {"steps": self.steps, "ratios": list(self._ratios)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on from what state_dict() returned, and sets that step's rates.

        Raises:
            ValueError: other keys, a negative count, or another number of groups.
        """
        if set(state) != {"steps", "ratios"} or int(state["steps"]) < 0:
            raise ValueError(
                f"Scheduler: expected a state of 'steps' (0 or more) and 'ratios', got {state!r}"
            )
        if len(state["ratios"]) != len(self.optimizer.param_groups):
            raise ValueError(
                f"Scheduler: the saved state is of {len(state['ratios'])} parameter groups, the "
                f"optimizer has {len(self.optimizer.param_groups)}"
            )
        self.steps = int(state["steps"])
        self._ratios = [float(ratio) for ratio in state["ratios"]]
        self._set()

    def _set(self) -> None:
        groups = self.optimizer.param_groups
        # Groups that were added since have the default rate, unless they set their own.
        default = self.optimizer.defaults["lr"]
        for group in groups[len(self._ratios) :]:
            self._ratios.append(group["lr"] / default if default else 1.0)
        for group, ratio in zip(groups, self._ratios, strict=True):
            group["lr"] = self.lr * ratio


def _cosine(start: float, end: float, done: float) -> float:
    """From start to end along half a cosine; done is the share of the way, and 1 from there on."""
    if done >= 1:
        return end
    return end + (start - end) * (1 + math.cos(math.pi * done)) / 2


def _check_step(step: int) -> None:
    if step < 0:
        raise ValueError(f"lr_at: step={step}; expected 0 or more")


def _check_rates(schedule: Any, *names: str) -> None:
    for name in names:
        value = getattr(schedule, name)
        if not 0 <= value < math.inf:
            raise ValueError(
                f"{type(schedule).__name__}: {name}={value}; expected a number, 0 or more"
            )


def _check_counts(schedule: Any, name: str) -> None:
    value = getattr(schedule, name)
    if value < 1:
        raise ValueError(f"{type(schedule).__name__}: {name}={value}; expected 1 or more")
