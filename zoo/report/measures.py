"""What can be said of a classifier from its answers: counts, shares, intervals, calibration."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_Z = 1.959963984540054  # two-sided 95% of the normal distribution
CALIBRATION_BINS = 15  # as in Guo et al., 2017


@dataclass(frozen=True)
class Share:
    """A fraction with its 95% interval; all NaN where nothing was counted."""

    value: float
    low: float
    high: float


def wilson(successes: float, trials: float) -> Share:
    """A fraction of `trials` with Wilson's score interval (Wilson, 1927, "Probable inference, the
    law of succession, and statistical inference"): right for few trials and near 0 and 1, where
    the usual interval collapses.

    >>> wilson(9, 10)  # doctest: +ELLIPSIS
    Share(value=0.9, low=0.5958..., high=0.9821...)
    """
    if trials == 0:
        return Share(math.nan, math.nan, math.nan)
    p = successes / trials
    scale = 1 + _Z**2 / trials
    middle = (p + _Z**2 / (2 * trials)) / scale
    half = _Z / scale * math.sqrt(p * (1 - p) / trials + _Z**2 / (4 * trials**2))
    return Share(p, max(middle - half, 0.0), min(middle + half, 1.0))


def f1(hits: float, misses: float, false_alarms: float) -> Share:
    """F1 with an interval. F1 = 2 J / (1 + J) where J = hits / (hits + misses + false alarms) is a
    fraction of pictures; J's Wilson interval is carried over.

    >>> f1(1, 1, 1).value
    0.5
    """
    jaccard = wilson(hits, hits + misses + false_alarms)
    return Share(*(2 * j / (1 + j) for j in (jaccard.value, jaccard.low, jaccard.high)))


@dataclass(frozen=True)
class Answers:
    """What a model said of N labelled pictures.

    Attributes:
        labels, predicted: (N,) int64, indices of classes; the predicted class is the likeliest.
        confidence: (N,) float64, probability of the predicted class.
        label_probability: (N,) float64, probability of the true class.
        classes: names, in index order.
    """

    labels: NDArray[np.int64]
    predicted: NDArray[np.int64]
    confidence: NDArray[np.float64]
    label_probability: NDArray[np.float64]
    classes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def right(self) -> NDArray[np.bool_]:
        """(N,) which pictures were classified rightly."""
        return self.labels == self.predicted

    @property
    def accuracy(self) -> Share:
        """Fraction of pictures that are right."""
        return wilson(int(self.right.sum()), len(self))

    @property
    def loss(self) -> float:
        """Mean cross-entropy, nats a picture; infinite where a true class has probability 0."""
        with np.errstate(divide="ignore"):
            return float(-np.log(self.label_probability).mean()) if len(self) else math.nan

    def confusion(self) -> NDArray[np.int64]:
        """(classes, classes) pictures by true class (rows) and predicted class (columns)."""
        number = len(self.classes)
        flat = np.bincount(self.labels * number + self.predicted, minlength=number**2)
        return flat.reshape(number, number)

    def most_confident_mistakes(self, most: int) -> list[int]:
        """Positions of wrong answers, the surest first."""
        wrong = np.flatnonzero(~self.right)
        return wrong[np.argsort(-self.confidence[wrong], kind="stable")][:most].tolist()

    def least_confident_hits(self, most: int) -> list[int]:
        """Positions of right answers, the least sure first."""
        right = np.flatnonzero(self.right)
        return right[np.argsort(self.confidence[right], kind="stable")][:most].tolist()


@dataclass(frozen=True)
class ClassScore:
    """How one class fared; all NaN where there is no such picture or no such answer."""

    name: str
    pictures: int
    precision: Share  # of the pictures that were given this class, those that are of it
    recall: Share  # of the pictures of this class, those that were given it
    f1: Share


def class_scores(classes: tuple[str, ...], confusion: NDArray[np.int64]) -> list[ClassScore]:
    """Precision, recall and F1 of every class, in index order."""
    scores = []
    for i, name in enumerate(classes):
        hits = int(confusion[i, i])
        of_class, given = int(confusion[i].sum()), int(confusion[:, i].sum())
        scores.append(
            ClassScore(
                name,
                of_class,
                precision=wilson(hits, given),
                recall=wilson(hits, of_class),
                f1=f1(hits, of_class - hits, given - hits),
            )
        )
    return scores


def confused_pairs(confusion: NDArray[np.int64], most: int) -> list[tuple[int, int, int]]:
    """(true class, predicted class, pictures) of the commonest mistakes, commonest first."""
    wrong = confusion.copy()
    np.fill_diagonal(wrong, 0)
    order = np.argsort(-wrong, axis=None, kind="stable")[:most]
    pairs = [(*divmod(int(flat), len(wrong)), int(wrong.flat[flat])) for flat in order]
    return [pair for pair in pairs if pair[2] > 0]


@dataclass(frozen=True)
class Calibration:
    """Whether answers of 80% confidence are right 80% of the time.

    Attributes:
        edges: (bins + 1,) of confidence.
        counts: (bins,) pictures in each bin.
        confidence, accuracy: (bins,) means in each bin; NaN in empty ones.
        error: the expected calibration error: mean of |accuracy - confidence|, bins weighted by
            their pictures.
    """

    edges: NDArray[np.float64]
    counts: NDArray[np.int64]
    confidence: NDArray[np.float64]
    accuracy: NDArray[np.float64]
    error: float


def calibration(answers: Answers, bins: int = CALIBRATION_BINS) -> Calibration:
    """Whether the answers of a classifier are right as often as it is sure of them."""
    return calibration_of(answers.confidence, answers.right, bins)


def calibration_of(
    said: NDArray[Any], right: NDArray[np.bool_], bins: int = CALIBRATION_BINS
) -> Calibration:
    """Guo et al., 2017, "On calibration of modern neural networks", equation 3, equal bins.

    Args:
        said: (N,) probabilities.
        right: (N,) whether what was given this probability is so.
        bins: how many.
    """
    edges = np.linspace(0, 1, bins + 1)
    at = np.clip(np.ceil(said * bins).astype(np.int64) - 1, 0, bins - 1)
    counts = np.bincount(at, minlength=bins)
    with np.errstate(invalid="ignore"):
        confidence = np.bincount(at, said, minlength=bins) / counts
        accuracy = np.bincount(at, right.astype(float), minlength=bins) / counts
    gaps = np.where(counts > 0, np.abs(accuracy - confidence), 0.0)
    error = float((counts * gaps).sum() / len(said)) if len(said) else math.nan
    return Calibration(edges, counts, confidence, accuracy, error)
