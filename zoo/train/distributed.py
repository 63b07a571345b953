"""Training on several ranks: what one process does alone, each does a part of.

Every rank holds the whole model and takes its part of every batch; the loss of each part is divided
by the weight of the whole batch, so gradients that are added up over the ranks are those of one
process, however unequal the parts. Where ranks have to agree (to stop, to skip a step, what the
best epoch is) they ask each other. `Ranks` itself stands for one process: it has nobody to ask.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

import engine
from zoo.placement import chosen_device, host_array
from zoo.train.errors import ConfigError, TrainError

if TYPE_CHECKING:
    from engine.distributed import Group
    from engine.nn import Module
    from engine.optim import Optimizer
    from zoo.train.buckets import GradientBuckets, Overlap
    from zoo.train.out_folder import OutFolder
    from zoo.train.task import Sums

Result = TypeVar("Result")
Say = Callable[[str], None]

LONG_WAIT = 6 * 3600.0  # seconds, where one rank works and the others have nothing to do
_STREAMS = 0x9E3779B97F4A7C15  # between the seeds of two ranks


class RanksDiffer(TrainError):
    """The ranks were started with different data, settings or models."""


class Ranks:
    """One process, which has nothing to share out and nobody to wait for.

    Attributes:
        rank, size: this rank's number, from 0, and how many there are.

    >>> Ranks().part(10)
    slice(0, 10, None)
    """

    rank = 0
    size = 1
    threads: int | None = None  # for each rank, where ranks share a machine

    def part(self, count: int) -> slice:
        """This rank's stretch of `count` things; the stretches differ by one thing at most."""
        return slice(0, count)

    def voice(self, say: Say, show_progress: bool) -> tuple[Say, bool]:
        """How to speak, and whether to draw progress: rank 0 does for all."""
        return say, show_progress

    def lines(self) -> list[str]:
        """What a person should know of the ranks before a run, one string a line."""
        return []

    def device(self, name: str) -> str:
        """Where this rank computes if people ask for the device `name`: with several ranks on a
        machine, each on a GPU of its own.

        Raises:
            ConfigError: the ranks of this machine outnumber its GPUs, or would share one.
            DeviceMissing: there is no such device.
            RanksDiffer: some machines have GPUs, others none.
        """
        return name

    def folder(self, folder: OutFolder) -> AbstractContextManager[Path]:
        """A run's folder, which all ranks have chosen and rank 0 makes."""
        return folder

    def set_timeout(self, seconds: float) -> None:
        """How long to wait for other ranks."""

    def same(self, value: Any) -> Any:
        """Rank 0's value, plain JSON, on every rank."""
        return value

    def agree(self, what: str, value: Any) -> None:
        """Check that all ranks have the same value, plain JSON.

        Raises:
            RanksDiffer: they have not; says `what`, and which rank has another.
        """

    def any(self, flag: bool) -> bool:
        """Whether the flag is set on any rank."""
        return flag

    def sum(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """Sums over the ranks, element by element."""
        return numbers

    def in_turn(self, values: Sequence[float]) -> list[float]:
        """The values of all ranks, where rank r has those of things r, r + size, r + 2 size ..."""
        return list(values)

    def gather(self, numbers: Sequence[int]) -> list[list[int]]:
        """Whole numbers of every rank, by rank; as many on each."""
        return [list(numbers)]

    def stack(self, rows: NDArray[Any], most: int) -> Sequence[NDArray[Any]]:
        """The rows (n, ...) of every rank, by rank; n is up to `most`, and zeros may follow."""
        return [rows]

    def rounds(self, count: int) -> int:
        """How often each rank is asked if `count` things are shared out in turn."""
        return -(-count // self.size)

    def first(self, work: Callable[[], Result]) -> Result:
        """Do something on rank 0, and only then on the others, who find it done."""
        return work()

    def wait(self) -> None:
        """Return when all ranks have come here, however long the others take."""

    def start(self, model: Module) -> None:
        """Give every rank rank 0's parameters and buffers, and random numbers of its own."""

    def watch(self, model: Module, *, narrow: bool, synced: bool) -> None:
        """From now on add up the gradients of those parameters that want some, over all ranks.

        Args:
            narrow: send them as bfloat16.
            synced: batch norms see the whole batch; without, each its rank's part, and their
                running statistics are averaged.
        """

    def arm(self) -> None:
        """The next backward is the last one of this step."""

    def finish(self, sums: Sums, counted: Sequence[str], weight: float) -> Sums:
        """Sums over all ranks, and gradients likewise.

        Args:
            sums: of this rank.
            counted: names of its counts.
            weight: of this rank's part of the step's samples; those without one do not count in
                running statistics.
        """
        return sums

    def average_statistics(self, share: float | None = None) -> None:
        """Make the running statistics of batch norms that are not synchronised the means over the
        ranks.

        Args:
            share: of this rank; None for equal ones.
        """

    def optimizer(self, optimizer: Optimizer, sharded: bool) -> Optimizer:
        """The optimizer to use."""
        return optimizer

    @property
    def overlap(self) -> Overlap | None:
        """Times of the exchange of gradients, if there was one."""
        return None

    def rng_states(self) -> list[list[int]]:
        """Where the random numbers of every rank stand."""
        state = engine.get_rng_state()
        return self.gather([state["seed"], state["offset"]])

    def set_rng_state(self, states: Sequence[Sequence[int]]) -> None:
        """Go on with this rank's random numbers of `rng_states`; a rank that there was none of
        then has new ones."""
        if self.rank < len(states):
            seed, offset = states[self.rank]
            engine.set_rng_state({"seed": seed, "offset": offset})
        else:
            engine.manual_seed(_seed_of(states[0][0], self.rank))


ALONE = Ranks()
"""One process."""


class ManyRanks(Ranks):
    """The ranks of a group, as training uses them.

    >>> ManyRanks(engine.distributed.init()).part(10)      # doctest: +SKIP
    slice(5, 10, None)
    """

    def __init__(self, group: Group) -> None:
        self.group = group
        self.rank, self.size = group.rank, group.size
        self.threads = engine.get_num_threads() if group.local_size > 1 else None
        self._buckets: GradientBuckets | None = None
        self._overlap: Overlap | None = None
        self._statistics: list[Any] = []

    def part(self, count: int) -> slice:
        return slice(count * self.rank // self.size, count * (self.rank + 1) // self.size)

    def voice(self, say: Say, show_progress: bool) -> tuple[Say, bool]:
        return (say, show_progress) if self.rank == 0 else (lambda line: None, False)

    def lines(self) -> list[str]:
        threads = engine.get_num_threads()
        each = f"{threads} thread{'s' if threads > 1 else ''} each"
        return [f"{self.size} ranks of {each}; every batch is shared out among them"]

    def device(self, name: str) -> str:
        kind, here = chosen_device(name).type, self.group.local_size
        self.agree("kinds of devices", kind)
        if kind == "cpu":
            return name
        gpus = engine.cuda.device_count()
        if here > gpus:
            raise ConfigError(
                f"device={name}: {here} ranks on this machine, and {gpus} GPU{'s'[: gpus != 1]}; "
                f"expected a GPU for each rank: --nproc {gpus}, or --device cpu"
            )
        if name in ("cuda", "auto"):
            return f"cuda:{self.group.local_rank}"
        if here > 1:
            raise ConfigError(
                f"device={name}: {here} ranks on this machine cannot share a GPU; expected cuda, "
                "which gives each its own"
            )
        return name

    def folder(self, folder: OutFolder) -> AbstractContextManager[Path]:
        self.wait()  # all have looked whether it is empty
        return folder if self.rank == 0 else nullcontext(folder.path)

    def set_timeout(self, seconds: float) -> None:
        self.group.timeout = seconds

    def same(self, value: Any) -> Any:
        text = json.dumps(value).encode() if self.rank == 0 else b""
        length = engine.asarray(np.array([len(text)], np.int64))
        self.group.broadcast(length, timeout=LONG_WAIT, label="a message of rank 0")
        letters = np.zeros(int(length), np.uint8)
        if self.rank == 0:
            letters[:] = np.frombuffer(text, np.uint8)
        self.group.broadcast(engine.from_numpy(letters), label="a message of rank 0")
        return json.loads(letters.tobytes())

    def agree(self, what: str, value: Any) -> None:
        here = json.dumps(value)
        there = json.dumps(self.same(value))
        differing = self.gather([int(here != there)])
        if any(row[0] for row in differing):
            other = next(rank for rank, row in enumerate(differing) if row[0])
            raise RanksDiffer(
                f"{what}: rank {other} has others than rank 0. Expected the same on all "
                f"machines; here it is {_short(here)}, on rank 0 {_short(there)}"
            )

    def any(self, flag: bool) -> bool:
        found = engine.asarray(np.array([flag], np.int32))
        self.group.all_reduce(found, "max", label="whether to stop")
        return bool(found.tolist()[0])

    def sum(self, numbers: NDArray[Any]) -> NDArray[Any]:
        total = np.ascontiguousarray(numbers).copy()
        self.group.all_reduce(engine.from_numpy(total.reshape(-1)), label="sums")
        return total

    def in_turn(self, values: Sequence[float]) -> list[float]:
        counts = [row[0] for row in self.gather([len(values)])]
        padded = np.zeros(max(counts))
        padded[: len(values)] = values
        rows = self.group.all_gather(engine.from_numpy(padded), label="results").tolist()
        return [rows[n % self.size][n // self.size] for n in range(sum(counts))]

    def stack(self, rows: NDArray[Any], most: int) -> Sequence[NDArray[Any]]:
        padded = np.zeros((most, *rows.shape[1:]), rows.dtype)
        padded[: len(rows)] = rows
        return list(self.group.all_gather(engine.from_numpy(padded), label="rows").numpy())

    def gather(self, numbers: Sequence[int]) -> list[list[int]]:
        row = engine.from_numpy(np.array(numbers, np.uint64))
        return self.group.all_gather(row, label="states").tolist()

    def first(self, work: Callable[[], Result]) -> Result:
        if self.rank == 0:
            done = work()
            self.wait()
            return done
        self.wait()
        return work()

    def wait(self) -> None:
        self.group.barrier(timeout=LONG_WAIT)

    def start(self, model: Module) -> None:
        for name, tensor in sorted(model.state_dict().items()):
            self.group.broadcast(tensor.detach(), label=f"the start value of {name}")
        if self.rank:
            engine.manual_seed(_seed_of(engine.get_rng_state()["seed"], self.rank))

    def watch(self, model: Module, *, narrow: bool, synced: bool) -> None:
        from engine.nn import BatchNorm2d
        from zoo.train.buckets import GradientBuckets, Overlap

        if self._buckets is not None:
            self._buckets.close()
        named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
        self._buckets = GradientBuckets(self.group, named, narrow=narrow)
        self._overlap = self._overlap or Overlap()
        self._buckets.overlap = self._overlap
        norms = [m for m in model.modules() if isinstance(m, BatchNorm2d)]
        for norm in norms:
            norm.group = self.group if synced else None
        moving = [] if synced else [norm for norm in norms if norm.training]
        self._statistics = [
            t for norm in moving for t in (norm.running_mean, norm.running_var) if t is not None
        ]

    def arm(self) -> None:
        assert self._buckets is not None
        self._buckets.arm()

    def finish(self, sums: Sums, counted: Sequence[str], weight: float) -> Sums:
        from zoo.train.task import Sums

        buckets = self._buckets
        assert buckets is not None
        counts = [sums.counts.get(name, 0.0) for name in counted]
        facts = self.sum(np.array([not sums.finite, sums.loss, weight, *counts, *buckets.used()]))
        broken, loss, total = facts[:3]
        used = facts[3 + len(counted) :] > 0
        buckets.finish(used.tolist())
        self.average_statistics(weight / total if total else 0.0)
        if broken:
            return Sums(finite=False)
        return Sums(loss, counts=dict(zip(counted, facts[3:].tolist(), strict=False)))

    def optimizer(self, optimizer: Optimizer, sharded: bool) -> Optimizer:
        if not sharded:
            return optimizer
        from zoo.train.sharded import ShardedOptimizer

        return ShardedOptimizer(optimizer, self.group)

    @property
    def overlap(self) -> Overlap | None:
        return self._overlap

    def average_statistics(self, share: float | None = None) -> None:
        if not self._statistics:
            return
        share = 1 / self.size if share is None else share
        parts = [host_array(t).reshape(-1) for t in self._statistics]
        together = engine.from_numpy(np.concatenate(parts) * np.float32(share))
        self.group.all_reduce(together, label="running statistics")
        ends = np.cumsum([part.size for part in parts])[:-1]
        for tensor, mean in zip(self._statistics, np.split(together.numpy(), ends), strict=True):
            tensor.copy_(engine.asarray(mean, device=tensor.device))


def current_ranks() -> Ranks:
    """Of the group that this process has joined with `engine.distributed.init`, or one process.

    >>> current_ranks().size
    1
    """
    import sys

    module = sys.modules.get("engine.distributed")
    if module is None or not module.is_initialized() or module.world_size() == 1:
        return ALONE
    return ManyRanks(module.default_group())


def join() -> Ranks:
    """Become one of the ranks that mpiexec or srun started together.

    Raises:
        engine.distributed.DistributedError: there is no MPI, or it cannot be used.

    >>> join().size      # doctest: +SKIP
    2
    """
    from engine import distributed

    distributed.init()
    return current_ranks()


def end(code: int, speak: Callable[[bool], None], failure: BaseException | None) -> int:
    """See engine.distributed.end.

    >>> sys.exit(end(0, lambda all_failed: None, None))      # doctest: +SKIP
    """
    from engine import distributed

    return distributed.end(code, speak, failure)


def blame(error: BaseException) -> str:
    """What goes before the text of an error on one rank, so that it says on which; nothing where
    it says so itself.

    >>> blame(ValueError("broken"))
    'rank 0: '
    """
    from engine import distributed

    names_it = isinstance(error, distributed.RankTimeout | distributed.RankLost)
    return "" if names_it else f"rank {distributed.rank()}: "


def _seed_of(seed: int, rank: int) -> int:
    return (seed + rank * _STREAMS) % 2**63


def _short(text: str, most: int = 60) -> str:
    return text if len(text) <= most else text[:most] + " ..."
