"""Training the last layer on features that are computed once."""

from __future__ import annotations

import numpy as np
import pytest
from tiny_run import Tiny, pictures

from zoo.data import Preprocessing, TrainAugmentation
from zoo.train.features import ViewFeatures
from zoo.train.inference import evaluate


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("ZOO_HOME", str(tmp_path / "home"))


def test_each_view_of_each_picture_is_computed_once(make_trainer):
    trainer = make_trainer(freeze="backbone", epochs=6, views=3)
    trainer.fit()
    assert trainer.task.plain.computed == 24 + 9
    assert trainer.task.varied.computed == 2 * 24


def test_another_run_computes_nothing_and_ends_with_the_same_weights(make_trainer, weights_of):
    first, second = (
        make_trainer(out=out, freeze="backbone", epochs=3, views=2) for out in ("a", "b")
    )
    first.fit()
    second.fit()
    assert second.task.plain.computed == second.task.varied.computed == 0
    for name, value in weights_of(first.model).items():
        assert np.array_equal(weights_of(second.model)[name], value), name


def test_without_a_place_to_keep_them_the_run_is_the_same(make_trainer, weights_of, tmp_path):
    kept = make_trainer(out="a", freeze="backbone", views=2)
    not_kept = make_trainer(out="b", freeze="backbone", views=2, feature_cache=0.0)
    kept.fit()
    not_kept.fit()
    for name, value in weights_of(kept.model).items():
        assert np.array_equal(weights_of(not_kept.model)[name], value), name


def test_a_feature_depends_on_its_picture_alone(tmp_path):
    model, images = Tiny(), pictures(40)
    whole = ViewFeatures(model, model.preprocessing)
    whole.ensure(images, [0])
    some = ViewFeatures(model, model.preprocessing)
    some.ensure(images.subset([17, 3, 39]), [0])
    expected = whole.rows(images, [17, 3, 39], view=0)
    assert np.array_equal(some.rows(images.subset([17, 3, 39]), [0, 1, 2], view=0), expected)


def test_random_views_differ_and_follow_the_seed(tmp_path):
    model, images = Tiny(), pictures(4)
    augmentation = TrainAugmentation(Preprocessing(size=8, resize=8), kind="shift")

    def features(seed):
        views = ViewFeatures(model, augmentation, seed=seed)
        views.ensure(images, [1, 2])
        return [views.rows(images, range(4), view) for view in (1, 2)]

    one, two = features(seed=0)
    assert not np.array_equal(one, two)
    assert np.array_equal(features(seed=0)[0], one)
    assert not np.array_equal(features(seed=1)[0], one)


def test_validation_of_features_finds_what_validation_of_pictures_finds(make_trainer):
    trainer = make_trainer(freeze="backbone", epochs=1)
    best = trainer.fit().best
    tally = evaluate(trainer.model, trainer.task._val_loader)
    assert tally.accuracy == pytest.approx(best.metrics["val_accuracy"])
    assert tally.loss == pytest.approx(best.metrics["val_loss"], rel=1e-3)


def test_a_frozen_backbone_is_bit_identical_after_everything(make_trainer, weights_of):
    trainer = make_trainer(
        freeze="backbone", epochs=3, views=2, average="ema", mixup=0.2, optimizer="adamw"
    )
    before = weights_of(trainer.model)
    trainer.fit()
    after = weights_of(trainer.model)
    changed = {name for name in before if not np.array_equal(before[name], after[name])}
    assert changed == {"fc.weight", "fc.bias"}


def test_a_duplicate_is_computed_once(tmp_path):
    images = pictures(6).subset([0, 1, 0, 0])
    features = ViewFeatures(Tiny(), Preprocessing(size=8, resize=8))
    features.ensure(images, [0])
    assert features.computed == 2


def test_other_weights_find_nothing(make_trainer):
    make_trainer(out="a", freeze="backbone", epochs=1).fit()
    other = make_trainer(out="b", model=Tiny(dropout=0.5), freeze="backbone", epochs=1)
    other.model.conv1.bias.detach().numpy()[0] += 1.0
    other.fit()
    assert other.task.plain.reused == 0
