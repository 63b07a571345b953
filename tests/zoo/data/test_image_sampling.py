"""Epochs in which pictures come as often as they shall."""

from __future__ import annotations

import numpy as np
import pytest

from zoo.data import ArrayImages, Loader, Preprocessing, TrainAugmentation
from zoo.data.loader import epoch_batches, occurrences


def drawn(odds, epoch=0):
    batches = epoch_batches(len(odds), 4, training=True, seed=0, epoch=epoch, odds=np.array(odds))
    return np.concatenate(batches)


def test_samples_come_as_often_as_their_odds_say():
    odds = np.array([1.0] * 30 + [3.0] * 10)
    counts = np.bincount(drawn(odds), minlength=40)
    assert counts.sum() == 40
    exact = 40 * odds / odds.sum()
    assert (counts >= np.floor(exact)).all() and (counts <= np.ceil(exact)).all()


def test_equal_odds_draw_each_sample_once():
    assert sorted(drawn([2.0] * 17)) == list(range(17))


def test_other_epochs_draw_others_in_another_order():
    odds = [1.0, 5.0] * 20
    assert not np.array_equal(drawn(odds, epoch=0), drawn(odds, epoch=1))
    assert np.array_equal(drawn(odds, epoch=3), drawn(odds, epoch=3))


def test_without_odds_the_order_is_what_it_was():
    plain = np.concatenate(epoch_batches(10, 4, training=True, seed=5, epoch=2))
    assert plain.tolist() == [8, 7, 6, 5, 1, 4, 9, 0, 2, 3]


@pytest.mark.parametrize("values", [[], [3], [1, 1, 1], [2, 1, 2, 1, 2]])
def test_occurrences_count_what_came_before(values):
    expected = [values[:i].count(v) for i, v in enumerate(values)]
    assert occurrences(np.array(values, dtype=np.int64)).tolist() == expected


def test_a_picture_that_comes_twice_in_an_epoch_is_two_views_also_after_a_resume():
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (6, 8, 8, 3), dtype=np.uint8)
    images = ArrayImages(pixels, [0, 0, 0, 0, 0, 1], ["common", "rare"])
    augmentation = TrainAugmentation(Preprocessing(size=8, resize=8), kind="shift")
    odds = 1 / images.counts()[images.labels]
    with Loader(images, augmentation, 2, training=True, odds=odds, threads=1) as loader:
        batches = list(loader.epoch(0))
        rare = [b.images[row] for b in batches for row in np.flatnonzero(b.labels == 1)]
        assert len(rare) == 3
        assert len({view.tobytes() for view in rare}) > 1
        later = list(loader.epoch(0, start_batch=1))
    assert all(np.array_equal(a.images, b.images) for a, b in zip(later, batches[1:], strict=True))
