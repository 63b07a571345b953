"""Learning rates: pure functions of the step, and the object that sets them."""

from __future__ import annotations

import math

import pytest

import engine
from engine.nn import Parameter
from engine.optim import SGD, Scheduler
from engine.optim.schedule import ConstantLR, CosineLR, LinearWarmup, OneCycleLR, Schedule, StepLR

FIELD_CASE = StepLR(100.0, step_size=4, gamma=0.1)


def optimizer(lr: float = 100.0) -> SGD:
    return SGD([("w", Parameter(engine.zeros(1)))], lr=lr)


def rates(schedule: Schedule, steps: int) -> list[float]:
    return [schedule.lr_at(step) for step in range(steps)]


def test_step_lr_drops_by_gamma() -> None:
    assert rates(FIELD_CASE, 7) == [100, 100, 100, 100, 10, 10, 10]


def test_cosine_follows_its_formula_and_then_stays() -> None:
    schedule = CosineLR(2.0, total_steps=10, final_lr=0.5)
    for step in range(10):
        assert schedule.lr_at(step) == 0.5 + 1.5 * (1 + math.cos(math.pi * step / 10)) / 2
    assert rates(schedule, 14)[10:] == [0.5] * 4


def test_one_cycle_rises_peaks_and_falls() -> None:
    schedule = OneCycleLR(1.0, total_steps=100, pct_start=0.3, div=20, final_div=1e3)
    r = rates(schedule, 101)
    assert r[0] == pytest.approx(1 / 20) and r[30] == 1.0 and r[100] == pytest.approx(1e-3)
    assert r[:31] == sorted(r[:31]) and r[30:] == sorted(r[30:], reverse=True)


def test_one_cycle_may_only_fall_or_only_rise() -> None:
    falling = rates(OneCycleLR(1.0, total_steps=8, pct_start=0.0), 8)
    rising = rates(OneCycleLR(1.0, total_steps=8, pct_start=1.0), 8)
    assert falling[0] == 1.0 and falling == sorted(falling, reverse=True)
    assert rising[0] == pytest.approx(1 / 25) and rising == sorted(rising)


def test_warm_up_is_a_straight_line_to_what_follows() -> None:
    schedule = LinearWarmup(CosineLR(1.0, total_steps=6), steps=4)
    assert rates(schedule, 5) == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])
    assert schedule.lr_at(7) == CosineLR(1.0, total_steps=6).lr_at(3)


def test_warm_up_of_no_steps_changes_nothing() -> None:
    assert rates(LinearWarmup(FIELD_CASE, steps=0), 7) == rates(FIELD_CASE, 7)


@pytest.mark.parametrize("schedule", [FIELD_CASE, CosineLR(100.0, total_steps=7)])
def test_a_resumed_run_has_the_rates_of_a_straight_one(schedule: Schedule) -> None:
    """Field case C-04."""

    def run(scheduler: Scheduler, epochs: int) -> list[float]:
        seen = []
        for _ in range(epochs):
            seen.append(scheduler.optimizer.param_groups[0]["lr"])
            scheduler.step()
        return seen

    straight = run(Scheduler(optimizer(), schedule), 7)
    stopped = Scheduler(optimizer(), schedule)
    first = run(stopped, 3)
    resumed = Scheduler(optimizer(), schedule)
    resumed.optimizer.load_state_dict(stopped.optimizer.state_dict())
    resumed.load_state_dict(stopped.state_dict())
    assert first + run(resumed, 4) == straight


def test_groups_keep_the_ratio_of_their_rates() -> None:
    groups = [
        {"params": [("body", Parameter(engine.zeros(1)))], "lr": 1.0},
        {"params": [("head", Parameter(engine.zeros(1)))]},
    ]
    scheduler = Scheduler(SGD(groups, lr=10.0), StepLR(10.0, step_size=1, gamma=0.5))
    scheduler.step()
    assert [g["lr"] for g in scheduler.optimizer.param_groups] == [0.5, 5.0]


def test_a_group_added_later_is_scheduled_too() -> None:
    scheduler = Scheduler(optimizer(), FIELD_CASE)
    scheduler.optimizer.add_param_group({"params": [("v", Parameter(engine.zeros(1)))], "lr": 50.0})
    scheduler.step()
    assert [g["lr"] for g in scheduler.optimizer.param_groups] == [100, 50]


def test_the_first_rate_is_set_at_once() -> None:
    scheduler = Scheduler(optimizer(), LinearWarmup(ConstantLR(100.0), steps=3))
    assert scheduler.lr == scheduler.optimizer.param_groups[0]["lr"] == 25.0


@pytest.mark.parametrize("state", [{}, {"steps": -1, "ratios": [1.0]}, {"steps": 1, "ratios": []}])
def test_a_state_that_does_not_fit_is_refused(state: dict) -> None:
    with pytest.raises(ValueError, match="Scheduler"):
        Scheduler(optimizer(), FIELD_CASE).load_state_dict(state)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: ConstantLR(-1.0), "lr=-1.0"),
        (lambda: StepLR(1.0, step_size=0), "step_size=0"),
        (lambda: CosineLR(1.0, total_steps=0), "total_steps=0"),
        (lambda: CosineLR(float("inf"), total_steps=1), "lr=inf"),
        (lambda: OneCycleLR(1.0, total_steps=5, pct_start=1.5), "pct_start=1.5"),
        (lambda: OneCycleLR(1.0, total_steps=5, div=0.0), "div=0.0"),
        (lambda: LinearWarmup(ConstantLR(1.0), steps=-1), "steps=-1"),
        (lambda: ConstantLR(1.0).lr_at(-1), "step=-1"),
    ],
)
def test_impossible_schedules_are_refused(make, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
