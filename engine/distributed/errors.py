"""What can go wrong between ranks; the error says which rank, which operation and which tensor."""

from __future__ import annotations


class DistributedError(RuntimeError):
    """Ranks cannot work together: not started as they must be, or an operation failed."""


class RankTimeout(DistributedError):
    """Other ranks did not come to an operation in time: they are busy, stopped, cut off or gone."""


class RankLost(DistributedError):
    """The connection to another rank broke during an operation."""
