"""This machine's figures on a few pieces of work, beside those of a named machine.

Weights are random and data is noise, so nothing is downloaded; what is computed is what real work
computes. The figures beside them are in `assets/published_bench.json`, which is the output of
`zoo bench --json` on the machine that it names. `tests/benchmarks/run.py` is what compares with
PyTorch.
"""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib.resources import files
from typing import Any

import engine
from zoo.train.estimate import free_bytes

Work = Callable[[], object]

_SIDE, _BATCH, _TOKENS = 1024, 16, 24
_PROMPT = "The"


@dataclass(frozen=True)
class Figure:
    """What one piece of work took.

    Attributes:
        name: of the work.
        value: how much of it is done in a second; the median of the rounds. None: it was left out.
        unit: of the value.
        seconds: one round, the median.
        rounds: timed, after one that was not unless it took all the time there was.
        note: why it was left out, or "".

    >>> Figure("matrix product", 120.0, "GFLOP/s", 0.02, 5, "").unit
    'GFLOP/s'
    """

    name: str
    value: float | None
    unit: str
    seconds: float = 0.0
    rounds: int = 0
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)


@dataclass(frozen=True)
class _Row:
    name: str
    unit: str
    amount: float  # units that one round does
    make: Callable[[], Work]
    rounds: int
    bytes: float  # that it needs


def measure(
    say: Callable[[str], None] = lambda name: None, seconds: float = 8.0, total: float = 45.0
) -> Iterator[Figure]:
    """The figures, one after the other.

    Args:
        say: told the name of each piece of work before it starts.
        seconds: to spend on the rounds of each; at least one round is timed.
        total: seconds after which no further work is started.

    >>> [figure.unit for figure in measure()][0]                     # doctest: +SKIP
    'GFLOP/s'
    """
    begun = time.monotonic()
    for row in _ROWS:
        free = free_bytes()
        note = ""
        if free < row.bytes:
            note = f"it needs {row.bytes / 1e9:.1f} GB of memory, {free / 1e9:.1f} GB are free"
        elif time.monotonic() - begun > total:
            note = f"what came before took more than {total:.0f} s"
        if note:
            yield Figure(row.name, None, row.unit, note=note)
            continue
        say(row.name)
        yield _timed(row, seconds)


def _timed(row: _Row, seconds: float) -> Figure:
    work = row.make()
    first = _round(work)  # touches memory for the first time, so it counts only if it must
    times = [first] if first > seconds else []
    while len(times) < row.rounds and (not times or first + sum(times) < seconds):
        times.append(_round(work))
    middle = statistics.median(times)
    return Figure(row.name, row.amount / middle, row.unit, middle, len(times))


def _round(work: Work) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def machine() -> dict[str, Any]:
    """What the figures depend on, as JSON values.

    >>> sorted(machine())[:3]
    ['cpus', 'instruction_set', 'load']
    """
    import zoo
    from zoo.doctor.machine import processor_name, usable_cpus

    return {
        "processor": processor_name(),
        "cpus": usable_cpus(),
        "threads": engine.get_num_threads(),
        "instruction_set": engine.cpu_isa(),
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "zoo": zoo.__version__,
    }


def published() -> dict[str, Any]:
    """The stored figures: "machine" as `machine` gives it, and "figures" by name.

    >>> sorted(published())
    ['figures', 'machine']
    """
    text = (files("zoo") / "assets" / "published_bench.json").read_text("utf-8")
    stored = json.loads(text)
    figures = {row["name"]: row for row in stored["figures"]}
    return {"machine": stored["machine"], "figures": figures}


def _product() -> Work:
    a, b = engine.randn((_SIDE, _SIDE)), engine.randn((_SIDE, _SIDE))

    def work() -> None:
        for _ in range(10):  # one is over in milliseconds
            a @ b  # noqa: B018

    return work


def _resnet50(batch: int) -> Work:
    import zoo

    model = zoo.load("resnet50", weights=None)
    x = engine.randn((batch, 3, 224, 224)).contiguous("channels_last")

    def work() -> object:
        with engine.no_grad():
            return model(x)

    return work


def _resnet50_step() -> Work:
    import zoo
    from engine.nn import functional as F
    from engine.optim import SGD

    model = zoo.load("resnet50", weights=None)
    model.train()
    optimizer = SGD(model.parameters(), lr=0.01, momentum=0.9)
    x = engine.randn((_BATCH, 3, 224, 224)).contiguous("channels_last")
    y = engine.randint(0, 1000, (_BATCH,))

    def work() -> None:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()

    return work


def _gpt2() -> Work:
    import zoo
    from zoo.models.text_model import expect_text

    model = expect_text(zoo.load("gpt2", weights=None))

    def work() -> None:
        (made,) = model.complete([_PROMPT], max_tokens=_TOKENS, stop=())
        assert len(made.tokens) == _TOKENS or made.reason == "end"

    return work


_ROWS = (
    _Row(f"product of two matrices {_SIDE}x{_SIDE}", "GFLOP/s", 20e-9 * _SIDE**3,
         _product, 15, 1e8),
    _Row("ResNet-50, inference, batch 1", "pictures/s", 1, lambda: _resnet50(1), 15, 5e8),
    _Row(f"ResNet-50, inference, batch {_BATCH}", "pictures/s", _BATCH,
         lambda: _resnet50(_BATCH), 7, 1e9),
    _Row(f"ResNet-50, training step, batch {_BATCH}", "pictures/s", _BATCH,
         _resnet50_step, 3, 2.5e9),
    _Row("GPT-2, one text, float32", "tokens/s", _TOKENS, _gpt2, 3, 1.2e9),
)  # fmt: skip
