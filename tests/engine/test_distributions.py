"""Random distributions: their moments, their gradients, and that a seed fixes them."""

from __future__ import annotations

import math

import numpy as np
import pytest

import engine

N = 40000
DRAW = {
    "uniform": lambda *a, **k: engine.uniform(*a, **k),
    "normal": lambda *a, **k: engine.normal(*a, **k),
    "log_normal": lambda *a, **k: engine.log_normal(*a, **k),
    "exponential": lambda *a, **k: engine.exponential(*a, **k),
    "laplace": lambda *a, **k: engine.laplace(*a, **k),
    "cauchy": lambda *a, **k: engine.cauchy(*a, **k),
    "gumbel": lambda *a, **k: engine.gumbel(*a, **k),
    "logistic": lambda *a, **k: engine.logistic(*a, **k),
    "weibull": lambda *a, **k: engine.weibull(*a, **k),
    "pareto": lambda *a, **k: engine.pareto(*a, **k),
    "gamma": lambda *a, **k: engine.gamma(*a, **k),
    "chi2": lambda *a, **k: engine.chi2(*a, **k),
    "student_t": lambda *a, **k: engine.student_t(*a, **k),
    "beta": lambda *a, **k: engine.beta(*a, **k),
    "poisson": lambda *a, **k: engine.poisson(*a, **k),
    "binomial": lambda *a, **k: engine.binomial(*a, **k),
    "geometric": lambda *a, **k: engine.geometric(*a, **k),
}


def drawn(name: str, *args: object, **kwargs: object) -> np.ndarray:
    g = engine.Generator(20151210)
    return DRAW[name](*args, N, dtype=engine.float64, generator=g, **kwargs).numpy()


# name, arguments, mean, variance
MOMENTS = [
    ("uniform", (-1.0, 3.0), 1.0, 16 / 12),
    ("normal", (2.0, 3.0), 2.0, 9.0),
    ("log_normal", (0.1, 0.5), math.exp(0.1 + 0.125), (math.exp(0.25) - 1) * math.exp(0.45)),
    ("exponential", (2.0,), 0.5, 0.25),
    ("laplace", (1.0, 2.0), 1.0, 8.0),
    ("gumbel", (1.0, 2.0), 1 + 2 * 0.5772156649, math.pi**2 / 6 * 4),
    ("logistic", (1.0, 0.5), 1.0, math.pi**2 / 3 * 0.25),
    ("weibull", (2.0, 3.0), 2 * math.gamma(4 / 3),
     4 * (math.gamma(5 / 3) - math.gamma(4 / 3) ** 2)),
    ("pareto", (1.0, 6.0), 6 / 5, 6 / (25 * 4)),
    ("gamma", (3.5, 2.0), 1.75, 0.875),
    ("gamma", (0.3, 1.0), 0.3, 0.3),
    ("chi2", (5.0,), 5.0, 10.0),
    ("student_t", (12.0, 1.0, 2.0), 1.0, 4 * 12 / 10),
    ("beta", (2.0, 3.0), 0.4, 0.04),
    ("poisson", (3.0,), 3.0, 3.0),
    ("poisson", (40.0,), 40.0, 40.0),
    ("binomial", (10, 0.3), 3.0, 2.1),
    ("binomial", (200, 0.7), 140.0, 42.0),
    ("geometric", (0.25,), 4.0, 12.0),
]  # fmt: skip


@pytest.mark.parametrize("name, args, mean, variance", MOMENTS)
def test_mean_and_variance(name: str, args: tuple, mean: float, variance: float) -> None:
    x = drawn(name, *args)
    assert x.shape == (N,)
    assert np.isfinite(x).all()
    # Five standard errors of the mean; the variance within a tenth.
    assert abs(x.mean() - mean) < 5 * math.sqrt(variance / N)
    assert abs(x.var() - variance) < 0.1 * variance


def test_cauchy_has_its_quartiles() -> None:
    low, middle, high = np.quantile(drawn("cauchy", 1.0, 2.0), [0.25, 0.5, 0.75])
    assert abs(low + 1) < 0.1 and abs(middle - 1) < 0.1 and abs(high - 3) < 0.1


def test_poisson_and_binomial_have_their_probabilities() -> None:
    for lam in (2.0, 15.0):
        counts = np.bincount(drawn("poisson", lam).astype(int))
        k = np.arange(counts.size)
        wanted = np.exp(k * math.log(lam) - lam - [math.lgamma(i + 1) for i in k])
        assert np.abs(counts / N - wanted).max() < 5 * math.sqrt(0.3 / N)
    for n, p in ((8, 0.4), (60, 0.5)):
        counts = np.bincount(drawn("binomial", n, p).astype(int), minlength=n + 1)
        wanted = np.array([math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)])
        assert np.abs(counts / N - wanted).max() < 5 * math.sqrt(0.3 / N)


def test_extreme_parameters() -> None:
    assert engine.poisson(0.0, 4).tolist() == [0.0] * 4
    assert engine.binomial(5, 0.0, 3).tolist() == [0.0] * 3
    assert engine.binomial(5, 1.0, 3).tolist() == [5.0] * 3
    assert engine.geometric(1.0, 3).tolist() == [1.0] * 3


def test_a_seed_fixes_the_numbers_for_any_number_of_threads() -> None:
    before = engine.get_num_threads()
    try:
        seen = []
        for threads in (1, 3):
            engine.set_num_threads(threads)
            seen.append([drawn(name, *args).tobytes() for name, args, _, _ in MOMENTS])
    finally:
        engine.set_num_threads(before)
    assert seen[0] == seen[1]


def test_dirichlet_rows_sum_to_one() -> None:
    x = engine.dirichlet(engine.asarray([1.0, 2.0, 5.0]), 5000, dtype=engine.float64,
                         generator=engine.Generator(1)).numpy()  # fmt: skip
    assert x.shape == (5000, 3)
    np.testing.assert_allclose(x.sum(1), 1)
    np.testing.assert_allclose(x.mean(0), [1 / 8, 2 / 8, 5 / 8], atol=0.02)


def test_gradients_flow_to_parameters() -> None:
    def drawn_with(name: str, at: tuple[float, ...]) -> engine.Tensor:
        parameters = [engine.asarray(np.float64(v)) for v in at]
        for t in parameters:
            t.requires_grad = True
        y = DRAW[name](*parameters, 50, generator=engine.Generator(3)).sum()
        return y, parameters

    for name, at in (("normal", (0.5, 2.0)), ("exponential", (2.0,)), ("laplace", (0.1, 1.5)),
                     ("cauchy", (0.1, 0.7)), ("gumbel", (0.2, 1.3)), ("logistic", (0.2, 1.3)),
                     ("weibull", (1.5, 2.5)), ("pareto", (1.5, 4.0)), ("uniform", (-1.0, 2.0)),
                     ("log_normal", (0.1, 0.6))):  # fmt: skip
        y, parameters = drawn_with(name, at)
        y.backward()
        for i, p in enumerate(parameters):
            step = [v + 1e-6 * (j == i) for j, v in enumerate(at)]
            back = [v - 1e-6 * (j == i) for j, v in enumerate(at)]
            slope = float(drawn_with(name, step)[0]) - float(drawn_with(name, back)[0])
            np.testing.assert_allclose(float(p.grad), slope / 2e-6, rtol=1e-5, err_msg=name)


def test_parameters_broadcast_and_give_shape_and_dtype() -> None:
    rate = engine.asarray(np.array([[1.0], [100.0]]))
    x = engine.exponential(rate)
    assert x.shape == (2, 1) and x.dtype == engine.float64
    assert engine.exponential(rate, (2, 3)).shape == (2, 3)
    assert engine.exponential(1.0).shape == ()
    with pytest.raises(ValueError, match=r"\(2, 1\) do not broadcast to \(3,\)"):
        engine.exponential(rate, 3)


@pytest.mark.parametrize("name, args, pattern", [
    ("exponential", (0.0,), "rate is 0.0"), ("normal", (0.0, -1.0), "std is -1.0"),
    ("gamma", (-1.0,), "alpha is -1.0"), ("beta", (1.0, 0.0), "b is 0.0"),
    ("poisson", (-1.0,), "rate is -1.0"), ("binomial", (2, 1.5), "up to 1"),
    ("binomial", (2.5, 0.5), "whole numbers"), ("geometric", (1.5,), "at most 1"),
])  # fmt: skip
def test_parameters_out_of_range_are_named(name: str, args: tuple, pattern: str) -> None:
    with pytest.raises(ValueError, match=pattern):
        DRAW[name](*args, shape=2)


def test_multinomial_follows_its_weights() -> None:
    g = engine.Generator(5)
    weights = engine.asarray([0.0, 1.0, 3.0])
    at = engine.multinomial(weights, N, replacement=True, generator=g).numpy()
    counts = np.bincount(at, minlength=3)
    assert counts[0] == 0
    assert abs(counts[2] / N - 0.75) < 0.02
    rows = engine.multinomial(engine.ones((4000, 3)), 2, generator=g).numpy()
    assert (rows[:, 0] != rows[:, 1]).all()
    np.testing.assert_allclose(np.bincount(rows[:, 0]) / 4000, 1 / 3, atol=0.04)
    first = engine.multinomial(engine.asarray([1.0, 3.0]).reshape(1, 2) + engine.zeros((4000, 1)),
                               1, generator=g).numpy()  # fmt: skip
    assert abs(first.mean() - 0.75) < 0.04
    with pytest.raises(ValueError, match="cannot draw 3"):
        engine.multinomial(weights, 3)
    with pytest.raises(ValueError, match="negative"):
        engine.multinomial(engine.asarray([-1.0, 2.0]), 1)


def test_shuffle_and_choice_draw_slices() -> None:
    g = engine.Generator(2)
    x = engine.arange(20).reshape(10, 2)
    mixed = engine.shuffle(x, generator=g).numpy()
    assert sorted(mixed.tolist()) == x.tolist() and mixed.tolist() != x.tolist()
    columns = engine.shuffle(x, axis=1, generator=g)
    assert columns.shape == (10, 2)
    assert engine.choice(x, generator=g).shape == (2,)
    some = engine.choice(x, 10, replace=False, generator=g).numpy()
    assert sorted(some.tolist()) == x.tolist()
    often = engine.choice(engine.arange(2), N, p=engine.asarray([1.0, 3.0]), generator=g).numpy()
    assert abs(often.mean() - 0.75) < 0.02
    with pytest.raises(ValueError, match="cannot draw 11 of 10"):
        engine.choice(x, 11, replace=False)
