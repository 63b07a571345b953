"""The product's first and second gradients where elements are zero, where a quotient would fail."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from tests.gradcheck import gradcheck, gradgradcheck

ROWS = [
    np.array([[0.0, 2.0, 3.0], [0.0, 0.0, 3.0], [1.0, 2.0, 3.0]]),
    np.array([[0.0, 0.0, 0.0], [2.0, 0.0, -1.0]]),
]


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1), -1])
@pytest.mark.parametrize("a", ROWS, ids=["some", "many"])
def test_zeros_have_gradients_of_every_order(a: np.ndarray, axis: object) -> None:
    gradcheck(lambda x: engine.prod(x, axis=axis), [a])
    gradgradcheck(lambda x: engine.prod(x, axis=axis), [a])


def test_three_axes() -> None:
    a = np.random.default_rng(0).uniform(0.5, 1.5, (2, 3, 2))
    a[0, 1, 1] = 0
    gradgradcheck(lambda x: engine.prod(x, axis=(0, 2), keepdims=True), [a])
