"""What a benchmark is: one function a side. Each returns a callable that does the work once.

``ours`` needs the engine, ``peer`` PyTorch, others what `runtimes.RUNTIMES` says; each runs in a
process of its own and imports only what it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Work = Callable[[], object]


@dataclass(frozen=True)
class Workload:
    """``flops`` counts 2 per multiply-add of the direct algorithm; 0 where it says nothing."""

    name: str
    flops: float
    ours: Callable[[], Work]
    peer: Callable[[], Work]
    rounds: int = 7
    repeat: int = 1  # calls in one timing: enough for some tens of milliseconds
    others: Mapping[str, Callable[[], Work]] = field(default_factory=dict)  # beside PyTorch

    def maker(self, side: str) -> Callable[[], Work]:
        """What makes the work of "ours", "PyTorch" or another peer."""
        own = {"ours": self.ours, "PyTorch": self.peer}
        return {**own, **self.others}[side]
