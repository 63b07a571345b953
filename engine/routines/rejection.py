"""Random tensors from distributions that are drawn by rejection or search, in numpy with numbers of
the engine's generator. See distributions.py for parameters and shapes."""

from __future__ import annotations

from typing import Any

import numpy as np

import engine
from engine._C import Generator, Tensor, dtype
from engine.routines.parameters import Parameter, Shape, check_above, setting


def _array(p: Parameter, size: tuple[int, ...]) -> np.ndarray:
    values = p.detach().astype(engine.float64).numpy() if isinstance(p, Tensor) else float(p)
    return np.broadcast_to(np.asarray(values, np.float64), size).reshape(-1)


def _uniforms(n: int, generator: Generator | None) -> np.ndarray:
    return engine.rand(n, dtype=engine.float64, generator=generator).numpy()


def _lgamma(x: np.ndarray) -> np.ndarray:
    return engine.lgamma(engine.asarray(np.ascontiguousarray(x))).numpy()


def _until_accepted(n: int, propose: Any) -> np.ndarray:
    """propose(pending) gives values for those indices and which of them are accepted."""
    out = np.zeros(n)
    pending = np.arange(n)
    while pending.size:
        values, accepted = propose(pending)
        out[pending[accepted]] = values[accepted]
        pending = pending[~accepted]
    return out


def _standard_gamma(alpha: np.ndarray, generator: Generator | None) -> np.ndarray:
    """Marsaglia and Tsang, "A simple method for generating gamma variables", 2000. Below 1 from
    alpha + 1 and a power of a uniform number."""
    raised = np.where(alpha < 1, alpha + 1, alpha)
    d = raised - 1 / 3
    c = 1 / np.sqrt(9 * d)

    def propose(at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        z = engine.randn(at.size, dtype=engine.float64, generator=generator).numpy()
        u = 1 - _uniforms(at.size, generator)
        v = (1 + c[at] * z) ** 3
        safe = np.where(v > 0, v, 1.0)
        ok = (v > 0) & (np.log(u) < 0.5 * z * z + d[at] * (1 - safe + np.log(safe)))
        return d[at] * v, ok

    y = _until_accepted(alpha.size, propose)
    if (alpha < 1).any():
        u = 1 - _uniforms(alpha.size, generator)
        y = np.where(alpha < 1, y * u ** (1 / alpha), y)
    return y


def gamma(
    alpha: Parameter, rate: Parameter = 1.0, shape: Shape = None, *, dtype: dtype | None = None,
    generator: Generator | None = None,
) -> Tensor:  # fmt: skip
    """Gamma numbers of mean alpha / rate (Marsaglia and Tsang, 2000). Gradients flow to rate.

    >>> engine.gamma(2.0, 1.0, 3).shape
    (3,)
    """
    check_above("gamma", "alpha", alpha, 0.0)
    check_above("gamma", "rate", rate, 0.0)
    size, to = setting("gamma", shape, dtype, alpha, rate)
    draws = _standard_gamma(_array(alpha, size), generator).reshape(size)
    return engine.asarray(draws).astype(to) / rate


def chi2(
    df: Parameter, shape: Shape = None, *, dtype: dtype | None = None,
    generator: Generator | None = None,
) -> Tensor:  # fmt: skip
    """Chi-squared numbers of df degrees of freedom: the sum of df squared normal numbers.

    >>> engine.chi2(3.0, 2).shape
    (2,)
    """
    check_above("chi2", "df", df, 0.0)
    return gamma(df * 0.5, 0.5, shape, dtype=dtype, generator=generator)


def student_t(
    df: Parameter, loc: Parameter = 0.0, scale: Parameter = 1.0, shape: Shape = None, *,
    dtype: dtype | None = None, generator: Generator | None = None,
) -> Tensor:  # fmt: skip
    """Student's t: loc + scale * normal / sqrt(chi2 / df).

    >>> engine.student_t(3.0, shape=2).shape
    (2,)
    """
    check_above("student_t", "scale", scale, 0.0)
    size, to = setting("student_t", shape, dtype, df, loc, scale)
    z = engine.randn(size, dtype=to, generator=generator)
    spread = chi2(df, size, dtype=to, generator=generator) / df
    return loc + scale * (z / engine.sqrt(spread))


def beta(
    a: Parameter, b: Parameter, shape: Shape = None, *, dtype: dtype | None = None,
    generator: Generator | None = None,
) -> Tensor:  # fmt: skip
    """Beta numbers in (0, 1) of mean a / (a + b): from two gamma numbers.

    >>> engine.beta(2.0, 3.0, 2).shape
    (2,)
    """
    check_above("beta", "a", a, 0.0)
    check_above("beta", "b", b, 0.0)
    size, to = setting("beta", shape, dtype, a, b)
    x = _standard_gamma(_array(a, size), generator)
    y = _standard_gamma(_array(b, size), generator)
    return engine.asarray((x / (x + y)).reshape(size)).astype(to)


def dirichlet(
    alpha: Tensor, shape: Shape = None, *, dtype: dtype | None = None,
    generator: Generator | None = None,
) -> Tensor:  # fmt: skip
    """Dirichlet vectors: positive, of sum 1 along the last axis, of mean alpha / sum(alpha).

    Args:
        alpha: (..., k), positive.
        shape: of the result without its last axis; alpha's by default.

    >>> engine.dirichlet(engine.ones(3), 2).shape
    (2, 3)
    """
    check_above("dirichlet", "alpha", alpha, 0.0)
    k = alpha.shape[-1]
    if shape is not None:
        shape = (*((shape,) if isinstance(shape, int) else shape), k)
    size, to = setting("dirichlet", shape, dtype, alpha)
    draws = _standard_gamma(_array(alpha, size), generator).reshape(size)
    return engine.asarray(draws / draws.sum(axis=-1, keepdims=True)).astype(to)


def _poisson_by_search(lam: np.ndarray, u: np.ndarray) -> np.ndarray:
    """The smallest k whose cumulative probability exceeds u, for small means."""
    k = np.zeros(lam.size)
    term = np.exp(-lam)
    total = term.copy()
    above = u >= total
    while above.any():
        k[above] += 1
        term = np.where(above, term * lam / np.maximum(k, 1), term)
        total = np.where(above, total + term, total)
        above &= (u >= total) & (term > 1e-300) & (k < 200)
    return k


def _poisson_by_rejection(lam: np.ndarray, generator: Generator | None) -> np.ndarray:
    """W. Hoermann, "The transformed rejection method for generating Poisson random variables",
    1993 (PTRS)."""
    b = 0.931 + 2.53 * np.sqrt(lam)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    v_r = 0.9277 - 3.6224 / (b - 2)

    def propose(at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        u = _uniforms(at.size, generator) - 0.5
        v = 1 - _uniforms(at.size, generator)
        us = 0.5 - np.abs(u)
        with np.errstate(divide="ignore", invalid="ignore"):
            k = np.floor((2 * a[at] / us + b[at]) * u + lam[at] + 0.43)
            quick = (us >= 0.07) & (v <= v_r[at])
            possible = (k >= 0) & ~((us < 0.013) & (v > us))
            left = np.log(v * inverse_alpha[at] / (a[at] / (us * us) + b[at]))
            right = -lam[at] + np.maximum(k, 0) * np.log(lam[at]) - _lgamma(np.maximum(k, 0) + 1)
        return k, quick | (possible & (left <= right))

    return _until_accepted(lam.size, propose)


def poisson(
    rate: Parameter, shape: Shape = None, *, dtype: dtype | None = None,
    generator: Generator | None = None,
) -> Tensor:  # fmt: skip
    """Poisson counts of mean rate, in a floating-point dtype (Hoermann, 1993).

    >>> engine.poisson(4.0, 3).shape
    (3,)
    """
    check_above("poisson", "rate", rate, 0.0, closed=True)
    size, to = setting("poisson", shape, dtype, rate)
    lam = _array(rate, size)
    k = _poisson_by_search(np.minimum(lam, 10.0), _uniforms(lam.size, generator))
    large = lam >= 10
    if large.any():
        k[large] = _poisson_by_rejection(lam[large], generator)
    return engine.asarray(k.reshape(size)).astype(to)


def _binomial_by_search(n: np.ndarray, p: np.ndarray, u: np.ndarray) -> np.ndarray:
    k = np.zeros(n.size)
    term = (1 - p) ** n
    total = term.copy()
    odds = p / (1 - p)
    above = (u >= total) & (k < n)
    while above.any():
        term = np.where(above, term * (n - k) / (k + 1) * odds, term)
        k[above] += 1
        total = np.where(above, total + term, total)
        above &= (u >= total) & (k < n) & (k < 200)
    return k


def _binomial_by_rejection(n: np.ndarray, p: np.ndarray, generator: Generator | None) -> np.ndarray:
    """W. Hoermann, "The generation of binomial random variates", 1993 (BTRS), for p <= 1/2 and
    n p >= 10."""
    spread = np.sqrt(n * p * (1 - p))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    c = n * p + 0.5
    v_r = 0.92 - 4.2 / b
    alpha = (2.83 + 5.1 / b) * spread
    odds = np.log(p / (1 - p))
    m = np.floor((n + 1) * p)
    top = _lgamma(m + 1) + _lgamma(n - m + 1)

    def propose(at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        u = _uniforms(at.size, generator) - 0.5
        v = 1 - _uniforms(at.size, generator)
        us = 0.5 - np.abs(u)
        with np.errstate(divide="ignore", invalid="ignore"):
            k = np.floor((2 * a[at] / us + b[at]) * u + c[at])
            quick = (us >= 0.07) & (v <= v_r[at])
            possible = (k >= 0) & (k <= n[at])
            inside = np.clip(k, 0, n[at])
            left = np.log(v * alpha[at] / (a[at] / (us * us) + b[at]))
            right = (top[at] - _lgamma(inside + 1) - _lgamma(n[at] - inside + 1)
                     + (inside - m[at]) * odds[at])  # fmt: skip
        return k, possible & (quick | (left <= right))

    return _until_accepted(n.size, propose)


def binomial(
    n: Parameter, p: Parameter, shape: Shape = None, *, dtype: dtype | None = None,
    generator: Generator | None = None,
) -> Tensor:  # fmt: skip
    """How many of n trials of probability p succeed, in a floating-point dtype (Hoermann, 1993).

    >>> engine.binomial(10, 0.5, 3).shape
    (3,)
    """
    check_above("binomial", "n", n, 0.0, closed=True)
    check_above("binomial", "p", p, 0.0, closed=True)
    size, to = setting("binomial", shape, dtype, n, p)
    trials, chance = _array(n, size), _array(p, size)
    if chance.size and (chance.max() > 1 or (trials != np.floor(trials)).any()):
        raise ValueError("binomial: expected whole numbers of trials and probabilities up to 1")
    rare = np.minimum(chance, 1 - chance)
    large = trials * rare >= 10
    few = np.where(large, 0.0, trials)
    k = _binomial_by_search(few, rare, _uniforms(trials.size, generator))
    if large.any():
        k[large] = _binomial_by_rejection(trials[large], rare[large], generator)
    k = np.where(chance > 0.5, trials - k, k)
    return engine.asarray(k.reshape(size)).astype(to)


def geometric(
    p: Parameter, shape: Shape = None, *, dtype: dtype | None = None,
    generator: Generator | None = None,
) -> Tensor:  # fmt: skip
    """How many trials of probability p the first success takes, at least 1; a floating-point dtype.

    >>> engine.geometric(0.5, 3).shape
    (3,)
    """
    check_above("geometric", "p", p, 0.0)
    size, to = setting("geometric", shape, dtype, p)
    chance = _array(p, size)
    if chance.size and chance.max() > 1:
        raise ValueError(f"geometric: p is {chance.max()}; expected at most 1")
    u = 1 - _uniforms(chance.size, generator)
    with np.errstate(divide="ignore"):
        k = np.maximum(1.0, np.ceil(np.log(u) / np.log1p(-chance)))
    return engine.asarray(k.reshape(size)).astype(to)
