"""Which token comes next: the choice from a row of logits."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zoo.text.errors import GenerateError
from zoo.text.settings import GenerateConfig

# processor(tokens so far, logits (V,)) -> logits (V,); -inf forbids a token.
Processor = Callable[[Sequence[int], NDArray[Any]], NDArray[Any]]


class Draws:
    """Uniform numbers in [0, 1) for one text: they depend on (seed, number of the text) alone, so a
    text does not change with what else is in its batch.

    >>> Draws(1, 0).next() == Draws(1, 0).next(), Draws(1, 0).next() == Draws(1, 1).next()
    (True, False)
    """

    def __init__(self, seed: int, number: int) -> None:
        self._bits = np.random.Philox(key=np.array([seed, number], np.uint64))

    def next(self) -> float:
        """The next number; 53 random bits."""
        return (int(self._bits.random_raw()) >> 11) * 2.0**-53


def choose(
    logits: NDArray[Any],
    tokens: Sequence[int],
    config: GenerateConfig,
    draws: Draws,
    processors: Sequence[Processor] = (),
) -> int:
    """The next token of one text.

    Args:
        logits: (V,), not changed.
        tokens: of the text so far, the prompt included.

    Raises:
        GenerateError: the logits are not finite, or a processor forbids everything.

    >>> choose(np.array([1.0, 3.0]), [], GenerateConfig(temperature=0), Draws(0, 0))
    1
    """
    z = adjusted(logits, tokens, config, processors)
    if config.greedy:
        return int(z.argmax())
    return draw_from(probabilities(z, config), draws.next())


def adjusted(
    logits: NDArray[Any],
    tokens: Sequence[int],
    config: GenerateConfig,
    processors: Sequence[Processor] = (),
) -> NDArray[np.float64]:
    """The logits after the penalty on repetition (Keskar et al., arXiv:1909.05858) and the
    processors, float64."""
    z = np.array(logits, np.float64)
    if config.repetition_penalty != 1 and len(tokens):
        there = np.unique(np.asarray(tokens, np.int64))
        seen = z[there]
        penalty = config.repetition_penalty
        z[there] = np.where(seen > 0, seen / penalty, seen * penalty)
    for processor in processors:
        z = np.asarray(processor(tokens, z), np.float64)
        if z.shape != logits.shape:
            raise GenerateError(
                f"a logits processor returned shape {z.shape}; expected {logits.shape}"
            )
    largest = z.max()
    if not math.isfinite(largest):
        raise GenerateError(
            f"the largest logit is {largest}: no token can be chosen. The weights are not finite, "
            "or a logits processor forbids every token."
        )
    return z


def probabilities(z: NDArray[np.float64], config: GenerateConfig) -> NDArray[np.float64]:
    """Of the tokens, after temperature, top_k (Fan et al., arXiv:1805.04833), top_p (Holtzman et
    al., arXiv:1904.09751) and min_p (Nguyen et al., arXiv:2407.01082); they add up to 1.

    >>> probabilities(np.log([0.5, 0.3, 0.2]), GenerateConfig(temperature=1, top_p=0.6)).round(3)
    array([0.625, 0.375, 0.   ])
    """
    p = np.exp((z - z.max()) / config.temperature)
    if 0 < config.top_k < len(p):
        p[p < np.partition(p, -config.top_k)[-config.top_k]] = 0
    p /= p.sum()
    if config.top_p < 1:
        order = np.argsort(-p, kind="stable")
        before = np.cumsum(p[order]) - p[order]  # of all that are likelier
        p[order[before >= config.top_p]] = 0
    if config.min_p > 0:
        p[p < config.min_p * p.max()] = 0
    return p / p.sum()


def draw_from(p: NDArray[np.float64], u: float) -> int:
    """The token at which the running sum of probabilities passes u in [0, 1).

    >>> draw_from(np.array([0.5, 0.0, 0.5]), 0.5)
    2
    """
    total = np.cumsum(p)
    at = int(np.searchsorted(total, u * total[-1], side="right"))
    return min(at, int(np.flatnonzero(p)[-1]))
