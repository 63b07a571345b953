"""Average precision, thresholds and F1 of labels, beside plain loops over their definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest

from zoo.train.label_metrics import (
    LabelTally,
    average_precision,
    best_thresholds,
    macro_f1,
    mean_average_precision,
    micro_f1,
)


def plain_average_precision(probabilities: np.ndarray, has: np.ndarray) -> float:
    """sum over distinct thresholds, from the highest, of (R_n - R_n-1) P_n."""
    total, before = 0.0, 0.0
    for threshold in sorted(set(probabilities.tolist()), reverse=True):
        given = probabilities >= threshold
        recall = (given & has).sum() / has.sum()
        total += (recall - before) * (given & has).sum() / given.sum()
        before = recall
    return total


def plain_f1(given: np.ndarray, has: np.ndarray) -> float:
    hits = (given & has).sum()
    return 2 * hits / (given.sum() + has.sum()) if given.sum() + has.sum() else 0.0


@pytest.fixture
def answers() -> tuple[np.ndarray, np.ndarray]:
    """(probabilities, truth) of 60 pictures and 4 labels, with many equal probabilities."""
    rng = np.random.default_rng(0)
    truth = (rng.random((60, 4)) < (0.5, 0.3, 0.15, 0.05)).astype(np.uint8)
    return np.round(np.clip(0.3 * truth + rng.random((60, 4)) * 0.7, 0, 1), 1), truth


def test_average_precision_is_that_of_its_definition(answers) -> None:
    probabilities, truth = answers
    for p, t in zip(probabilities.T, truth.T, strict=True):
        assert average_precision(p, t > 0) == pytest.approx(plain_average_precision(p, t > 0))
    assert average_precision(np.array([0.5, 0.5]), np.array([True, False])) == 0.5
    assert average_precision(np.array([0.1, 0.9]), np.array([True, False])) == 0.5
    assert average_precision(np.array([0.9, 0.1]), np.array([True, False])) == 1.0


def test_no_other_threshold_has_a_higher_f1(answers) -> None:
    probabilities, truth = answers
    found = best_thresholds(probabilities, truth)
    for i in range(3):
        has = truth[:, i] > 0
        best = max(plain_f1(probabilities[:, i] >= t, has) for t in np.linspace(0, 1, 101))
        assert plain_f1(probabilities[:, i] >= found[i], has) == pytest.approx(best)
    assert truth[:, 3].sum() < 5  # too few to say: the one for all decisions
    best = max(plain_f1(probabilities >= t, truth > 0) for t in np.linspace(0, 1, 101))
    assert plain_f1(probabilities >= found[3], truth > 0) == pytest.approx(best)


def test_scores_are_the_same_however_pictures_are_batched(answers) -> None:
    probabilities, truth = answers
    logits = np.log(np.clip(probabilities, 0.01, 0.99) / (1 - np.clip(probabilities, 0.01, 0.99)))
    whole, parts = LabelTally(4), LabelTally(4)
    whole.add(logits, truth)
    for start in range(0, 60, 7):
        parts.add(logits[start : start + 7], truth[start : start + 7])
    assert parts.scores() == whole.scores() and parts.count == 60
    assert parts.loss == pytest.approx(whole.loss)
    p = 1 / (1 + np.exp(-logits))
    plain = -np.where(truth > 0, np.log(p), np.log(1 - p)).mean()
    assert whole.loss == pytest.approx(plain)
    scores = whole.scores(np.full(4, 0.45))
    given = whole.probabilities >= 0.45
    each = [plain_f1(given[:, i], truth[:, i] > 0) for i in range(4)]
    assert [s.f1 for s in scores] == pytest.approx(each)
    assert macro_f1(scores) == pytest.approx(np.mean(each))
    assert micro_f1(scores) == pytest.approx(plain_f1(given, truth > 0))


def test_labels_that_no_picture_has_count_for_nothing() -> None:
    tally = LabelTally(3)
    tally.add(np.array([[4.0, -4.0, 9.0], [-4.0, 4.0, 9.0]]), np.array([[1, 0, 0], [0, 1, 0]]))
    scores = tally.scores()
    assert scores[2].average_precision is None and scores[2].pictures == 0
    assert mean_average_precision(scores) == 1.0
    empty = LabelTally(1)
    empty.add(np.array([[3.0]]), np.array([[0]]))
    assert empty.mean_average_precision == 0.0 and empty.scores()[0].threshold == 0.5


def test_answers_that_are_not_finite_are_no_answers() -> None:
    tally = LabelTally(1)
    tally.add(np.array([[np.nan], [1.0]]), np.array([[1], [1]]))
    assert math.isnan(tally.loss) and tally.probabilities[0, 0] == 0.0
