"""What moves numbers between ranks: MPI (`engine.distributed.mpi`), or whatever offers this."""

from __future__ import annotations

from typing import Any, Protocol

from numpy.typing import NDArray

Array = NDArray[Any]

# Ways to make one number of many. "mean" is made from "sum" above this level.
OPERATIONS = ("sum", "max", "min")


class Transport(Protocol):
    """One rank's end of a lane to all others. All ranks of a lane call the same methods in the same
    order; lanes do not disturb each other and may be used from different threads.

    Arrays are one-dimensional, contiguous and of types that numpy has. `until` is a moment on
    `time.monotonic` after which a method raises RankTimeout; `label` is what messages call the
    data. All methods raise RankLost where the connection breaks.
    """

    rank: int
    size: int
    local_rank: int  # among the ranks on this machine
    local_size: int

    def all_reduce(self, array: Array, operation: str, until: float, label: str) -> None:
        """array = the sum, or another of OPERATIONS, over all ranks; in place."""

    def reduce_scatter(
        self, array: Array, out: Array, operation: str, until: float, label: str
    ) -> None:
        """out = this rank's stretch of that sum; `array` holds `size` stretches of out's length."""

    def all_gather(self, array: Array, out: Array, until: float, label: str) -> None:
        """out = the arrays of all ranks, one behind the other."""

    def all_to_all(self, array: Array, out: Array, until: float, label: str) -> None:
        """out = stretch number `rank` of every rank's array, by rank."""

    def broadcast(self, array: Array, root: int, until: float, label: str) -> None:
        """array = that of rank `root`."""

    def barrier(self, until: float, label: str) -> None:
        """Return when all ranks have come here."""

    def lane(self) -> Transport:
        """Another lane to the same ranks; all ranks ask for it together."""

    def abort(self, code: int) -> None:
        """End the processes of all ranks with an exit code. Does not return."""
