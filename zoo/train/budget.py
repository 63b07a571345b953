"""Shorter recipes where time is short."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from zoo.data import PreparedFolder
from zoo.train.config import TrainConfig
from zoo.train.estimate import threads_of
from zoo.train.parts import head_epochs
from zoo.train.planning import Plan, described, rounded

if TYPE_CHECKING:
    from zoo.models.image_model import ImageModel


def within_budget(plan: Plan, network: ImageModel, prepared: PreparedFolder) -> Plan:
    """`plan` with as many epochs as fit into `plan.config.minutes`, or with the last layer alone
    where not even one epoch of all layers does and there are pretrained weights; a note says so.

    >>> within_budget(plan, model, prepared).config.epochs     # doctest: +SKIP
    5
    """
    limit = 60 * plan.config.minutes
    if limit == 0 or plan.seconds <= limit:
        return plan
    shorter = list(_shorter(plan.config, pretrained=network.source["sha256"] is not None))
    if not shorter:
        return replace(plan, notes=(*plan.notes, _too_long(plan.seconds, plan.config)))
    sizes = len(prepared.train), len(prepared.val)
    threads = threads_of(plan.config)
    timed = [(plan.estimate.seconds(config, *sizes, threads), config) for config in shorter]
    seconds, config = next(((s, c) for s, c in timed if s <= limit), timed[-1])
    note = (
        f"All {plan.config.epochs} epochs would take about {rounded(plan.seconds)}; these are as "
        f"many as fit into {plan.config.minutes:g} min"
    )
    if seconds > limit:
        note = _too_long(seconds, config)
    return replace(
        plan,
        config=config,
        seconds=seconds,
        description=described(network, config),
        notes=(*plan.notes, note),
    )


def _too_long(seconds: float, config: TrainConfig) -> str:
    return (
        f"This will take about {rounded(seconds)}, more than the {config.minutes:g} min that were "
        "given: take a smaller model, or smaller pictures with --size"
    )


def _shorter(config: TrainConfig, pretrained: bool) -> Iterator[TrainConfig]:
    """Configurations that take less and less time."""
    head = head_epochs(config)
    for epochs in range(config.epochs - 1, head, -1):
        yield replace(config, epochs=epochs)
    if pretrained and config.freeze != "backbone":
        yield replace(config, freeze="backbone", epochs=max(head, min(config.epochs, 4)), views=1)
