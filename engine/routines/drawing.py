"""Drawing from given things."""

from __future__ import annotations

import numpy as np

import engine
from engine._C import Generator, Tensor
from engine.routines.distributions import exponential
from engine.routines.parameters import Shape


def multinomial(
    p: Tensor, num_samples: int, replacement: bool = False, *, generator: Generator | None = None
) -> Tensor:
    """Positions drawn with probabilities proportional to the weights p, a vector (k,) or rows
    (n, k): int64 (num_samples,) or (n, num_samples).

    Without replacement by exponential races (Efraimidis and Spirakis, 2006).

    >>> engine.multinomial(engine.asarray([0.0, 1.0]), 1)
    Tensor([1], dtype=int64)
    """
    if p.ndim not in (1, 2):
        raise ValueError(f"multinomial: expected weights (k,) or (n, k), got shape {p.shape}")
    weights = p.detach().astype(engine.float64)
    values = np.atleast_2d(weights.numpy())
    if num_samples < 0 or not np.isfinite(values).all() or (values < 0).any():
        raise ValueError("multinomial: expected finite weights and a count, none of them negative")
    if values.size and (values.sum(axis=1) == 0).any():
        raise ValueError("multinomial: the weights of a row are all 0")
    if not replacement and num_samples > (values > 0).sum(axis=1).min(initial=values.shape[1]):
        raise ValueError(
            f"multinomial: cannot draw {num_samples} of fewer positive weights without replacement"
        )
    if replacement:
        bounds = np.cumsum(values, axis=1)
        u = engine.rand((values.shape[0], num_samples), dtype=engine.float64, generator=generator)
        rows = u.numpy() * bounds[:, -1:]
        found = [np.searchsorted(b, r, side="right") for b, r in zip(bounds, rows, strict=True)]
        last = [np.flatnonzero(v)[-1] for v in values]  # rounding must not pass it
        drawn = np.array([np.minimum(f, top) for f, top in zip(found, last, strict=True)], np.int64)
        drawn = drawn.reshape(values.shape[0], num_samples)
    else:
        waits = exponential(1.0, values.shape, dtype=engine.float64, generator=generator)
        with np.errstate(divide="ignore"):
            arrival = np.where(values > 0, waits.numpy() / values, np.inf)
        drawn = engine.topk(engine.asarray(arrival), num_samples, largest=False).indices.numpy()
    return engine.asarray(np.array(drawn[0] if p.ndim == 1 else drawn))


def shuffle(x: Tensor, /, *, axis: int = 0, generator: Generator | None = None) -> Tensor:
    """A copy of x with the slices along an axis in random order.

    >>> engine.shuffle(engine.ones(3)).shape
    (3,)
    """
    if x.ndim == 0:
        raise ValueError("shuffle: expected at least 1 dimension, got a 0-d tensor")
    n = x.shape[axis]
    return engine.take(x, engine.randperm(n, generator=generator), axis=axis)


def choice(
    x: Tensor, shape: Shape = None, /, *, replace: bool = True, p: Tensor | None = None,
    axis: int = 0, generator: Generator | None = None,
) -> Tensor:  # fmt: skip
    """Slices of x drawn along an axis, all equally likely or with weights p; a single one, without
    the axis, if no shape is given.

    >>> engine.choice(engine.asarray([1, 2, 3]), (2, 2)).shape
    (2, 2)
    """
    if x.ndim == 0:
        raise ValueError("choice: expected at least 1 dimension, got a 0-d tensor")
    n = x.shape[axis]
    size = () if shape is None else (shape,) if isinstance(shape, int) else tuple(shape)
    count = int(np.prod(size))
    if n == 0 or (not replace and count > n):
        raise ValueError(f"choice: cannot draw {count} of {n} slices")
    if p is not None:
        at = multinomial(p, count, replace, generator=generator)
    elif replace:
        at = engine.randint(0, n, count, generator=generator)
    else:
        at = engine.randperm(n, generator=generator)[:count]
    return engine.take(x, engine.reshape(at, size), axis=axis)
