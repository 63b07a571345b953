"""Random tensors from the usual distributions, each a function of uniform or normal numbers.

All draw from the engine's Philox generator, so a seed gives the same numbers for any number of
threads. Parameters are numbers or tensors that broadcast to the shape asked for, or give it.
Gradients flow to them.
"""

from __future__ import annotations

from math import pi

import engine
from engine._C import Generator, Tensor, dtype
from engine.routines.parameters import Parameter, Shape, check_above, rand, setting


def uniform(
    low: Parameter = 0.0, high: Parameter = 1.0, shape: Shape = None, *,
    dtype: dtype | None = None, generator: Generator | None = None,
) -> Tensor:  # fmt: skip
    """Uniform numbers in [low, high).

    >>> engine.uniform(0.0, 2.0, 3).shape
    (3,)
    """
    size, to = setting("uniform", shape, dtype, low, high)
    return low + (high - low) * rand(size, to, generator)


def normal(
    mean: Parameter = 0.0, std: Parameter = 1.0, shape: Shape = None, *,
    dtype: dtype | None = None, generator: Generator | None = None,
) -> Tensor:  # fmt: skip
    """Normal numbers of a mean and a standard deviation.

    >>> engine.normal(0.0, 2.0, 3).shape
    (3,)
    """
    check_above("normal", "std", std, 0.0, closed=True)
    size, to = setting("normal", shape, dtype, mean, std)
    return mean + std * engine.randn(size, dtype=to, generator=generator)


def log_normal(
    mean: Parameter = 0.0, std: Parameter = 1.0, shape: Shape = None, *,
    dtype: dtype | None = None, generator: Generator | None = None,
) -> Tensor:  # fmt: skip
    """Numbers whose logarithm is normal.

    >>> engine.log_normal(0.0, 1.0, 3).shape
    (3,)
    """
    return engine.exp(normal(mean, std, shape, dtype=dtype, generator=generator))


def exponential(
    rate: Parameter = 1.0, shape: Shape = None, *, dtype: dtype | None = None,
    generator: Generator | None = None,
) -> Tensor:  # fmt: skip
    """Exponential numbers of mean 1 / rate.

    >>> engine.exponential(2.0, 3).shape
    (3,)
    """
    check_above("exponential", "rate", rate, 0.0)
    size, to = setting("exponential", shape, dtype, rate)
    return -engine.log1p(-rand(size, to, generator)) / rate


def laplace(
    loc: Parameter = 0.0, scale: Parameter = 1.0, shape: Shape = None, *,
    dtype: dtype | None = None, generator: Generator | None = None,
) -> Tensor:  # fmt: skip
    """Laplace numbers: an exponential of either sign around loc.

    >>> engine.laplace(0.0, 1.0, 3).shape
    (3,)
    """
    check_above("laplace", "scale", scale, 0.0)
    size, to = setting("laplace", shape, dtype, loc, scale)
    u = rand(size, to, generator) * 2.0 - 1.0  # in [-1, 1)
    step = engine.sign(u) * -engine.log1p(-engine.minimum(engine.abs(u), 1.0 - 2.0**-24))
    return loc + scale * step


def cauchy(
    loc: Parameter = 0.0, scale: Parameter = 1.0, shape: Shape = None, *,
    dtype: dtype | None = None, generator: Generator | None = None,
) -> Tensor:  # fmt: skip
    """Cauchy numbers around loc: half of them within scale of it.

    >>> engine.cauchy(0.0, 1.0, 3).shape
    (3,)
    """
    check_above("cauchy", "scale", scale, 0.0)
    size, to = setting("cauchy", shape, dtype, loc, scale)
    return loc + scale * engine.tan((rand(size, to, generator) - 0.5) * pi)


def gumbel(
    loc: Parameter = 0.0, scale: Parameter = 1.0, shape: Shape = None, *,
    dtype: dtype | None = None, generator: Generator | None = None,
) -> Tensor:  # fmt: skip
    """Gumbel numbers, the law of largest values: loc - scale * log(exponential).

    >>> engine.gumbel(0.0, 1.0, 3).shape
    (3,)
    """
    check_above("gumbel", "scale", scale, 0.0)
    size, to = setting("gumbel", shape, dtype, loc, scale)
    waited = exponential(1.0, size, dtype=to, generator=generator)
    return loc - scale * engine.log(engine.maximum(waited, 1e-30))


def logistic(
    loc: Parameter = 0.0, scale: Parameter = 1.0, shape: Shape = None, *,
    dtype: dtype | None = None, generator: Generator | None = None,
) -> Tensor:  # fmt: skip
    """Logistic numbers: loc + scale * log(u / (1 - u)).

    >>> engine.logistic(0.0, 1.0, 3).shape
    (3,)
    """
    check_above("logistic", "scale", scale, 0.0)
    size, to = setting("logistic", shape, dtype, loc, scale)
    u = rand(size, to, generator)
    return loc + scale * (engine.log(engine.maximum(u, 2.0**-25)) - engine.log1p(-u))


def weibull(
    scale: Parameter, concentration: Parameter, shape: Shape = None, *,
    dtype: dtype | None = None, generator: Generator | None = None,
) -> Tensor:  # fmt: skip
    """Weibull numbers: scale * exponential ^ (1 / concentration).

    >>> engine.weibull(1.0, 2.0, 3).shape
    (3,)
    """
    check_above("weibull", "scale", scale, 0.0)
    check_above("weibull", "concentration", concentration, 0.0)
    size, to = setting("weibull", shape, dtype, scale, concentration)
    return scale * engine.pow(
        exponential(1.0, size, dtype=to, generator=generator), 1.0 / concentration
    )


def pareto(
    scale: Parameter, alpha: Parameter, shape: Shape = None, *, dtype: dtype | None = None,
    generator: Generator | None = None,
) -> Tensor:  # fmt: skip
    """Pareto numbers of at least scale, P(x > t) = (scale / t)^alpha.

    >>> engine.pareto(1.0, 2.0, 3).shape
    (3,)
    """
    check_above("pareto", "scale", scale, 0.0)
    check_above("pareto", "alpha", alpha, 0.0)
    size, to = setting("pareto", shape, dtype, scale, alpha)
    return scale * engine.exp(exponential(1.0, size, dtype=to, generator=generator) / alpha)
