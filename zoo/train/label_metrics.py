"""What can be said of a model that gives pictures several labels: average precision, and F1 with a
threshold for each label."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from zoo.train.metrics import added

if TYPE_CHECKING:
    from zoo.train.distributed import Ranks

_FEW = 5  # pictures with a label, under which it takes the threshold that suits all labels together


@dataclass(frozen=True)
class LabelScore:
    """How one label fared.

    Attributes:
        pictures: that have it.
        average_precision: see `average_precision`; None where no picture has it.
        threshold: probability from which the model gives it.
        hits, misses, false_alarms: pictures that were rightly given it, that should have been, and
            that should not.
    """

    pictures: int
    average_precision: float | None
    threshold: float
    hits: int
    misses: int
    false_alarms: int

    @property
    def f1(self) -> float:
        """2 hits / (2 hits + misses + false alarms); 0 where there is nothing to count."""
        return f1_of(self.hits, self.misses, self.false_alarms)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)


class LabelTally:
    """Loss, probabilities and labels of pictures that may have several labels, whatever the batches
    they came in.

    >>> tally = LabelTally(labels=2)
    >>> tally.add(np.array([[3.0, -3.0], [-3.0, 3.0]]), np.array([[1, 0], [0, 1]]))
    >>> tally.mean_average_precision
    1.0
    """

    def __init__(self, labels: int) -> None:
        self._losses: list[float] = []  # of each batch
        self._labels = labels
        self._probabilities: list[NDArray[np.float32]] = []
        self._truth: list[NDArray[np.uint8]] = []

    def add(self, logits: NDArray[Any], labels: NDArray[Any]) -> None:
        """Count a batch: logits (N, labels) of any float type, labels (N, labels) of 0 and 1."""
        logits = logits.astype(np.float64)
        # log(1 + exp(-x)) for a label that is there, log(1 + exp(x)) for one that is not; the mean
        # over labels, so that the loss does not grow with their number.
        with np.errstate(over="ignore", invalid="ignore"):
            losses = np.logaddexp(0.0, np.where(labels > 0, -logits, logits))
            self._losses.append(float(losses.mean(axis=1).sum()))
            probabilities = 1 / (1 + np.exp(-logits))
        self._probabilities.append(np.nan_to_num(probabilities, nan=0.0).astype(np.float32))
        self._truth.append(labels.astype(np.uint8))

    def join(self, ranks: Ranks) -> None:
        """Take in what the others counted, where batches were shared out among ranks in turn; all
        that is counted here is the same in any order, but for the loss, which is put in order."""
        self._losses = ranks.in_turn(self._losses)
        counts = [row[0] for row in ranks.gather([self.count])]

        def of_all(rows: NDArray[Any]) -> list[NDArray[Any]]:
            stacked = ranks.stack(rows, max(counts))
            return [part[:count] for part, count in zip(stacked, counts, strict=True)]

        self._probabilities, self._truth = of_all(self.probabilities), of_all(self.truth)

    @property
    def loss_sum(self) -> float:
        """Over all pictures, of the mean over labels, nats."""
        return added(self._losses)

    @property
    def probabilities(self) -> NDArray[np.float32]:
        """(pictures, labels)."""
        return np.concatenate([np.zeros((0, self._labels), np.float32), *self._probabilities])

    @property
    def truth(self) -> NDArray[np.uint8]:
        """(pictures, labels) of 0 and 1."""
        return np.concatenate([np.zeros((0, self._labels), np.uint8), *self._truth])

    @property
    def count(self) -> int:
        """Pictures counted."""
        return sum(map(len, self._truth))

    @property
    def loss(self) -> float:
        """Mean binary cross-entropy, nats a label."""
        return self.loss_sum / self.count

    def scores(self, thresholds: NDArray[np.float64] | None = None) -> list[LabelScore]:
        """How each label fared; with `thresholds` of None, those that suit these pictures best."""
        probabilities, truth = self.probabilities, self.truth
        if thresholds is None:
            thresholds = best_thresholds(probabilities, truth)
        given = probabilities >= thresholds
        scores = []
        for i in range(self._labels):
            has, said = truth[:, i] > 0, given[:, i]
            precision = average_precision(probabilities[:, i], has) if has.any() else None
            scores.append(
                LabelScore(
                    int(has.sum()), precision, float(thresholds[i]), int((has & said).sum()),
                    int((has & ~said).sum()), int((~has & said).sum()),
                )
            )  # fmt: skip
        return scores

    @property
    def mean_average_precision(self) -> float:
        """The mean over all labels that some picture has."""
        return mean_average_precision(self.scores())


def mean_average_precision(scores: list[LabelScore]) -> float:
    """The mean over all labels that some picture has; 0 where there is none."""
    known = [s.average_precision for s in scores if s.average_precision is not None]
    return float(np.mean(known)) if known else 0.0


def micro_f1(scores: list[LabelScore]) -> float:
    """F1 over all decisions together: common labels count more."""
    return f1_of(*(sum(getattr(s, k) for s in scores) for k in ("hits", "misses", "false_alarms")))


def macro_f1(scores: list[LabelScore]) -> float:
    """The mean of the labels' F1, over those that some picture has: each counts the same."""
    known = [s.f1 for s in scores if s.pictures]
    return float(np.mean(known)) if known else 0.0


def f1_of(hits: float, misses: float, false_alarms: float) -> float:
    """2 hits / (2 hits + misses + false alarms); 0 where there is nothing to count.

    >>> f1_of(1, 1, 1)
    0.5
    """
    total = 2 * hits + misses + false_alarms
    return 2 * hits / total if total else 0.0


def average_precision(probabilities: NDArray[Any], has: NDArray[np.bool_]) -> float:
    """The precision at each picture that has the label, in the order of their probabilities, and of
    these the mean: sum over thresholds of (R_n - R_n-1) P_n. Equal probabilities count together.

    >>> round(average_precision(np.array([0.9, 0.8, 0.7]), np.array([True, False, True])), 3)
    0.833
    """
    order = np.argsort(-probabilities, kind="stable")
    sorted_probabilities, hits = probabilities[order], np.cumsum(has[order])
    last = np.flatnonzero(np.diff(sorted_probabilities, append=-np.inf))  # of equal ones
    precision = hits[last] / (last + 1)
    recalled = np.diff(hits[last], prepend=0) / hits[-1]
    return float((precision * recalled).sum())


def best_thresholds(probabilities: NDArray[Any], truth: NDArray[Any]) -> NDArray[np.float64]:
    """(labels,) the threshold of each label at which its F1 is highest; for labels of few pictures
    the one at which F1 over all decisions is, since a few pictures say little.

    >>> best_thresholds(np.array([[0.2], [0.4]] * 5), np.array([[0], [1]] * 5)).round(3).tolist()
    [0.3]
    """
    shared = _best_threshold(probabilities.ravel(), truth.ravel() > 0)
    return np.array(
        [
            _best_threshold(p, t > 0) if t.sum() >= _FEW else shared
            for p, t in zip(probabilities.T, truth.T, strict=True)
        ]
    )


def _best_threshold(probabilities: NDArray[Any], has: NDArray[np.bool_]) -> float:
    if not has.any():
        return 0.5
    order = np.argsort(-probabilities, kind="stable")
    ordered, hits = probabilities[order].astype(np.float64), np.cumsum(has[order])
    last = np.flatnonzero(np.diff(ordered, append=-np.inf))
    scores = 2 * hits[last] / (last + 1 + hits[-1])
    best = int(scores.argmax())
    below = ordered[last[best] + 1] if last[best] + 1 < len(ordered) else 0.0
    return float((ordered[last[best]] + below) / 2)  # halfway to what is not given the label
