"""What is counted while training and validating."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from zoo.train.distributed import Ranks


class Tally:
    """Loss and accuracy over samples, whatever the batches they came in.

    Sums are kept in float64 and divided once, at the end, by the number of samples; a small last
    batch therefore weighs no more than its samples do.

    >>> tally = Tally(classes=2)
    >>> tally.add(np.array([[2.0, 0.0], [0.0, 2.0]]), np.array([0, 0]))
    >>> tally.accuracy
    0.5
    """

    def __init__(self, classes: int) -> None:
        self._losses: list[float] = []  # of each batch
        self._right = np.zeros(classes, dtype=np.int64)  # samples of each class
        self._all = np.zeros(classes, dtype=np.int64)

    def add(self, logits: NDArray[Any], labels: NDArray[np.int64]) -> None:
        """Count a batch: logits (N, classes) of any float type, labels (N,)."""
        logits = logits.astype(np.float64)
        with np.errstate(invalid="ignore"):  # infinite logits make a loss of NaN, not a warning
            shifted = logits - logits.max(axis=1, keepdims=True)  # (N, classes), exp stays finite
        log_sum = np.log(np.exp(shifted).sum(axis=1))
        self._losses.append(float((log_sum - shifted[np.arange(len(labels)), labels]).sum()))
        np.add.at(self._all, labels, 1)
        np.add.at(self._right, labels[logits.argmax(axis=1) == labels], 1)

    def join(self, ranks: Ranks) -> None:
        """Take in what the others counted, where batches were shared out among ranks in turn: the
        same numbers, to the bit, as one process has that counts all of them."""
        self._losses = ranks.in_turn(self._losses)
        self._right, self._all = ranks.sum(self._right), ranks.sum(self._all)

    @property
    def loss_sum(self) -> float:
        """Cross-entropy of all samples, nats."""
        return added(self._losses)

    @property
    def count(self) -> int:
        """Samples counted."""
        return int(self._all.sum())

    @property
    def right(self) -> int:
        """Samples whose largest logit is their label's."""
        return int(self._right.sum())

    @property
    def loss(self) -> float:
        """Mean cross-entropy, nats a sample."""
        return self.loss_sum / self.count

    @property
    def accuracy(self) -> float:
        """Fraction of samples that are right."""
        return self.right / self.count

    def per_class(self) -> list[tuple[int, int]]:
        """(right, all) samples of each class."""
        return list(zip(self._right.tolist(), self._all.tolist(), strict=True))


def added(numbers: Iterable[float]) -> float:
    """Their sum, one after the other. Python's own sum rounds otherwise from one version to the
    next.

    >>> added([0.5, 0.25])
    0.75
    """
    total = 0.0
    for number in numbers:
        total += number
    return total


def peak_memory_bytes() -> int:
    """The most memory that this process has held at once (resident set), bytes."""
    try:
        # Not getrusage: on Linux its value survives exec, and so includes the parent's memory.
        with open("/proc/self/status", encoding="ascii") as status:
            for line in status:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass  # no /proc on this system
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
