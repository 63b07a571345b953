"""Libraries that speak the array API work on tensors: scipy and scikit-learn.

    pip install scipy scikit-learn
    SCIPY_ARRAY_API=1 python -m pytest -m interop tests/engine/test_interop_libraries.py

They are no dependency of the tests, so these are deselected unless asked for.
"""

from __future__ import annotations

import numpy as np
import pytest

import engine

pytestmark = pytest.mark.interop
rng = np.random.default_rng(3)


def points(*shape: int) -> tuple[np.ndarray, engine.Tensor]:
    a = rng.standard_normal(shape)
    return a, engine.asarray(a)


def test_scipy_special() -> None:
    from scipy.special import logsumexp

    a, t = points(4, 5)
    got = logsumexp(t, axis=1)
    assert isinstance(got, engine.Tensor)
    np.testing.assert_allclose(got.numpy(), logsumexp(a, axis=1))


def test_scipy_stats() -> None:
    from scipy.stats import zscore

    a, t = points(20, 3)
    got = zscore(t, axis=0)
    assert isinstance(got, engine.Tensor)
    np.testing.assert_allclose(got.numpy(), zscore(a, axis=0))


def test_scikit_learn_scaling() -> None:
    import sklearn
    from sklearn.preprocessing import MinMaxScaler

    a, t = points(30, 4)
    with sklearn.config_context(array_api_dispatch=True):
        got = MinMaxScaler().fit(t).transform(t)
    assert isinstance(got, engine.Tensor)
    np.testing.assert_allclose(got.numpy(), MinMaxScaler().fit_transform(a))


def test_scikit_learn_discriminant_analysis() -> None:
    import sklearn
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    a, t = points(60, 4)
    labels = (a[:, 0] + 0.3 * a[:, 1] > 0).astype(np.int64)
    reference = LinearDiscriminantAnalysis().fit(a, labels)
    with sklearn.config_context(array_api_dispatch=True):
        model = LinearDiscriminantAnalysis().fit(t, engine.asarray(labels))
        got = model.predict(t)
    assert isinstance(got, engine.Tensor)
    np.testing.assert_array_equal(got.numpy(), reference.predict(a))
