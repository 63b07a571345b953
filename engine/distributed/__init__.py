"""Several processes that train together: collective operations on tensors, over MPI.

`mpiexec -n 2 python train.py`, or srun, or `zoo ... --nproc 2` starts the same program as often as
there shall be ranks; each calls `init`, and then all call the same operations in the same order:

>>> from engine import distributed                                        # doctest: +SKIP
>>> distributed.init(timeout=60)                                          # doctest: +SKIP
>>> loss_of_all = distributed.all_reduce(loss.detach(), "mean")           # doctest: +SKIP

Tensors are changed where they lie; nothing of it is recorded for gradients. An exception that no
rank catches ends all ranks. Needs mpi4py and an MPI library: pip install 'zoo[mpi]'. Tensors on a
GPU go by NCCL.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

from engine._C import Tensor, set_num_threads
from engine.distributed.errors import DistributedError, RankLost, RankTimeout
from engine.distributed.group import DEFAULT_TIMEOUT, Group, Work
from engine.distributed.mpi import launched

__all__ = [
    "DEFAULT_TIMEOUT",
    "DistributedError",
    "Group",
    "RankLost",
    "RankTimeout",
    "Work",
    "all_gather",
    "all_reduce",
    "barrier",
    "broadcast",
    "default_group",
    "end",
    "init",
    "is_initialized",
    "launched",
    "local_rank",
    "rank",
    "reduce_scatter",
    "threads_of_a_rank",
    "world_size",
]

GRACE_SECONDS = 2.0  # that a rank which fails gives the others to fail as well
_END_SECONDS = 6 * 3600.0  # that a rank which is done waits for the others
_EXIT_FAILURE = 1

_group: Group | None = None


def init(timeout: float = DEFAULT_TIMEOUT) -> Group:
    """Join the ranks that were started together, and share the processors of each machine out
    among its ranks (`threads_of_a_rank`), unless ZOO_NUM_THREADS is set. Done twice it returns the
    same group, with the new time-out.

    Args:
        timeout: seconds that an operation waits for other ranks.

    Raises:
        DistributedError: mpi4py or the MPI library is missing, or cannot be used.

    >>> init().size      # doctest: +SKIP
    2
    """
    global _group
    if _group is None:
        from engine.distributed.mpi import MpiTransport

        _group = Group(MpiTransport.start(), timeout)
        if "ZOO_NUM_THREADS" not in os.environ:
            set_num_threads(threads_of_a_rank(_group))
        sys.excepthook = _end_all
    _group.timeout = timeout
    return _group


def is_initialized() -> bool:
    """Whether `init` was called.

    >>> is_initialized()
    False
    """
    return _group is not None


def default_group() -> Group:
    """The group that the functions of this module use.

    Raises:
        DistributedError: `init` was not called.

    >>> default_group().size      # doctest: +SKIP
    2
    """
    if _group is None:
        raise DistributedError(
            "engine.distributed is not in use; call engine.distributed.init() in a program that "
            "mpiexec or srun started"
        )
    return _group


def rank() -> int:
    """This process's number, from 0; 0 before `init`.

    >>> rank()
    0
    """
    return 0 if _group is None else _group.rank


def world_size() -> int:
    """How many ranks there are; 1 before `init`.

    >>> world_size()
    1
    """
    return 1 if _group is None else _group.size


def local_rank() -> int:
    """This process's number among the ranks of its machine, from 0: that of its GPU.

    >>> local_rank()
    0
    """
    return 0 if _group is None else _group.local_rank


def all_reduce(
    tensor: Tensor,
    operation: str = "sum",
    *,
    timeout: float | None = None,
    label: str = "",
    background: bool = False,
) -> Any:
    """See `Group.all_reduce`.

    >>> all_reduce(engine.ones(3), "mean").tolist()      # doctest: +SKIP
    [1.0, 1.0, 1.0]
    """
    return default_group().all_reduce(
        tensor, operation, timeout=timeout, label=label, background=background
    )


def all_gather(tensor: Tensor, *, timeout: float | None = None, label: str = "") -> Tensor:
    """See `Group.all_gather`.

    >>> all_gather(engine.ones(3)).shape      # doctest: +SKIP
    (2, 3)
    """
    return default_group().all_gather(tensor, timeout=timeout, label=label)


def reduce_scatter(
    tensor: Tensor, operation: str = "sum", *, timeout: float | None = None, label: str = ""
) -> Tensor:
    """See `Group.reduce_scatter`.

    >>> reduce_scatter(engine.ones((4, 3))).shape      # doctest: +SKIP
    (2, 3)
    """
    return default_group().reduce_scatter(tensor, operation, timeout=timeout, label=label)


def broadcast(
    tensor: Tensor, root: int = 0, *, timeout: float | None = None, label: str = ""
) -> Tensor:
    """See `Group.broadcast`.

    >>> broadcast(model.weight.detach(), root=0)      # doctest: +SKIP
    """
    return default_group().broadcast(tensor, root, timeout=timeout, label=label)


def barrier(*, timeout: float | None = None) -> None:
    """See `Group.barrier`.

    >>> barrier(timeout=60)      # doctest: +SKIP
    """
    default_group().barrier(timeout=timeout)


def threads_of_a_rank(group: Group) -> int:
    """Processors of this machine over its ranks, at least 1; or those that the scheduler gave to
    this rank alone.

    >>> threads_of_a_rank(group)      # doctest: +SKIP
    4
    """
    everywhere = os.cpu_count() or 1
    own = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else everywhere
    if own * group.local_size <= everywhere:
        return own
    return max(own // group.local_size, 1)


def end(
    code: int,
    speak: Callable[[bool], None] | None = None,
    failure: BaseException | None = None,
) -> int:
    """Bring this rank to its end: together with the others where all come to theirs, otherwise by
    ending them too. To be called last, by every rank, however its work went.

    Where several ranks fail the one with the lowest number speaks for all, before those that failed
    only because another one was not there; one that fails alone, while the others wait for it,
    speaks and takes all of them with it.

    Args:
        code: this rank's exit code; 0 if all went well.
        speak: called where it falls to this rank to say why it failed, with whether all failed,
            as they do together where nothing is wrong with this one.
        failure: what this rank failed with, if it did.

    Returns:
        The exit code to leave with. Does not return where the others have to be ended.

    >>> sys.exit(end(0))      # doctest: +SKIP
    """
    group = default_group()
    # Below 0 where this rank only missed another, so that it does not speak before that one.
    word = -code if isinstance(failure, RankTimeout | RankLost) else code
    try:
        words = group.leave(word, GRACE_SECONDS if code else _END_SECONDS)
    except DistributedError:
        words = None
    if words is not None:
        failed = [number for number, other in enumerate(words) if other > 0]
        together = len(failed) == group.size
        failed += [number for number, other in enumerate(words) if other < 0]
        if failed and failed[0] == group.rank and speak is not None:
            speak(together)
        return abs(words[failed[0]]) if failed else 0
    if speak is not None:
        speak(False)
    group.abort(code or _EXIT_FAILURE)
    return code


def _end_all(kind: type[BaseException], error: BaseException, trace: Any) -> None:
    """What happens to an exception that nobody caught."""

    def speak(all_failed: bool) -> None:
        who = "all ranks" if all_failed else f"rank {rank()} of {world_size()}"
        print(f"{who}:", file=sys.stderr)
        sys.__excepthook__(kind, error, trace)

    end(_EXIT_FAILURE, speak, error)
