"""Beam search: the likeliest of many continuations, kept side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from zoo.text.sampling import Processor, adjusted
from zoo.text.settings import GenerateConfig

if TYPE_CHECKING:
    from zoo.models.text_model import TextModel


def beam_search(
    model: TextModel,
    tokens: Sequence[int],
    config: GenerateConfig,
    most: int,
    processors: Sequence[Processor] = (),
) -> list[int]:
    """The continuation of the highest mean log-probability a token that `config.beams` beams find.

    Args:
        tokens: of the prompt, one or more.
        most: tokens to make at most; it ends earlier where the end of the text is the best.

    >>> beam_search(model, [1, 2], GenerateConfig(beams=4), 20)      # doctest: +SKIP
    """
    from zoo.text.generation import Reader

    start, end = len(tokens), model.tokenizer.end
    rows = [list(tokens) for _ in range(config.beams)]
    reader = Reader(model, rows, start + most, config.cache, config.window)
    scores = np.array([0.0] + [-np.inf] * (config.beams - 1))  # sums of log p; one beam at first
    ended: list[tuple[float, list[int]]] = []
    was_training = model.training
    model.eval()
    try:
        for made in range(1, most + 1):
            logits = reader.next_logits()[:, : model.tokenizer.size]
            tables = [
                _log_softmax(adjusted(line, row, config, processors))
                for line, row in zip(logits, rows, strict=True)
            ]
            total = scores[:, None] + np.stack(tables)  # (beams, V)
            # Twice as many as are kept: as many again may end here.
            order = np.argsort(-total, axis=None, kind="stable")[: 2 * config.beams]
            kept: list[tuple[int, int, float]] = []
            for place in order.tolist():
                beam, token = divmod(place, total.shape[1])
                score = float(total[beam, token])
                if token == end:
                    ended.append((score / made, [*rows[beam][start:], token]))
                elif len(kept) < config.beams:
                    kept.append((beam, token, score))
            best = max(ended, default=None)
            if best is not None and best[0] >= kept[0][2] / made and len(ended) >= config.beams:
                return best[1]
            before = [row[start:] for row in rows]
            for row, (beam, token, _) in zip(rows, kept, strict=True):
                row[start:] = [*before[beam], token]
            scores = np.array([score for _, _, score in kept])
            if reader.cache is not None:
                reader.cache.reorder([beam for beam, _, _ in kept])
    finally:
        model.train(was_training)
    return max([*ended, (float(scores[0]) / most, rows[0][start:])])[1]


def _log_softmax(z: np.ndarray) -> np.ndarray:
    shifted = z - z.max()
    return shifted - np.log(np.exp(shifted).sum())
