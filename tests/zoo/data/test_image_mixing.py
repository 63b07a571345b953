"""Mixup, CutMix and the random changes of training pictures."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from zoo.data import Preprocessing, TrainAugmentation, sample_rng
from zoo.data.mixing import draw_mixing, mix_features, mix_images
from zoo.data.policies import _OPERATIONS, apply_policy, erase, jitter_colours


def images(count=6, side=16):
    """Each of one gray, so that the parts of a mixture can be told by their values."""
    gray = (np.arange(count, dtype=np.uint8) + 1) * 40
    return np.broadcast_to(gray[:, None, None, None], (count, side, side, 3)).copy()


def test_mixing_follows_from_seed_epoch_and_batch():
    def draw(**place):
        return draw_mixing(8, 16, 0.5, 0.5, **{"seed": 0, "epoch": 1, "batch": 2, **place})

    assert all(np.array_equal(a, b) for a, b in zip(draw(), draw(), strict=True))
    for place in ({"seed": 1}, {"epoch": 2}, {"batch": 3}):
        assert not np.array_equal(draw().share, draw(**place).share)


def test_mixup_blends_by_the_share_of_the_label():
    mixing = draw_mixing(6, 16, mixup=1.0, cutmix=0.0, seed=0, epoch=0, batch=0)
    mixed = mix_images(images(), mixing)
    own = images()[:, 0, 0, 0].astype(float)
    expected = mixing.share * own + (1 - mixing.share) * own[mixing.partner]
    np.testing.assert_allclose(mixed[:, 3, 3, 0], expected, atol=0.51)
    assert (mixed == mixed[:, :1, :1, :1]).all()
    assert ((0 < mixing.share) & (mixing.share < 1)).any()


def test_cutmix_gives_the_label_the_share_of_the_pixels_that_are_left():
    mixing = draw_mixing(6, 16, mixup=0.0, cutmix=1.0, seed=3, epoch=0, batch=0)
    mixed = mix_images(images(), mixing)
    for row in range(6):
        if mixing.partner[row] != row:
            left = (mixed[row, :, :, 0] == images()[row, 0, 0, 0]).mean()
            assert left == pytest.approx(mixing.share[row])
            values = set(np.unique(mixed[row])) - {images()[row, 0, 0, 0]}
            assert values <= {images()[mixing.partner[row], 0, 0, 0]}
    assert (mixing.share < 1).any()


@pytest.mark.parametrize("alpha", [0.2, 0.5, 1.0])
def test_shares_have_the_moments_of_a_beta_distribution(alpha):
    share = draw_mixing(20_000, 1, alpha, 0.0, seed=0, epoch=0, batch=0).share.astype(float)
    assert share.mean() == pytest.approx(0.5, abs=0.01)
    assert share.var() == pytest.approx(1 / (4 * (2 * alpha + 1)), rel=0.03)


def test_mixed_features_are_blends_too():
    features = np.eye(3, dtype=np.float32)
    mixing = draw_mixing(3, 16, 1.0, 0.0, seed=0, epoch=0, batch=0)
    mixed = mix_features(features, mixing)
    np.testing.assert_allclose(mixed.sum(axis=1), 1, rtol=1e-6)


def picture(side=24):
    rng = np.random.default_rng(0)
    return Image.fromarray(rng.integers(0, 256, (side, side, 3), dtype=np.uint8))


@pytest.mark.parametrize("operation", _OPERATIONS)
@pytest.mark.parametrize("sign", [1, -1])
def test_operations_keep_size_and_mode_at_any_strength(operation, sign):
    for amount in (0.0, 0.5, 1.0):
        changed = operation(picture(), amount, sign)
        assert changed.size == (24, 24) and changed.mode == "RGB"


@pytest.mark.parametrize("number", range(1, 12))  # all but the identity and those without strength
def test_operations_do_more_the_stronger_they_are(number):
    smooth = picture(6).resize((48, 48), Image.Resampling.BICUBIC)
    before = np.asarray(smooth).astype(int)

    def change(amount):
        return np.abs(np.asarray(_OPERATIONS[number](smooth, amount, 1)).astype(int) - before).sum()

    assert change(0.0) <= change(0.1) < change(1.0)


def test_policies_follow_the_random_numbers_of_the_sample():
    def change(policy, index):
        return np.asarray(apply_policy(picture(), policy, sample_rng(0, 0, index))).tobytes()

    for policy in ("trivial", "rand"):
        assert change(policy, 5) == change(policy, 5)
        assert len({change(policy, index) for index in range(20)}) > 10
    assert change("none", 5) == picture().tobytes()


def test_jitter_changes_colours_by_at_most_its_amount():
    gray = Image.new("RGB", (4, 4), (100, 100, 100))
    values = [
        np.asarray(jitter_colours(gray, 0.2, sample_rng(0, 0, i)))[0, 0, 0] for i in range(50)
    ]
    assert 79 <= min(values) < 90 and 110 < max(values) <= 121


def test_erasing_fills_a_box_with_its_probability():
    view = np.full((32, 32, 3), 255, dtype=np.uint8)
    changed = [(erase(view, 0.5, sample_rng(0, 0, i)) != view).any() for i in range(200)]
    assert 70 < sum(changed) < 130
    erased = erase(view, 1.0, sample_rng(0, 0, 0))
    rows, columns = np.nonzero((erased != view).any(axis=2))
    assert 0.01 < len(rows) / view[..., 0].size < 0.4
    box = erased[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1]
    assert len(np.unique(box)) > 10
    assert (view == 255).all()  # what was given is not changed


def test_new_changes_leave_the_old_views_as_they_were():
    plain = TrainAugmentation(Preprocessing(size=8, resize=8), kind="shift")
    rich = TrainAugmentation(Preprocessing(size=8, resize=8), kind="shift", erasing=1e-12)
    for index in range(5):
        views = [a.apply(picture(8), sample_rng(0, 0, index)) for a in (plain, rich)]
        assert np.array_equal(*views)


@pytest.mark.parametrize("bad", [{"policy": "magic"}, {"jitter": 1.5}, {"erasing": -0.1}])
def test_changes_that_cannot_be_are_refused_by_name(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        TrainAugmentation(**bad)
