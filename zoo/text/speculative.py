"""Speculative decoding: a small model drafts some tokens, the large one reads them in one pass and
keeps those that it might as well have said itself (Leviathan et al., arXiv:2211.17192).

What comes out has exactly the large model's distribution, and is its very text where nothing is
drawn. It pays where reading the weights takes the time, so that several tokens cost what one does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

import engine
from zoo.placement import beside, host_array
from zoo.text.errors import GenerateError
from zoo.text.sampling import Draws, Processor, adjusted, draw_from, probabilities
from zoo.text.settings import GenerateConfig

if TYPE_CHECKING:
    from zoo.models.text_model import TextModel

AHEAD = 4  # tokens that are drafted at once


def speculate(
    model: TextModel,
    draft: TextModel,
    tokens: Sequence[int],
    config: GenerateConfig,
    most: int,
    draws: Draws,
    processors: Sequence[Processor] = (),
) -> Iterator[int]:
    """Tokens that follow `tokens`, `most` of them, as `model` says them.

    Args:
        draft: a model with the same tokenizer; the faster and the more alike, the better.
        tokens: of the prompt; with `most` they fit both models' contexts.

    Raises:
        GenerateError: another tokenizer, or a context that is too short.

    >>> list(speculate(large, small, [1, 2], GenerateConfig(), 20, Draws(0, 0)))  # doctest: +SKIP
    """
    if draft.tokenizer.digest != model.tokenizer.digest:
        raise GenerateError(
            f"the draft {draft.arch} has another tokenizer than {model.arch}; expected the same, "
            "as of gpt2 and distilgpt2"
        )
    if len(tokens) + most > draft.context:
        raise GenerateError(
            f"the draft {draft.arch} reads at most {draft.context} tokens, not {len(tokens) + most}"
        )
    return _speculate(model, draft, list(tokens), config, most, draws, processors)


def _speculate(
    model: TextModel,
    draft: TextModel,
    row: list[int],
    config: GenerateConfig,
    most: int,
    draws: Draws,
    processors: Sequence[Processor],
) -> Iterator[int]:
    end = len(row) + most
    large, small = (_Rewinding(m, row, end, config, processors) for m in (model, draft))
    while len(row) < end:
        ahead = min(AHEAD, end - len(row) - 1)
        start = len(row)
        guesses: list[NDArray[np.float64]] = []
        for _ in range(ahead):
            guesses.append(small.next(1)[0])
            row.append(draw_from(guesses[-1], draws.next()))
        wanted = large.next(ahead + 1)  # what may follow each of the last ahead + 1 tokens
        kept = 0
        while kept < ahead and accepted(
            wanted[kept], guesses[kept], row[start + kept], draws.next()
        ):
            kept += 1
        p = wanted[kept] if kept == ahead else residual(wanted[kept], guesses[kept])
        row[start + kept :] = [draw_from(p, draws.next())]
        yield from row[start:]


def accepted(p: NDArray[np.float64], q: NDArray[np.float64], token: int, u: float) -> bool:
    """Whether a token that was drawn from q may stand for one from p: with probability
    min(1, p / q), u being uniform in [0, 1).

    >>> accepted(np.array([0.2, 0.8]), np.array([0.8, 0.2]), 1, 0.99)
    True
    """
    return bool(u * q[token] < p[token])


def residual(p: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
    """What to draw from after a token from q was refused: the part of p that q lacks.

    >>> residual(np.array([0.2, 0.8]), np.array([0.8, 0.2]))
    array([0., 1.])
    """
    rest = np.maximum(p - q, 0)
    total = rest.sum()
    return rest / total if total > 0 else p


class _Rewinding:
    """Probabilities of what follows the tokens of a row that may have been taken back."""

    def __init__(
        self,
        model: TextModel,
        row: list[int],
        length: int,
        config: GenerateConfig,
        processors: Sequence[Processor],
    ) -> None:
        self.model = model
        self.row = row
        self.config = config
        self.processors = processors
        self.cache = model.new_cache(1, length)
        self._read: list[int] = []  # what the cache holds

    def next(self, count: int) -> list[NDArray[np.float64]]:
        """(V,) for each of the last `count` tokens of the row."""
        row, same = self.row, 0
        most = len(row) - count  # the last ones are read in any case
        while same < min(len(self._read), most) and self._read[same] == row[same]:
            same += 1
        self.cache.used = same
        with engine.no_grad():
            (tokens,) = beside(self.model, [row[same:]])
            hidden = self.model.hidden(tokens, None, self.cache)
            logits = host_array(self.model.logits(hidden[0, -count:]))  # (count, V)
        self._read = list(row)
        size = self.model.tokenizer.size
        return [
            self._probabilities(line[:size], row[: len(row) - count + 1 + i])
            for i, line in enumerate(logits)
        ]

    def _probabilities(
        self, logits: NDArray[np.float32], seen: Sequence[int]
    ) -> NDArray[np.float64]:
        z = adjusted(logits, seen, self.config, self.processors)
        if self.config.greedy:
            likeliest = np.zeros_like(z)
            likeliest[z.argmax()] = 1
            return likeliest
        return probabilities(z, self.config)
