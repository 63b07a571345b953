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


def test_scikit_learn_metrics() -> None:
    import sklearn
    from sklearn.metrics import mean_squared_error, r2_score

    (a, t), (b, u) = points(30), points(30)
    with sklearn.config_context(array_api_dispatch=True):
        for metric in (mean_squared_error, r2_score):
            assert abs(metric(t, u) - metric(a, b)) < 1e-12
