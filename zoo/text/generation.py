"""Text from a language model, token by token.

A batch is padded on the left, and padding has no position and is seen by none, so each text comes
out as it would alone. With a cache and without, the same tokens are chosen. The same seed gives the
same text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import engine
from zoo.models.text_model import ContextTooLong
from zoo.placement import beside, host_array
from zoo.text.errors import GenerateError
from zoo.text.sampling import Draws, Processor, choose
from zoo.text.settings import DEFAULT_TOKENS, GenerateConfig
from zoo.text.stops import StopFilter
from zoo.text.tokenizer import StreamDecoder

if TYPE_CHECKING:
    from zoo.models.kv_cache import KVCache
    from zoo.models.text_model import TextModel


@dataclass(frozen=True)
class Completion:
    """What was made for a prompt.

    Attributes:
        prompt, text: the text that was given, and what follows it.
        tokens: of what follows; the end of the text, if it came, is the last.
        reason: why it ended: "end" (the model ended the text), "stop" (a stop text) or "length".

    >>> Completion("It", " was", (373,), "length").text
    ' was'
    """

    prompt: str
    text: str
    tokens: tuple[int, ...]
    reason: str


@dataclass
class _Text:
    """One text in the making."""

    prompt: str
    tokens: list[int]  # the prompt's, then those that were made
    draws: Draws
    decoder: StreamDecoder
    stops: StopFilter
    start: int  # tokens of the prompt
    text: str = ""
    reason: str = ""
    pieces: list[str] = field(default_factory=list)

    def add(self, token: int, end: int | None) -> None:
        self.tokens.append(token)
        if token == end:
            self._end("end")
            return
        self._say(self.stops.push(self.decoder.push(token)))
        if self.stops.stopped:
            self.reason = "stop"

    def finish(self) -> None:
        """No more tokens come."""
        if not self.reason:
            self._end("length")

    def _end(self, reason: str) -> None:
        self._say(self.stops.push(self.decoder.finish()))
        self.reason = "stop" if self.stops.stopped else reason
        self._say(self.stops.finish())

    def _say(self, piece: str) -> None:
        if piece:
            self.text += piece
            self.pieces.append(piece)


class Reader:
    """Reads texts with a model and gives the logits of the next token of each.

    Args:
        model: in inference mode.
        rows: tokens of each text; they may grow, by one each, between calls of `next_logits`.
        length: tokens to keep room for; at most the context.
        cached: keep keys and values of what was read.
        window: when the context is full, forget all but its later half; else it is refused.

    >>> Reader(model, [[1, 2], [3]], 10).next_logits().shape      # doctest: +SKIP
    (2, 50257)
    """

    def __init__(
        self,
        model: TextModel,
        rows: list[list[int]],
        length: int,
        cached: bool = True,
        window: bool = False,
    ) -> None:
        self.model = model
        self.rows = rows
        self.length = min(length, model.context)
        self.cached = cached
        self.window = window
        self._forgotten = 0  # of the padded rows
        self._pads = self._padding()
        self.cache: KVCache | None = None

    def _padding(self) -> list[int]:
        longest = max(map(len, self.rows))
        return [longest - len(row) for row in self.rows]

    def next_logits(self) -> NDArray[np.float32]:
        """(B, V), after all tokens of the rows.

        Raises:
            ContextTooLong: the context is full, and there is no window.
        """
        width = len(self.rows[0]) + self._pads[0]
        if width - self._forgotten > self.model.context:
            if not self.window:
                raise ContextTooLong(width, self.model.context)
            self._forgotten = width - max(self.model.context // 2, 1)
            self.cache = None
        seen = self._forgotten
        pads = [max(pad - seen, 0) for pad in self._pads]
        if self.cached and self.cache is None:
            room = self.model.context if self.window else self.length
            self.cache = self.model.new_cache(len(self.rows), room, pads)
        if self.cache is not None:
            seen += self.cache.used
        ids = np.zeros((len(self.rows), width - seen), np.int64)
        for line, row, pad in zip(ids, self.rows, self._pads, strict=True):
            from_row = max(seen - pad, 0)
            fresh = row[from_row:]
            line[len(line) - len(fresh) :] = fresh
        with engine.no_grad():
            (tokens,) = beside(self.model, ids)
            hidden = self.model.hidden(tokens, pads, self.cache)  # (B, T, C)
            return host_array(self.model.logits(hidden[:, -1]))


def stream(
    model: TextModel,
    prompt: str,
    processors: Sequence[Processor] = (),
    draft: TextModel | None = None,
    **settings: Any,
) -> Iterator[str]:
    """The text that follows `prompt`, piece by piece as it is made; whole characters only.

    Args:
        model: with a tokenizer.
        processors: called in turn with the tokens so far and the logits (V,); they return logits.
        draft: a faster model that guesses ahead; see zoo.text.speculative.
        settings: fields of GenerateConfig.

    Raises:
        GenerateError: a setting that cannot work.
        ContextTooLong: prompt and max_tokens are more than the model reads, without a window.

    Errors come at once, not when the first piece is asked for.

    >>> "".join(stream(model, "ROMEO:", max_tokens=20))      # doctest: +SKIP
    """
    config = _config(settings)
    if config.beams > 1:
        return iter([complete(model, [prompt], 1, processors, draft, **settings)[0].text])
    texts = _texts(model, [prompt], 1, config)
    rounds = _rounds(model, texts, config, processors, draft)

    def pieces() -> Iterator[str]:
        for _ in rounds:
            yield from texts[0].pieces
            texts[0].pieces.clear()

    return pieces()


def complete(
    model: TextModel,
    prompts: Sequence[str],
    n: int = 1,
    processors: Sequence[Processor] = (),
    draft: TextModel | None = None,
    **settings: Any,
) -> list[Completion]:
    """`n` continuations of each prompt, in order, computed as one batch.

    Args, Raises: as for `stream`.

    >>> [c.text for c in complete(model, ["To be", "Not to be"])]      # doctest: +SKIP
    """
    config = _config(settings)
    if n < 1 or not prompts:
        raise GenerateError(f"n={n} texts for {len(prompts)} prompts; expected 1 or more of each")
    texts = _texts(model, prompts, n, config)
    if config.beams > 1:
        from zoo.text.beam import beam_search

        if draft is not None:
            raise GenerateError("a draft guesses what is drawn next; it cannot be used with beams")
        most = _room(model, texts, config)
        for text in texts:
            for token in beam_search(model, text.tokens, config, most, processors):
                if not text.reason:
                    text.add(token, model.tokenizer.end)
            text.finish()
    else:
        for _ in _rounds(model, texts, config, processors, draft):
            pass
    return [Completion(t.prompt, t.text, tuple(t.tokens[t.start :]), t.reason) for t in texts]


def _config(settings: dict[str, Any]) -> GenerateConfig:
    try:
        return GenerateConfig(**settings)
    except TypeError as error:
        raise GenerateError(f"generate: {error}") from error


def _texts(model: TextModel, prompts: Sequence[str], n: int, config: GenerateConfig) -> list[_Text]:
    texts: list[_Text] = []
    for prompt in prompts:
        tokens = model.tokenizer.encode(prompt)
        if not tokens:  # a text starts where another ended
            if model.tokenizer.end is None:
                raise GenerateError("the prompt is empty; expected at least one character")
            tokens = [model.tokenizer.end]
        for _ in range(n):
            texts.append(
                _Text(
                    prompt,
                    list(tokens),
                    Draws(config.seed, len(texts)),
                    model.tokenizer.stream(),
                    StopFilter(config.stop),
                    len(tokens),
                )
            )
    return texts


def _room(model: TextModel, texts: Sequence[_Text], config: GenerateConfig) -> int:
    """How many tokens to make.

    Raises:
        ContextTooLong: it is more than the model can read, and there is no window.
    """
    longest, wanted = max(text.start for text in texts), config.max_tokens
    if config.window:
        return wanted or DEFAULT_TOKENS
    room = model.context - longest
    if room < max(wanted, 1):
        raise ContextTooLong(longest + max(wanted, 1), model.context)
    return wanted or min(DEFAULT_TOKENS, room)


def _rounds(
    model: TextModel,
    texts: list[_Text],
    config: GenerateConfig,
    processors: Sequence[Processor],
    draft: TextModel | None,
) -> Iterator[None]:
    """Make the texts, all at once or, with a draft, one after the other; what cannot work is
    refused now."""
    most = _room(model, texts, config)
    if draft is None:
        return _run(model, texts, config, processors, most)
    from zoo.text.speculative import speculate

    if config.window or not config.cache:
        raise GenerateError("a draft needs the cache, and a text that fits the context")
    made = [
        speculate(model, draft, text.tokens, config, most, text.draws, processors) for text in texts
    ]

    def one_by_one() -> Iterator[None]:
        modes = [(each, each.training) for each in (model, draft)]
        try:
            for text, tokens in zip(texts, made, strict=True):
                for each, _ in modes:
                    each.eval()
                for token in tokens:
                    text.add(token, model.tokenizer.end)
                    yield
                    if text.reason:
                        break
                text.finish()
                yield
        finally:
            for each, was_training in modes:
                each.train(was_training)

    return one_by_one()


def _run(
    model: TextModel,
    texts: list[_Text],
    config: GenerateConfig,
    processors: Sequence[Processor],
    most: int,
) -> Iterator[None]:
    """Make tokens for all texts until each has ended; stops after every round."""
    rows = [list(text.tokens) for text in texts]
    length = max(map(len, rows)) + most
    reader = Reader(model, rows, length, config.cache, config.window)
    was_training = model.training
    try:
        for _ in range(most):
            model.eval()  # here and not before the loop: whoever iterates may train in between
            logits = reader.next_logits()
            for text, row, line in zip(texts, rows, logits, strict=True):
                if text.reason:
                    row.append(0)  # what it reads from here on is not looked at
                    continue
                token = choose(
                    line[: model.tokenizer.size], text.tokens, config, text.draws, processors
                )
                row.append(token)
                text.add(token, model.tokenizer.end)
            yield
            if all(text.reason for text in texts):
                return
        for text in texts:
            text.finish()
        yield
    finally:
        model.train(was_training)
