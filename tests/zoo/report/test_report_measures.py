"""Shares, intervals, confusion and calibration."""

from __future__ import annotations

import math

import numpy as np
import pytest

from zoo.report.measures import (
    Answers,
    calibration,
    class_scores,
    confused_pairs,
    f1,
    wilson,
)


def answers(labels, predicted, confidence, classes="abc"):
    labels, predicted = np.array(labels), np.array(predicted)
    confidence = np.array(confidence, dtype=float)
    of_label = np.where(labels == predicted, confidence, 1 - confidence)
    return Answers(labels, predicted, confidence, of_label, tuple(classes))


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [  # by the formula with z = 1.96, worked out by hand
        (0, 10, 0.0, 0.2775),
        (10, 10, 0.7225, 1.0),
        (9, 10, 0.5958, 0.9821),
        (50, 100, 0.4038, 0.5962),
    ],
)
def test_wilson_intervals(successes, trials, low, high):
    share = wilson(successes, trials)
    assert share.value == successes / trials
    assert share.low == pytest.approx(low, abs=1e-4)
    assert share.high == pytest.approx(high, abs=1e-4)


def test_wilson_holds_the_truth_as_often_as_it_says():
    rng = np.random.default_rng(0)
    held = [(s := wilson(int(n), 30)).low <= 0.9 <= s.high for n in rng.binomial(30, 0.9, 4000)]
    assert 0.93 < np.mean(held) < 0.99


def test_nothing_counted_has_no_share():
    assert math.isnan(wilson(0, 0).value) and math.isnan(f1(0, 0, 0).low)


def test_f1_lies_in_its_interval_which_narrows_with_more_pictures():
    few, many = f1(9, 1, 2), f1(900, 100, 200)
    assert few.value == many.value == pytest.approx(2 * 9 / (2 * 9 + 3))
    assert few.low < many.low < many.value < many.high < few.high


def test_confusion_counts_true_classes_in_rows():
    found = answers([0, 0, 1, 2, 2], [0, 1, 1, 0, 0], [0.9] * 5)
    assert found.confusion().tolist() == [[1, 1, 0], [0, 1, 0], [2, 0, 0]]
    assert confused_pairs(found.confusion(), 5) == [(2, 0, 2), (0, 1, 1)]


def test_scores_of_each_class():
    scores = class_scores(("a", "b", "c"), np.array([[3, 1, 0], [2, 4, 0], [0, 0, 0]]))
    assert [s.pictures for s in scores] == [4, 6, 0]
    assert scores[0].precision.value == pytest.approx(3 / 5)
    assert scores[0].recall.value == pytest.approx(3 / 4)
    assert scores[0].f1.value == pytest.approx(6 / 9)
    assert math.isnan(scores[2].recall.value)


def test_mistakes_come_surest_first_and_hits_least_sure_first():
    found = answers([0, 0, 0, 1, 1], [1, 0, 1, 1, 1], [0.6, 0.5, 0.9, 0.99, 0.7])
    assert found.most_confident_mistakes(9) == [2, 0]
    assert found.least_confident_hits(2) == [1, 4]


def test_calibration_error_by_hand():
    # In the bin up to 0.6: two answers of 55%, one right. Above 0.9: two of 95%, both right.
    found = calibration(answers([0, 0, 0, 0], [0, 1, 0, 0], [0.55, 0.55, 0.95, 0.95]), bins=10)
    assert found.error == pytest.approx((2 * 0.05 + 2 * 0.05) / 4)
    assert found.counts.tolist() == [0, 0, 0, 0, 0, 2, 0, 0, 0, 2]
    assert found.accuracy[5] == 0.5 and math.isnan(found.accuracy[0])


def test_certainty_falls_into_the_last_bin():
    assert calibration(answers([0], [0], [1.0]), bins=4).counts.tolist() == [0, 0, 0, 1]
