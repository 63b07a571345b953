"""What a run is going to do, said before it does it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from engine import Device
from zoo.data import Audit, PreparedFolder
from zoo.placement import device_of
from zoo.train.config import TrainConfig
from zoo.train.estimate import (
    FEATURE_BATCH,
    Estimate,
    Memory,
    estimate,
    fitting,
    free_bytes,
    threads_of,
)
from zoo.train.parts import head_epochs
from zoo.train.report import duration

if TYPE_CHECKING:
    from zoo.models.image_model import ImageModel
    from zoo.train.text_config import TextConfig

_Config = TypeVar("_Config", "TrainConfig", "TextConfig")


@dataclass(frozen=True)
class Forecast:
    """What is said of any run before it begins.

    Attributes:
        seconds: that the run will take, about.
        memory: the most bytes that the process will hold, about.
        description: of the model and how it is trained, one string a line.
        notes: what was changed, or may go wrong.
    """

    seconds: float
    memory: float
    description: tuple[str, ...]
    notes: tuple[str, ...]

    def lines(self) -> list[str]:
        """The plan for people, one string a line; without the audit."""
        return [*self.description, *self.notes, f"About {self._cost}"]

    @property
    def _cost(self) -> str:
        return f"{rounded(self.seconds)} and {self.memory / 2**30:.1f} GiB of memory"


@dataclass(frozen=True, repr=False)
class Plan(Forecast):
    """What a run on pictures is going to do.

    Attributes:
        audit: of the pictures.
        config: the settings; batches are smaller than asked for where they would not fit.
        estimate: what was measured.
    """

    audit: Audit
    config: TrainConfig
    estimate: Estimate

    def __repr__(self) -> str:
        audit, epochs = self.audit, self.config.epochs
        pictures = sum(audit.train_counts) + sum(audit.val_counts)
        return (
            f"<zoo plan: {epochs} epoch{'s' if epochs > 1 else ''} on {pictures} pictures in "
            f"{len(audit.classes)} classes, about {self._cost}>"
        )


def make_plan(network: ImageModel, prepared: PreparedFolder, config: TrainConfig) -> Plan:
    """Measure a few steps and say what a run comes to; the network is left as it was.

    >>> print(*make_plan(model, prepared, TrainConfig()).lines(), sep="\\n")     # doctest: +SKIP
    """
    found = estimate(network, prepared.train, config)
    train, val = len(prepared.train), len(prepared.val)
    notes: list[str] = []
    trains_all = head_epochs(config) < config.epochs
    if trains_all:
        config, notes = to_fit(
            found,
            config,
            train + val,
            device_of(network),
            least=2,
            too_large="Even batches of two may not fit into the {free} of memory that are free. "
            "Take a smaller model, or smaller pictures with --size.",
            cost="as many pictures a step, but batch norms see fewer at once",
        )
    return Plan(
        seconds=found.seconds(config, train, val, threads_of(config)),
        memory=found.memory(config.batch_size if trains_all else FEATURE_BATCH, train + val),
        description=described(network, config),
        notes=tuple(notes),
        audit=prepared.audit,
        config=config,
        estimate=found,
    )


def to_fit(
    found: Memory,
    config: _Config,
    items: int,
    device: Device,
    *,
    least: int,
    too_large: str,
    cost: str,
) -> tuple[_Config, list[str]]:
    """The configuration with batches that fit into the memory that is free, and what to say of it.

    Args:
        found: what was measured.
        config: how to train.
        items: pictures or tokens.
        device: whose memory it is.
        least: the smallest batch.
        too_large: what to say where even that does not fit, with {free} in it.
        cost: what smaller batches change.
    """
    free = free_bytes(device)
    room = fitting(found, config, items, free, least)
    if room is None:
        return config, [too_large.format(free=f"{free / 2**30:.1f} GiB")]
    if room[0] == config.batch_size:
        return config, []
    asked = found.memory(config.batch_size, items)
    note = (
        f"Batches of {config.batch_size} would take about {asked / 2**30:.1f} GiB; "
        f"{free / 2**30:.1f} GiB are free. So batches of {room[0]}, {room[1]} of them added up "
        f"for a step: {cost}."
    )
    return replace(config, batch_size=room[0], accumulation=room[1]), [note]


def described(network: ImageModel, config: TrainConfig) -> tuple[str, ...]:
    """What is going to be trained and how, one string a line.

    >>> described(model, TrainConfig())[-1]      # doctest: +SKIP
    '8 epochs, the first 4 of the last layer alone, batches of 16, 224x224 pixels, ...'
    """
    side, head = network.preprocessing.size, head_epochs(config)
    first = f", the first {head} of the last layer alone" if 0 < head < config.epochs else ""
    if head == config.epochs:
        first = ", of the last layer alone"
    return (
        f"{network.arch}, {network.num_parameters / 1e6:.1f} million parameters, starting "
        f"from {network.source['name']}",
        *network.notices,
        f"{config.epochs} epoch{'s' if config.epochs > 1 else ''}{first}, batches of "
        f"{config.batch_size}, {side}x{side} pixels, {config.optimizer} with learning rate "
        f"{config.lr:g}",
    )


def rounded(seconds: float) -> str:
    """An estimate of seconds in words that promise no more than it can.

    >>> rounded(3.2), rounded(47), rounded(4000)
    ('5 s', '50 s', '1 h 5 min')
    """
    if seconds < 60:
        step = 5 if seconds < 20 else 10
    else:
        step = 60 if seconds < 3600 else 300
    return duration(max(step * -(-seconds // step), step))
