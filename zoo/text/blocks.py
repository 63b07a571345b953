"""Blocks of tokens to train on and to measure with.

A block of T tokens is read and the T tokens one further on are its targets. Blocks follow each
other without a gap, across documents, which end-of-text tokens divide. Every learned token of what
validates is the target of exactly one block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zoo.models.gpt import IGNORED
from zoo.text.corpus import Corpus
from zoo.text.errors import TooLittleText

WHOLE_FROM = 10
"""Documents from which on whole ones validate."""
_MANY = 8  # blocks, of which one may be given up


@dataclass(frozen=True)
class Tokens:
    """A row of tokens, and which of them are learned (None: all)."""

    tokens: NDArray[Any]
    learned: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.tokens)

    def targets(self, start: int, stop: int) -> NDArray[np.int64]:
        """Tokens start to stop, those that are not learned as IGNORED."""
        found = self.tokens[start:stop].astype(np.int64)
        if self.learned is not None:
            found[~self.learned[start:stop]] = IGNORED
        return found

    @property
    def scored(self) -> int:
        """How many tokens are targets: all that are learned, but the first, which none precedes."""
        if self.learned is None:
            return max(len(self) - 1, 0)
        return int(self.learned[1:].sum())


def split(corpus: Corpus, fraction: float, seed: int, block: int) -> tuple[Tokens, Tokens]:
    """What to train on and what to validate on.

    From 10 documents on, whole documents validate, drawn by the seed, equal ones together; with
    fewer, one stretch of the text that starts where the seed says.

    Raises:
        TooLittleText: one of the two would have fewer than two tokens.
    """
    count, documents = len(corpus.tokens), len(corpus.starts) - 1
    draw = np.random.Generator(np.random.Philox(key=np.array([seed, 1], np.uint64)))
    wanted = round(count * fraction)
    chosen = np.zeros(count, np.bool_)
    if documents >= WHOLE_FROM:
        taken = 0
        equal = _equal_documents(corpus)
        for number in draw.permutation(documents):
            spans = [corpus.starts[n : n + 2] for n in equal.get(number, [number])]
            size = sum(stop - start for start, stop in spans)
            if chosen[spans[0][0]] or (taken and taken + size > wanted):
                continue
            for start, stop in spans:
                chosen[start:stop] = True
            taken += size
            if taken >= wanted:
                break
    else:
        # Not less than a block, if the text has some to spare.
        length = max(wanted, min(block + 1, count // 4), 2)
        start = int(draw.integers(0, max(count - length, 0) + 1))
        chosen[start : start + length] = True
    train, val = _part(corpus, ~chosen), _part(corpus, chosen)
    for part, name in ((train, "train"), (val, "validate")):
        if len(part) < 2 or part.scored < 1:
            raise TooLittleText(
                f"the text has {count} token{'s' if count != 1 else ''}, which leaves {len(part)} "
                f"to {name} on; expected 2 or more for each, better some blocks of {block}. Give "
                "more text"
            )
    return train, val


def _equal_documents(corpus: Corpus) -> dict[int, list[int]]:
    """Of each document that is there more than once, all its numbers."""
    _, kinds, counts = np.unique(corpus.digests, return_inverse=True, return_counts=True)
    groups: dict[int, list[int]] = {}
    for number in np.flatnonzero(counts[kinds] > 1).tolist():
        groups.setdefault(int(kinds[number]), []).append(number)
    return {number: group for group in groups.values() for number in group}


def _part(corpus: Corpus, chosen: NDArray[np.bool_]) -> Tokens:
    learned = None if corpus.learned is None else corpus.learned[chosen]
    return Tokens(corpus.tokens[chosen], learned)


def whole(corpus: Corpus) -> Tokens:
    """All of a corpus, to measure on.

    Raises:
        TooLittleText: there is no token that another one precedes.
    """
    found = Tokens(corpus.tokens, corpus.learned)
    if found.scored < 1:
        raise TooLittleText(
            f"the text has {len(found)} token, and a token can only be predicted from one before "
            "it; expected 2 or more"
        )
    return found


class EpochBlocks:
    """The blocks of each epoch, in an order and from an offset that (seed, epoch) decide.

    Args:
        tokens: to train on, two or more.
        block: T, tokens of a block; shorter where there are fewer.
        batch_size: blocks of a batch.
        seed: of offsets and orders.

    Attributes:
        block: T as it is used.
        batch_weights: targets of each batch: the same in every epoch. Of tokens of which not all
            are learned, only about so many count.

    >>> EpochBlocks(Tokens(np.arange(10)), 4, 2, 0).block
    4
    """

    def __init__(self, tokens: Tokens, block: int, batch_size: int, seed: int) -> None:
        self.tokens = tokens
        self.block = min(block, len(tokens) - 1)
        self.batch_size = batch_size
        self.seed = seed
        self.count = (len(tokens) - 1) // self.block
        if self.count > _MANY:
            self.count -= 1  # room to start anywhere within a block
        self._spare = len(tokens) - 1 - self.count * self.block
        sizes = [batch_size] * (self.count // batch_size)
        if self.count % batch_size:
            sizes.append(self.count % batch_size)
        self.batch_weights = [size * self.block for size in sizes]

    def epoch(
        self, epoch: int, start: int = 0, part: Callable[[int], slice] = slice
    ) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
        """(tokens (B, T), targets (B, T)) of the batches of an epoch, from number `start` on.

        Args:
            part: what is wanted of a batch of so many blocks; all by default.

        The blocks begin at an offset that is drawn anew, so that text is cut elsewhere in every
        epoch; what it passes over and what remains at the end is less than two blocks.
        """
        key = np.array([self.seed, 2 + epoch], np.uint64)
        draw = np.random.Generator(np.random.Philox(key=key))
        offset = int(draw.integers(0, self._spare + 1))
        order = draw.permutation(self.count)
        for first in range(start * self.batch_size, self.count, self.batch_size):
            rows = offset + order[first : first + self.batch_size] * self.block
            rows = rows[part(len(rows))]
            ids = np.empty((len(rows), self.block), np.int64)
            targets = np.empty((len(rows), self.block), np.int64)
            for number, row in enumerate(rows):
                ids[number] = self.tokens.tokens[row : row + self.block]
                targets[number] = self.tokens.targets(row + 1, row + 1 + self.block)
            yield ids, targets


def windows(
    tokens: Tokens, length: int, stride: int, batch_size: int
) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """(tokens (B, T), targets (B, T)) that score each token once, with what precedes it in view.

    Windows of `length` tokens, each `stride` further on; what an earlier window scored is IGNORED
    in a later one. The last window ends with the text.

    >>> for ids, targets in windows(Tokens(np.arange(6)), 4, 2, 1):
    ...     print(ids.tolist(), targets.tolist())
    [[0, 1, 2, 3]] [[1, 2, 3, 4]]
    [[1, 2, 3, 4]] [[-100, -100, -100, 5]]
    """
    length = min(length, len(tokens) - 1)
    rows: list[tuple[NDArray[Any], NDArray[Any]]] = []
    scored = 1  # tokens before this one need no score
    while scored < len(tokens):
        end = min(max(scored - 1 + stride, length), len(tokens) - 1)
        begin = end - length
        targets = tokens.targets(begin + 1, end + 1)
        targets[: scored - begin - 1] = IGNORED
        rows.append((tokens.tokens[begin:end].astype(np.int64), targets))
        scored = end + 1
        if len(rows) == batch_size or scored >= len(tokens):
            yield np.stack([r for r, _ in rows]), np.stack([t for _, t in rows])
            rows = []
