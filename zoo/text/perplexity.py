"""How well a model predicts a text."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

import engine
from hub.progress import progress_bar
from zoo.models.gpt import IGNORED
from zoo.placement import beside
from zoo.text.blocks import Tokens, whole, windows
from zoo.text.corpus import load_corpus
from zoo.text.errors import GenerateError
from zoo.train.distributed import ALONE, Ranks
from zoo.train.metrics import added

if TYPE_CHECKING:
    from zoo.models.text_model import TextModel


@dataclass(frozen=True)
class TextMeasured:
    """What a model scored on a text.

    Attributes:
        run, data: what was measured, on what.
        loss: mean over the tokens of -log p, nats.
        perplexity: exp(loss).
        bits_per_byte: -log2 p of all the text over its UTF-8 bytes; comparable between models of
            different vocabularies.
        tokens: scored, each once.
        context, stride: tokens of a window, and how far each is from the last one.
    """

    run: str
    data: str
    loss: float
    perplexity: float
    bits_per_byte: float
    tokens: int
    context: int
    stride: int

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)

    def lines(self) -> list[str]:
        """The report for people, one string a line."""
        return [
            f"Perplexity {self.perplexity:.3f}, {self.bits_per_byte:.4f} bits per byte, loss "
            f"{self.loss:.4f}",
            f"  over {self.tokens:,} tokens, each scored once, with windows of {self.context} "
            f"tokens every {self.stride}",
        ]


def text_loss(
    model: TextModel,
    tokens: Tokens,
    *,
    length: int,
    stride: int,
    batch_size: int = 4,
    on_batch: Callable[[int], None] = lambda scored: None,
    ranks: Ranks = ALONE,
) -> tuple[float, int]:
    """(Sum of -log p in nats, tokens scored) over all of `tokens` but the first.

    Args:
        length: tokens of a window, at most the model's context.
        stride: how far each window is from the last one, 1 to `length`; the smaller, the more each
            token sees before it, and the longer it takes.
        on_batch: called with the number of tokens of each batch; may raise to stop.
        ranks: among which batches are shared out; all get the sums of all.

    >>> text_loss(model, tokens, length=1024, stride=512)      # doctest: +SKIP
    (105211.7, 30112)
    """
    losses: list[float] = []
    counts: list[int] = []
    was_training = model.training
    model.eval()
    try:
        batches = windows(tokens, length, stride, batch_size)
        while turn := list(islice(batches, ranks.size)):  # one batch a rank
            scored = 0
            for ids, targets in turn[ranks.rank : ranks.rank + 1]:
                scored = int((targets != IGNORED).sum())
                loss = 0.0
                if scored:
                    with engine.no_grad():
                        loss = model.loss(*beside(model, ids, targets)).item()
                losses.append(loss)
                counts.append(scored)
            on_batch(scored)
    finally:
        model.train(was_training)
    return added(ranks.in_turn(losses)), round(added(ranks.in_turn(counts)))


def perplexity_of(loss: float) -> float:
    """exp(loss), infinity where that is too large.

    >>> perplexity_of(0.0)
    1.0
    """
    return math.exp(loss) if loss < 700 else math.inf if loss == loss else math.nan


def measure_text(
    model: TextModel,
    data: str,
    *,
    run: str = "",
    context: int = 0,
    stride: int = 0,
    batch_size: int = 4,
    bad_bytes: str = "refuse",
    show_progress: bool = False,
) -> TextMeasured:
    """Perplexity and bits per byte of a model on text files; see zoo.text.read for `data`.

    Args:
        context: tokens of a window; 0 for the model's context.
        stride: see text_loss; 0 for half of the window.

    Raises:
        zoo.text.errors.TextError: the text cannot be used, or a number is out of range.

    >>> measure_text(zoo.load("gpt2"), "book.txt").perplexity      # doctest: +SKIP
    24.1
    """
    window = min(context or model.context, model.context)
    step = stride or max(window // 2, 1)
    if not 1 <= step <= window:
        raise GenerateError(
            f"stride={step}; expected 1 to {window}, the tokens of a window, or some tokens would "
            "not be scored"
        )
    corpus = load_corpus(data, model.tokenizer, bad_bytes=bad_bytes, show_progress=show_progress)
    tokens = whole(corpus)
    with progress_bar(
        show=show_progress, total=tokens.scored, desc="evaluating", unit=" tokens", leave=False
    ) as bar:
        total, count = text_loss(
            model, tokens, length=window, stride=step, batch_size=batch_size, on_batch=bar.update
        )
    loss = total / count
    return TextMeasured(
        run=run,
        data=data,
        loss=loss,
        perplexity=perplexity_of(loss),
        bits_per_byte=float(total / np.log(2) / max(corpus.bytes, 1)),
        tokens=count,
        context=min(window, len(tokens) - 1),
        stride=step,
    )
