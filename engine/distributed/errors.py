"""What can go wrong between ranks; the error says which rank, which operation and which tensor."""

from __future__ import annotations


class DistributedError(RuntimeError):
    """Ranks cannot work together: not started as they must be, or an operation failed.

    >>> try:
    ...     engine.distributed.barrier()
    ... except engine.distributed.DistributedError:
    ...     'init was not called'
    'init was not called'
    """


class RankTimeout(DistributedError):
    """Other ranks did not come to an operation in time: they are busy, stopped, cut off or gone.

    >>> try:
    ...     engine.distributed.barrier(timeout=5)
    ... except engine.distributed.RankTimeout as error:
    ...     print(error)                                       # doctest: +SKIP
    rank 0 of 2 waited 5 s for the others in barrier; not there: rank 1 (process 4711). ...
    """


class RankLost(DistributedError):
    """The connection to another rank broke during an operation.

    >>> try:
    ...     engine.distributed.all_reduce(gradient)
    ... except engine.distributed.RankLost as error:
    ...     sys.exit(engine.distributed.end(1, failure=error)) # doctest: +SKIP
    """
