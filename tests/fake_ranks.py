"""Ranks that are threads of one process, for tests that need no MPI."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from engine.distributed import Group, RankTimeout

Result = TypeVar("Result")
_COMBINED = {"sum": np.add, "max": np.maximum, "min": np.minimum}


class _Meeting:
    """Where the ranks of one lane leave their arrays and find those of the others."""

    def __init__(self, size: int) -> None:
        self.barrier = threading.Barrier(size)
        self.arrays: list[Any] = [None] * size
        self.lanes: list[_Meeting] = []
        self.lock = threading.Lock()


class FakeTransport:
    """A rank's end of a lane; see engine.distributed.transport.Transport. `delay` seconds pass
    before each operation of this rank."""

    def __init__(self, meeting: _Meeting, rank: int, size: int, delay: float = 0.0) -> None:
        self._meeting, self.rank, self.size = meeting, rank, size
        self.local_rank, self.local_size = rank, size
        self.delay = delay
        self._lanes = 0
        self.aborted: int | None = None

    def _exchange(self, array: Any, until: float, label: str) -> list[Any]:
        time.sleep(self.delay)
        self._meeting.arrays[self.rank] = None if array is None else array.copy()
        self._meet(until, label)
        everyone = list(self._meeting.arrays)
        self._meet(until, label)
        return everyone

    def _meet(self, until: float, label: str) -> None:
        left = until - time.monotonic()
        try:
            self._meeting.barrier.wait(None if left == float("inf") else max(left, 0.001))
        except threading.BrokenBarrierError:
            raise RankTimeout(
                f"rank {self.rank} of {self.size} waited in vain in {label}"
            ) from None

    def all_reduce(self, array: Any, operation: str, until: float, label: str) -> None:
        rows = self._exchange(array, until, label)
        assert len({row.shape for row in rows}) == 1, f"{label}: ranks differ in shape"
        total = rows[0]
        for row in rows[1:]:
            total = _COMBINED[operation](total, row)
        array[...] = total

    def reduce_scatter(
        self, array: Any, out: Any, operation: str, until: float, label: str
    ) -> None:
        whole = array.copy()
        self.all_reduce(whole, operation, until, label)
        out[...] = np.split(whole, self.size)[self.rank]

    def all_gather(self, array: Any, out: Any, until: float, label: str) -> None:
        out[...] = np.concatenate(self._exchange(array, until, label))

    def all_to_all(self, array: Any, out: Any, until: float, label: str) -> None:
        rows = self._exchange(array, until, label)
        out[...] = np.concatenate([np.split(row, self.size)[self.rank] for row in rows])

    def broadcast(self, array: Any, root: int, until: float, label: str) -> None:
        array[...] = self._exchange(array, until, label)[root]

    def barrier(self, until: float, label: str) -> None:
        self._exchange(None, until, label)

    def lane(self) -> FakeTransport:
        self._lanes += 1
        with self._meeting.lock:
            while len(self._meeting.lanes) < self._lanes:
                self._meeting.lanes.append(_Meeting(self.size))
        lane = self._meeting.lanes[self._lanes - 1]
        return FakeTransport(lane, self.rank, self.size, self.delay)

    def abort(self, code: int) -> None:
        self.aborted = code


def run_ranks(
    size: int, work: Callable[[Group], Result], timeout: float = 20.0, delays: Any = None
) -> list[Result]:
    """What `work` returns on each of `size` ranks. Raises what the first of them raised."""
    meeting = _Meeting(size)
    results: list[Any] = [None] * size
    errors: list[BaseException] = []

    def one(rank: int) -> None:
        delay = 0.0 if delays is None else delays[rank]
        try:
            results[rank] = work(Group(FakeTransport(meeting, rank, size, delay), timeout))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=one, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results
