"""How long a run will take and how much memory it will need, from a few steps that are measured
and then forgotten."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol

import numpy as np

import engine
from engine import Device
from engine.nn import functional as F
from zoo.data import ImageSet, sample_rng
from zoo.data.loader import DEFAULT_CACHE_BYTES, PictureCache, view_of
from zoo.data.threads import default_threads
from zoo.placement import device_of, wait_for
from zoo.train.config import TrainConfig
from zoo.train.inference import forward
from zoo.train.parts import augmentation, freeze_for_epoch, head_epochs, set_training_mode
from zoo.train.precision import mixed

if TYPE_CHECKING:
    from engine.nn import Module
    from zoo.models.image_model import ImageModel
    from zoo.train.text_config import TextConfig

_SMALL = 2  # pictures of the smaller step that is measured; batch norms need two
_MOST = 16  # of the larger one
FEATURE_BATCH = 16  # pictures at once where the last layer alone is trained
_SECONDS = 1.5  # that the larger one may take, where it has a choice
_DECODED = 12  # pictures that are decoded to see how long it takes
CPU = Device("cpu")
_SHARE = 0.85  # of the free memory that a run may plan to take


@dataclass(frozen=True)
class Estimate:
    """What was measured. Times are of one picture, in seconds.

    Attributes:
        forward: through the model, as in validation.
        step: through a training step, all layers trained; 0 where no epoch does that.
        read: from its file to a view, on one thread.
        view: from its decoded picture to a view, on one thread.
        picture_bytes: of a decoded picture as it is kept in memory.
        step_bytes, image_bytes: memory of a training step, and of each picture in its batch.
        resident_bytes: what the process held when it was measured.
        fixed_bytes: of what the optimizer keeps, and of the best weights.
    """

    forward: float
    step: float
    read: float
    view: float
    picture_bytes: float
    step_bytes: float
    image_bytes: float
    resident_bytes: float
    fixed_bytes: float

    def seconds(self, config: TrainConfig, train: int, val: int, threads: int) -> float:
        """Wall time of a run over `train` and `val` pictures, all epochs and the report.

        Threads that decode and the engine share the same cores, so their times add up.
        """
        head = head_epochs(config)
        full = config.epochs - head
        read, view = self.read / threads, self.view / threads
        total = val * (read + self.forward)  # the report
        if head:
            views = min(config.views, head)
            total += (train * views + val) * (read + self.forward)
        if full:
            kept = min(DEFAULT_CACHE_BYTES / max(self.picture_bytes * (train + val), 1), 1.0)
            later = kept * view + (1 - kept) * read
            total += train * (full * self.step + read + (full - 1) * later)
            total += val * (full * self.forward + read + (full - 1) * (1 - kept) * read)
        return total

    def memory(self, batch_size: int, pictures: int) -> float:
        """The most memory that the process will hold, in bytes."""
        return self.resident_bytes + self.more(batch_size, pictures)

    def more(self, batch_size: int, pictures: int) -> float:
        """The part of `memory` that it does not hold yet."""
        cache = min(DEFAULT_CACHE_BYTES, self.picture_bytes * pictures)
        return self.fixed_bytes + self.step_bytes + self.image_bytes * batch_size + cache


def estimate(model: ImageModel, train: ImageSet, config: TrainConfig) -> Estimate:
    """Measure a few steps. The model, its gradients and the engine's random numbers are afterwards
    what they were before.

    Args:
        model: with `preprocessing` set.
        train: pictures to train on.
        config: how to train.

    >>> estimate(zoo.load("resnet50"), images, TrainConfig()).image_bytes / 2**20  # doctest: +SKIP
    110.4
    """
    read, view, picture_bytes = _reading(model, train, config)
    trains_all = head_epochs(config) < config.epochs
    with undone(model):
        seconds, first = _measured(model, config, _SMALL, trains_all)
        fitting = int(_SECONDS / max(2 * seconds / _SMALL, 1e-9))
        large = min(max(fitting, 2 * _SMALL), _MOST, max(config.batch_size, 2 * _SMALL))
        _, second = _measured(model, config, large, trains_all)
        step = _measured(model, config, large, trains_all)[0] / large if trains_all else 0.0
        forward_seconds = _measured(model, config, large, trains_all=False)[0] / large
    image_bytes = max(second - first, 0.0) / (large - _SMALL)
    parameters = sum(4 * p.size for p in model.parameters())
    # What the optimizer keeps of each parameter, and the best weights until they are written.
    kept = (2 if config.optimizer == "adamw" else 1) + 1 + (config.average != "none")
    return Estimate(
        forward=forward_seconds,
        step=step,
        read=read,
        view=view,
        picture_bytes=picture_bytes,
        step_bytes=max(first - image_bytes * _SMALL, 0.0),
        image_bytes=image_bytes,
        resident_bytes=resident_bytes(device_of(model)),
        fixed_bytes=kept * parameters,
    )


class Memory(Protocol):
    """What was found out about the memory of a run."""

    def memory(self, batch_size: int, items: int, /) -> float:
        """The most that the process will hold, in bytes, with `items` to train on."""

    def more(self, batch_size: int, items: int, /) -> float:
        """The part of it that it does not hold yet."""


def fitting(
    found: Memory, config: TrainConfig | TextConfig, items: int, free: float, least: int = _SMALL
) -> tuple[int, int] | None:
    """(batch size, accumulation) that fit into `free` bytes beside what the process holds, with as
    many items a step as before; None where even batches of `least` do not fit.

    >>> found = Estimate(0, 0, 0, 0, 0, 0, 100.0, 0, 0)
    >>> fitting(found, TrainConfig(batch_size=16), 1000, free=1000.0 / 0.85)
    (8, 2)
    """
    batch_size, accumulation = config.batch_size, config.accumulation
    while found.more(batch_size, items) > _SHARE * free:
        if batch_size <= least:
            return None
        batch_size = max(-(-batch_size // 2), least)
        accumulation *= 2
    return batch_size, accumulation


def free_bytes(device: Device = CPU) -> float:
    """Memory that this process may still take, in bytes: what the machine or the GPU has free, or
    what its control group (a container, a batch job) leaves; infinity where that cannot be known.
    """
    if device != CPU:
        return float(engine.cuda.mem_get_info(device)[0])
    free = float("inf")
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    free = float(line.split()[1]) * 1024
    except OSError:
        if hasattr(os, "sysconf") and "SC_AVPHYS_PAGES" in os.sysconf_names:
            free = float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    limit, used = (_number(f"/sys/fs/cgroup/memory.{name}") for name in ("max", "current"))
    return free if limit is None or used is None else min(free, max(limit - used, 0.0))


def resident_bytes(device: Device = CPU) -> float:
    """Memory that this process holds now on the machine or the GPU, in bytes; 0 where that cannot
    be known."""
    if device != CPU:
        return float(engine.memory_stats(device)["reserved_bytes"])
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return float(int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE"))
    except OSError:
        return 0.0


def _number(path: str) -> float | None:
    try:
        with open(path, encoding="ascii") as file:
            return float(file.read())
    except (OSError, ValueError):  # no such file, or the word max
        return None


@contextmanager
def undone(model: Module) -> Iterator[None]:
    """Restores buffers, modes, what requires gradients, and the engine's random numbers."""
    buffers = [(buffer, buffer.clone()) for buffer in model.buffers()]
    wanted = [(p, p.requires_grad) for p in model.parameters()]
    modes = [(module, module.training) for module in model.modules()]
    state = engine.get_rng_state()
    try:
        yield
    finally:
        for buffer, before in buffers:
            buffer.copy_(before)
        for parameter, required in wanted:
            parameter.requires_grad = required
            parameter.grad = None
        for module, training in modes:
            module.training = training
        engine.set_rng_state(state)


def _measured(
    model: ImageModel, config: TrainConfig, count: int, trains_all: bool
) -> tuple[float, float]:
    """(seconds, bytes) of one step on `count` pictures of noise."""
    side = model.preprocessing.size
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (count, side, side, 3), dtype=np.uint8)
    labels = np.arange(count, dtype=np.int64) % len(model.classes)
    before = engine.memory_stats(device_of(model))["allocated_bytes"]
    engine.reset_peak_memory_stats(device_of(model))
    started = time.perf_counter()
    if trains_all:
        freeze_for_epoch(model, config, config.epochs - 1)
        set_training_mode(model, config)
        with mixed(config, model):
            logits = forward(model, images, model.preprocessing)
            loss = F.cross_entropy(logits, engine.asarray(labels, device=logits.device))
        loss.backward()
    else:
        model.eval()
        with engine.no_grad():
            forward(model, images, model.preprocessing)
    wait_for(device_of(model))
    seconds = time.perf_counter() - started
    taken = engine.memory_stats(device_of(model))["peak_allocated_bytes"] - before
    for parameter in model.parameters():
        parameter.grad = None
    return seconds, float(taken)


def _reading(model: ImageModel, train: ImageSet, config: TrainConfig) -> tuple[float, float, float]:
    """Seconds from file to view and from decoded picture to view, and bytes of a decoded one."""
    transform = augmentation(config, model.preprocessing)
    chosen = np.unique(np.linspace(0, len(train) - 1, _DECODED).astype(int)).tolist()
    read = view = size = 0.0
    for index in chosen:
        cache = PictureCache(2**40)
        times = []
        for _ in range(2):  # from the file, then from the decoded picture
            started = time.perf_counter()
            view_of(train, index, transform, partial(sample_rng, 0, 0, index), cache)
            times.append(time.perf_counter() - started)
        read, view = read + times[0], view + times[1]
        size += cache.held
    return read / len(chosen), view / len(chosen), size / len(chosen)


def threads_of(config: TrainConfig) -> int:
    """How many threads read pictures in a run with this configuration."""
    return config.threads or default_threads()
