"""Tensors on GPUs go from one to the other by NCCL; MPI only brings the ranks together."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

import engine
from engine._C import Tensor
from engine.distributed.memory import changed, in_memory_order
from engine.distributed.transport import Transport


class NcclLane:
    """The ranks' GPUs, one each.

    Args:
        ranks: by which rank 0's key reaches the others.
        device: of this rank, such as "cuda:0".
        until: when to give up, on `time.monotonic`.

    >>> NcclLane(transport, "cuda:0", until).all_reduce(tensor, "sum")      # doctest: +SKIP
    """

    def __init__(self, ranks: Transport, device: str, until: float) -> None:
        nccl: Any = importlib.import_module("engine.cuda.nccl")  # opens the library when called
        key = np.zeros(nccl.ID_BYTES, np.uint8)
        if ranks.rank == 0:
            key[:] = np.frombuffer(nccl.unique_id(), np.uint8)
        ranks.broadcast(key, 0, until, "the key of NCCL")
        self._ranks = ranks.size
        self._group = nccl.Communicator(ranks.rank, ranks.size, key.tobytes(), device)

    def all_reduce(self, tensor: Tensor, operation: str) -> None:
        """See Group.all_reduce; "sum", "max" or "min"."""
        self._group.all_reduce(in_memory_order(tensor, "all_reduce"), operation)
        changed(tensor)

    def broadcast(self, tensor: Tensor, root: int) -> None:
        """See Group.broadcast."""
        self._group.broadcast(in_memory_order(tensor, "broadcast"), root)
        changed(tensor)

    def finish(self) -> None:
        """Return when the GPU has done all that it was given.

        Raises:
            engine.cuda.nccl.NcclError: the way to another GPU broke.
        """
        engine.cuda.synchronize(self._group.device)
        self._group.check()

    def abort(self) -> None:
        """Give up what other ranks do not come to; the lane is of no more use."""
        self._group.abort()

    def all_gather(self, tensor: Tensor) -> Tensor:
        """See Group.all_gather."""
        out = _empty((self._ranks, *tensor.shape), tensor)
        self._group.all_gather(out, tensor)
        return out

    def reduce_scatter(self, tensor: Tensor, operation: str) -> Tensor:
        """See Group.reduce_scatter; "sum", "max" or "min"."""
        out = _empty((tensor.shape[0] // self._ranks, *tensor.shape[1:]), tensor)
        self._group.reduce_scatter(out, tensor, operation)
        return out


def _empty(shape: tuple[int, ...], like: Tensor) -> Tensor:
    return engine.empty(shape, dtype=like.dtype, device=like.device)
