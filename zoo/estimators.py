"""Frozen networks as steps of scikit-learn: features of pictures for any of its estimators.

Needs scikit-learn: `pip install 'zoo[notebooks]'`, or scikit-learn alone.

>>> from sklearn.linear_model import LogisticRegression                  # doctest: +SKIP
>>> from sklearn.pipeline import make_pipeline                           # doctest: +SKIP
>>> from zoo.estimators import FrozenFeatures                            # doctest: +SKIP
>>> pipeline = make_pipeline(FrozenFeatures("resnet18"), LogisticRegression())   # doctest: +SKIP
>>> pipeline.fit(paths, labels).score(more_paths, more_labels)           # doctest: +SKIP
0.97
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    clone,
)
from sklearn.utils.validation import check_is_fitted

import zoo
from zoo.models.image_model import ImageModel, expect_images


class FrozenFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """What the last layer of a network gets to see of pictures, as a transformer.

    The network is fixed: `fit` learns nothing and only counts the features, so features of a
    picture are the same in every fold of a cross-validation. `sklearn.pipeline.Pipeline(...,
    memory=FOLDER)` keeps them.

    Args:
        model: a name from `zoo.list_models`, or the folder of a finished run.
        weights: as for `zoo.load`.
        batch_size: pictures computed at once.

    Attributes:
        n_features_out_: numbers a picture, after `fit`.

    Pictures are paths, PIL images or uint8 arrays, many in a list or an array: (N,) of paths,
    (N, H, W) gray or (N, H, W, C). What cannot be read raises zoo.data.UnreadableImage.

    >>> FrozenFeatures("resnet20").fit_transform(pictures).shape         # doctest: +SKIP
    (100, 64)
    """

    def __init__(
        self, model: str = "resnet18", *, weights: str = "default", batch_size: int = 16
    ) -> None:
        self.model = model
        self.weights = weights
        self.batch_size = batch_size

    def fit(self, X: Any, y: Any = None) -> FrozenFeatures:
        """Load the network; X and y have no influence."""
        self._network = self._load()
        self.n_features_out_ = self._network.head_features
        return self

    def transform(self, X: Any) -> NDArray[np.float32]:
        """(N, n_features_out_) float32 features of N pictures."""
        check_is_fitted(self, "n_features_out_")
        return self._loaded().embed(list(X), batch_size=self.batch_size)

    @property
    def _n_features_out(self) -> int:
        return self.n_features_out_  # for the names of the columns, frozenfeatures0 and so on

    def _load(self) -> ImageModel:
        return expect_images(zoo.load(self.model, self.weights))

    def _loaded(self) -> ImageModel:
        if self._network is None:  # this object came through pickle
            self._network = self._load()
        return self._network

    def __getstate__(self) -> dict[str, Any]:
        # Weights are found again by name: a pickle of a pipeline holds no copy of them.
        return {**super().__getstate__(), "_network": None}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.input_tags.string = True
        tags.requires_fit = True
        tags.no_validation = True
        return tags


class FrozenClassifier(ClassifierMixin, BaseEstimator):
    """A classifier of scikit-learn on the features of a frozen network, as one estimator.

    The same as a pipeline of `FrozenFeatures` and `head`, for those who want one object with
    `fit(pictures, labels)`, `predict`, `predict_proba` and `score`.

    Args:
        model, weights, batch_size: of the network; see `FrozenFeatures`.
        head: any classifier of scikit-learn; None takes a logistic regression on standardised
            features. It is cloned, never changed.

    Attributes:
        classes_: labels, after `fit`.
        features_, head_: the two fitted parts.

    >>> from sklearn.model_selection import cross_val_score              # doctest: +SKIP
    >>> cross_val_score(FrozenClassifier("resnet18"), paths, labels)     # doctest: +SKIP
    array([0.95, 0.97, 0.96, 0.95, 0.97])
    """

    def __init__(
        self,
        model: str = "resnet18",
        head: Any = None,
        *,
        weights: str = "default",
        batch_size: int = 16,
    ) -> None:
        self.model = model
        self.head = head
        self.weights = weights
        self.batch_size = batch_size

    def fit(self, X: Any, y: Any) -> FrozenClassifier:
        """Fit the head on the features of pictures X with labels y, (N,)."""
        self.features_ = FrozenFeatures(
            self.model, weights=self.weights, batch_size=self.batch_size
        )
        self.head_ = _usual_head() if self.head is None else clone(self.head)
        self.head_.fit(self.features_.fit_transform(X), y)
        self.classes_ = self.head_.classes_
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """(N,) labels of N pictures."""
        check_is_fitted(self, "head_")
        return self.head_.predict(self.features_.transform(X))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """(N, classes) probabilities, where the head has them."""
        check_is_fitted(self, "head_")
        return self.head_.predict_proba(self.features_.transform(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.input_tags.string = True
        tags.no_validation = True
        return tags


def _usual_head() -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
