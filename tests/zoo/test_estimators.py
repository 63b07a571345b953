"""Frozen networks as scikit-learn sees them.

    pip install scikit-learn
    python -m pytest -m interop tests/zoo/test_estimators.py

scikit-learn is no dependency of the tests, so these are deselected unless asked for.
"""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import zoo
from zoo import demo
from zoo.data import UnreadableImage

pytestmark = pytest.mark.interop


@pytest.fixture
def digits() -> tuple[np.ndarray, np.ndarray]:
    """60 digits of three classes, the first of each."""
    images = demo.load_digits()
    chosen = np.concatenate([np.flatnonzero(images.labels == digit)[:20] for digit in range(3)])
    return images.images[chosen], images.labels[chosen]


def test_features_are_those_of_the_model(digits):
    from zoo.estimators import FrozenFeatures

    X, _ = digits
    got = FrozenFeatures("resnet20").fit_transform(X)
    np.testing.assert_array_equal(got, zoo.load("resnet20").embed(list(X)))
    assert got.shape == (60, 64)


def test_parameters_are_read_set_and_cloned():
    from sklearn.base import clone
    from sklearn.linear_model import RidgeClassifier

    from zoo.estimators import FrozenClassifier, FrozenFeatures

    features = FrozenFeatures("resnet20", batch_size=4)
    assert clone(features).get_params() == features.get_params() == {
        "model": "resnet20", "weights": "default", "batch_size": 4
    }  # fmt: skip
    classifier = FrozenClassifier("resnet20", RidgeClassifier(alpha=2.0))
    assert clone(classifier).get_params()["head__alpha"] == 2.0
    assert classifier.set_params(head__alpha=3.0).head.alpha == 3.0
    assert repr(FrozenClassifier("resnet20")) == "FrozenClassifier(model='resnet20')"


def test_what_was_not_fitted_says_so(digits):
    from sklearn.exceptions import NotFittedError

    from zoo.estimators import FrozenClassifier, FrozenFeatures

    X, _ = digits
    with pytest.raises(NotFittedError):
        FrozenFeatures("resnet20").transform(X)
    for ask in ("predict", "predict_proba"):
        with pytest.raises(NotFittedError):
            getattr(FrozenClassifier("resnet20"), ask)(X)


def test_it_is_fitted_and_scored_and_the_head_is_not_touched(digits):
    from sklearn.neighbors import KNeighborsClassifier

    from zoo.estimators import FrozenClassifier

    X, y = digits
    names = np.array(["zero", "one", "two"])[y]
    head = KNeighborsClassifier(1)
    classifier = FrozenClassifier("resnet20", head).fit(X[::2], names[::2])
    assert classifier.score(X[::2], names[::2]) == 1.0  # each is its own nearest neighbour
    assert classifier.score(X[1::2], names[1::2]) > 0.8
    assert classifier.classes_.tolist() == ["one", "two", "zero"]
    assert classifier.predict_proba(X[:3]).shape == (3, 3)
    assert not hasattr(head, "classes_")


def test_cross_validation_and_search_take_it_as_any_estimator(digits):
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV, cross_val_score
    from sklearn.pipeline import make_pipeline

    from zoo.estimators import FrozenClassifier, FrozenFeatures

    X, y = digits
    scores = cross_val_score(FrozenClassifier("resnet20"), X, y, cv=3)
    assert scores.shape == (3,) and scores.min() > 0.8
    pipeline = make_pipeline(FrozenFeatures("resnet20"), LogisticRegression(max_iter=1000))
    search = GridSearchCV(pipeline, {"logisticregression__C": [0.01, 1.0]}, cv=2).fit(X, y)
    assert search.best_score_ > 0.8
    assert pipeline.fit(X, y)[:-1].get_feature_names_out()[1] == "frozenfeatures1"


def test_pictures_may_be_paths_and_what_cannot_be_read_is_named(digits, tmp_path: Path):
    from PIL import Image

    from zoo.estimators import FrozenFeatures

    X, _ = digits
    for number, image in enumerate(X[:3]):
        Image.fromarray(image).save(tmp_path / f"{number}.png")
    paths = sorted(map(str, tmp_path.glob("*.png")))
    features = FrozenFeatures("resnet20").fit(paths)
    np.testing.assert_array_equal(features.transform(np.array(paths)), features.transform(X[:3]))
    (tmp_path / "bad.png").write_text("words")
    with pytest.raises(UnreadableImage, match="bad.png"):
        features.transform([tmp_path / "bad.png"])


def test_a_fitted_one_is_pickled_without_the_weights_of_the_network(digits):
    from zoo.estimators import FrozenClassifier

    X, y = digits
    classifier = FrozenClassifier("resnet20").fit(X, y)
    stored = pickle.dumps(classifier)
    assert len(stored) < 50_000  # the network has 270,000 parameters
    np.testing.assert_array_equal(pickle.loads(stored).predict(X), classifier.predict(X))


def test_a_language_model_is_refused(digits):
    from zoo.estimators import FrozenFeatures

    with pytest.raises(zoo.WrongTask):
        FrozenFeatures("gpt_shakespeare").fit(digits[0])
