"""How long a run on text will take and how much memory it will need, from a few steps that are
measured and then forgotten."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

import engine
from engine import nn
from engine.optim import AdamW
from zoo.placement import beside, device_of, wait_for
from zoo.train.estimate import resident_bytes, undone
from zoo.train.precision import mixed
from zoo.train.samples import SAMPLE_TOKENS
from zoo.train.text_config import TextConfig

if TYPE_CHECKING:
    from zoo.models.text_model import TextModel

_SECONDS = 1.0  # that the larger step which is measured may take, where it has a choice
_UPDATED = 1 << 22  # parameters of the update that is measured: more than caches hold


@dataclass(frozen=True)
class TextEstimate:
    """What was measured. Times are of one token, in seconds.

    Attributes:
        forward: through the model, as in validation.
        step: through a training step, without the update.
        update: of all trained parameters, once a step.
        decode: of one token that is written.
        block: tokens of a block.
        step_bytes, token_bytes: memory of a training step, and of each token in its batch.
        resident_bytes: what the process held when it was measured.
        fixed_bytes: of what the optimizer keeps, and of the best weights.
    """

    forward: float
    step: float
    update: float
    decode: float
    block: int
    step_bytes: float
    token_bytes: float
    resident_bytes: float
    fixed_bytes: float

    def seconds(self, config: TextConfig, train: int, val: int) -> float:
        """Wall time of a run over `train` and `val` tokens: all epochs, the score before them and
        samples."""
        steps = -(-train // (self.block * config.batch_size * config.accumulation))
        epoch = train * self.step + steps * self.update + val * self.forward
        samples = (config.epochs + 2) * SAMPLE_TOKENS * self.decode
        return config.epochs * epoch + val * self.forward + samples

    def memory(self, batch_size: int, tokens: int) -> float:
        """The most memory that the process will hold, in bytes; the text is mapped, not held."""
        return self.resident_bytes + self.more(batch_size, tokens)

    def more(self, batch_size: int, tokens: int) -> float:
        """The part of `memory` that it does not hold yet."""
        batch = min(batch_size * self.block, tokens)
        return self.fixed_bytes + self.step_bytes + self.token_bytes * batch


def estimate_text(model: TextModel, tokens: int, config: TextConfig) -> TextEstimate:
    """Measure a few steps. The model, its gradients and the engine's random numbers are afterwards
    what they were before.

    Args:
        model: with the adapters and frozen layers that the configuration asks for.
        tokens: to train on.
        config: as `TextConfig.fitted` gives it.

    >>> estimate_text(zoo.load("gpt2"), 100_000, TextConfig()).token_bytes / 2**20  # doctest: +SKIP
    1.9
    """
    block = min(config.block_size, tokens - 1)
    half = max(block // 2, 1)
    with undone(model):
        seconds, first = _measured(model, config, 1, half, trained=True)
        rows = min(max(int(_SECONDS / max(2 * seconds, 1e-9)), 1), config.batch_size)
        step, second = _measured(model, config, rows, block, trained=True)
        forward, _ = _measured(model, config, rows, block, trained=False)
        decode, _ = _measured(model, config, 1, 1, trained=False)
    token_bytes = max(second - first, 0.0) / max(rows * block - half, 1)
    sizes = [(p.size, p.requires_grad) for p in model.parameters()]
    everything = sum(size for size, _ in sizes)
    trained = sum(size for size, wanted in sizes if wanted)
    # Two moments of each trained parameter, and the best weights until they are written.
    fixed = 4 * (2 * trained + everything * (1 + (config.average != "none")))
    return TextEstimate(
        forward=forward / (rows * block),
        step=step / (rows * block),
        update=_update_seconds() * trained / _UPDATED,
        decode=decode,
        block=block,
        step_bytes=max(first - token_bytes * half, 0.0),
        token_bytes=token_bytes,
        resident_bytes=resident_bytes(device_of(model)),
        fixed_bytes=fixed,
    )


def _measured(
    model: TextModel, config: TextConfig, rows: int, length: int, *, trained: bool
) -> tuple[float, float]:
    """(seconds, bytes) of one step on blocks of random tokens."""
    drawn = np.random.default_rng(0).integers(0, model.vocab, (rows, length))
    (ids,) = beside(model, drawn)
    before = engine.memory_stats(device_of(model))["allocated_bytes"]
    engine.reset_peak_memory_stats(device_of(model))
    started = time.perf_counter()
    if trained:
        model.train()
        with mixed(config, model):
            loss = model.loss(ids, ids)
        loss.backward()
    else:
        model.eval()
        with engine.no_grad():
            model.loss(ids, ids)
    wait_for(device_of(model))
    seconds = time.perf_counter() - started
    taken = engine.memory_stats(device_of(model))["peak_allocated_bytes"] - before
    for parameter in model.parameters():
        parameter.grad = None
    return seconds, float(taken)


def _update_seconds() -> float:
    """Of one update of `_UPDATED` parameters; the first makes the moments and is not counted."""
    parameter = nn.Parameter(engine.zeros(_UPDATED))
    parameter.grad = engine.zeros(_UPDATED)
    optimizer = AdamW([parameter], lr=0.0)
    optimizer.step()
    started = time.perf_counter()
    optimizer.step()
    return time.perf_counter() - started
