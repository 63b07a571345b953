"""MPI as the transport, through mpi4py, which is imported when the first rank starts.

Operations are started without waiting and then asked for, so that a rank can give up after a time;
MPI itself would wait for ever for one that is gone. Asking gives up the processor each time, and
after what the operation should have taken it sleeps in between: on a machine with more ranks than
cores those that wait do not take the time of those that work.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from typing import Any

import numpy as np

from engine.distributed.errors import DistributedError, RankLost, RankTimeout
from engine.distributed.transport import Array

# Set by mpiexec and by srun for each process: PMI (MPICH, Intel MPI, Slurm), PMIx, Open MPI.
_RANK_VARIABLES = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK")
_SPIN_SECONDS = 0.005  # of asking without sleeping, and more for what takes long to move
_SPIN_BYTES_A_SECOND = 2e8
_SLEEPS = (5e-5, 1e-3)  # the first and the longest, seconds
_LANES = 4  # whose operations the board counts
_ABORT_SECONDS = 3  # that MPI gets to end the others before this process is ended


def launched() -> bool:
    """Whether this process is one of several that mpiexec or srun started.

    >>> launched()
    False
    """
    return any(name in os.environ for name in _RANK_VARIABLES)


class Board:
    """What the ranks of one machine are doing, in memory that all of them see: the process of each
    and how many operations it has come to on each lane. A rank that waits in vain reads there for
    whom.

    Args:
        comm: the ranks of this machine.
        world_rank: this rank's number among all.
    """

    def __init__(self, comm: Any, mpi: Any, world_rank: int) -> None:
        self._row, size = comm.Get_rank(), comm.Get_size()
        columns = 2 + _LANES
        self._window = mpi.Win.Allocate_shared(
            8 * columns * size if self._row == 0 else 0, 8, comm=comm
        )
        memory, _ = self._window.Shared_query(0)
        self._rows = np.frombuffer(memory, np.int64)[: size * columns].reshape(size, columns)
        self._rows[self._row] = (world_rank, os.getpid(), *[0] * _LANES)
        comm.Barrier()

    def count(self, lane: int) -> None:
        """This rank has come to one more operation on a lane."""
        self._rows[self._row, 2 + lane] += 1

    def missing(self, lane: int) -> list[str]:
        """Ranks that are behind this one on a lane."""
        own = self._rows[self._row, 2 + lane]
        return [
            f"rank {rank} (process {pid})"
            for rank, pid, count in self._rows[:, [0, 1, 2 + lane]].tolist()
            if count < own
        ]


class MpiTransport:
    """A communicator of MPI. See `Transport`.

    >>> MpiTransport.start().size      # doctest: +SKIP
    2
    """

    def __init__(
        self, comm: Any, mpi: Any, local: tuple[int, int], board: Board | None, lane: int = 0
    ) -> None:
        self._comm, self._mpi, self._board, self._lane = comm, mpi, board, lane
        self._operations = {"sum": mpi.SUM, "max": mpi.MAX, "min": mpi.MIN}
        self._given_up: list[Any] = []  # MPI may still write to what it was given
        self.rank, self.size = comm.Get_rank(), comm.Get_size()
        self.local_rank, self.local_size = local

    @classmethod
    def start(cls) -> MpiTransport:
        """Join the ranks that were started together.

        Raises:
            DistributedError: mpi4py or the MPI library is missing.
        """
        try:
            from mpi4py import MPI
        except (ImportError, RuntimeError) as error:  # the latter: no library to load
            raise DistributedError(
                f"MPI cannot be used ({error}); type: pip install 'zoo[mpi]', or install mpi4py "
                "for the MPI library of this cluster"
            ) from error
        world = MPI.COMM_WORLD
        if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
            raise DistributedError(
                "this MPI library cannot be used from several threads (MPI_THREAD_MULTIPLE); use "
                "another one, such as that of: pip install mpich"
            )
        neighbours = world.Split_type(MPI.COMM_TYPE_SHARED, world.Get_rank())
        board = None
        if neighbours.Get_size() > 1:
            board = Board(neighbours, MPI, world.Get_rank())
        local = neighbours.Get_rank(), neighbours.Get_size()
        return cls(world.Dup(), MPI, local, board)

    def all_reduce(self, array: Array, operation: str, until: float, label: str) -> None:
        """See Transport."""
        op = self._operations[operation]
        self._wait(self._comm.Iallreduce(self._mpi.IN_PLACE, array, op), array, until, label)

    def reduce_scatter(
        self, array: Array, out: Array, operation: str, until: float, label: str
    ) -> None:
        """See Transport."""
        op = self._operations[operation]
        request = self._comm.Ireduce_scatter_block(array, out, op)
        self._wait(request, array, until, label, out)

    def all_gather(self, array: Array, out: Array, until: float, label: str) -> None:
        """See Transport."""
        self._wait(self._comm.Iallgather(array, out), out, until, label, array)

    def all_to_all(self, array: Array, out: Array, until: float, label: str) -> None:
        """See Transport."""
        self._wait(self._comm.Ialltoall(array, out), array, until, label, out)

    def broadcast(self, array: Array, root: int, until: float, label: str) -> None:
        """See Transport."""
        self._wait(self._comm.Ibcast(array, root), array, until, label)

    def barrier(self, until: float, label: str) -> None:
        """See Transport."""
        self._wait(self._comm.Ibarrier(), None, until, label)

    def lane(self) -> MpiTransport:
        """See Transport."""
        local, number = (self.local_rank, self.local_size), self._lane + 1
        board = self._board if number < _LANES else None
        return MpiTransport(self._comm.Dup(), self._mpi, local, board, number)

    def abort(self, code: int) -> None:
        """See Transport."""
        # MPI tells mpiexec, which ends the others. Where it hangs, with the interpreter's lock (a
        # broken connection, another thread within MPI), the system ends this process, and that
        # tells mpiexec as well.
        with contextlib.suppress(ValueError):  # not in the main thread: as it was, then
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(_ABORT_SECONDS)
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        self._comm.Abort(code)
        os._exit(code)

    def _wait(
        self, request: Any, array: Array | None, until: float, label: str, *others: Array
    ) -> None:
        if self._board is not None:
            self._board.count(self._lane)
        size = 0 if array is None else array.nbytes
        started = time.monotonic()
        spin_until = started + _SPIN_SECONDS + size / _SPIN_BYTES_A_SECOND
        sleep, longest = _SLEEPS
        try:
            while not request.Test():
                now = time.monotonic()
                if now > until:
                    self._given_up.append((request, array, others))
                    raise RankTimeout(self._late(label, now - started))
                if now < spin_until:
                    os.sched_yield()
                else:
                    time.sleep(sleep)
                    sleep = min(2 * sleep, longest)
        except self._mpi.Exception as error:
            self._given_up.append((request, array, others))
            raise RankLost(
                f"rank {self.rank} of {self.size}: {label}: {error.Get_error_string()}"
            ) from error

    def _late(self, label: str, waited: float) -> str:
        missing = [] if self._board is None else self._board.missing(self._lane)
        who = f"not there: {', '.join(missing)}" if missing else "no rank of this machine is behind"
        return (
            f"rank {self.rank} of {self.size} waited {waited:.0f} s for the others in {label}; "
            f"{who}. A rank may be stopped, cut off or still at other work; give them longer with "
            "a longer time-out if they only need more time"
        )
