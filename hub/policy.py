"""What a download must bring, and how patient it is."""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Policy:
    """How patient a download is.

    Attributes:
        connect_seconds: until a server must have been reached, name look-up included.
        read_seconds: longest silence of a server; half of what its headers may take in all.
        least_rate: bytes a second below which a server that trickles counts as silent; measured
            over four times `read_seconds`.
        attempts: attempts in a row that bring next to nothing before it gives up.
        pause_seconds: pause before the first retry; doubles up to `longest_pause_seconds`. Each is
            varied by a quarter at random, so that many clients do not come back in step.
    """

    connect_seconds: float = 3.0
    read_seconds: float = 15.0
    least_rate: float = 1000.0
    attempts: int = 4
    pause_seconds: float = 0.5
    longest_pause_seconds: float = 8.0


@dataclass(frozen=True)
class Expected:
    """What a file must be.

    Attributes:
        digest: its SHA-256 or the start of it; "" if nobody knows it.
        bytes: its exact size, if known.
        said_by: who knows that, for messages.
        json: the file is JSON, so JSON is not taken for a server's message.
        at_most: bytes after which it cannot be the file any more, where the size is not known.
    """

    digest: str
    bytes: int | None = None
    said_by: str = "the model card"
    at_most: int | None = None
    json: bool = False


class Pace:
    """Notices a server that sends just enough not to be silent."""

    def __init__(self, policy: Policy) -> None:
        self.seconds = 4 * policy.read_seconds
        self.least = policy.least_rate * self.seconds
        self.since, self.bytes = time.monotonic(), 0

    def too_slow(self, count: int) -> bool:
        self.bytes += count
        now = time.monotonic()
        if now - self.since < self.seconds:
            return False
        slow = self.bytes < self.least
        self.since, self.bytes = now, 0
        return slow
