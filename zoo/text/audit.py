"""The pre-flight audit of text: what it is like, said before any work starts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zoo.text.blocks import WHOLE_FROM, Tokens
from zoo.text.corpus import Corpus

_DULL = 0.05  # of the tokens in documents that are there more than once, from which that is said


@dataclass(frozen=True)
class TextAudit:
    """What a text holds.

    Attributes:
        headline: documents, files, tokens and bytes.
        train, val: tokens of the two parts.
        repeated: documents that are there before, word for word.
        repeated_share: of the tokens that these have.
        together: whether equal documents are on one side of the split.
        unlearned: tokens of prompts, which are read but not learned.
        remarks: what reading the files showed.
    """

    headline: str
    train: int
    val: int
    repeated: int
    repeated_share: float
    together: bool
    unlearned: int
    remarks: tuple[str, ...]

    def lines(self) -> list[str]:
        """The report for people, one string a line."""
        lines = [
            self.headline,
            f"{self.train:,} tokens to train on, {self.val:,} to validate on",
        ]
        if self.unlearned:
            lines.append(f"Prompts, read but not learned: {self.unlearned:,} tokens")
        if self.repeated:
            side = "equal ones are" if self.together else "and perhaps not"
            advice = ". Better take them out" if self.repeated_share >= _DULL else ""
            lines.append(
                f"There more than once, word for word: {self.repeated:,} "
                f"document{'s' if self.repeated != 1 else ''}, {self.repeated_share:.1%} of the "
                f"tokens; {side} on one side of the split{advice}"
            )
        return [*lines, *self.remarks]


def audit_text(corpus: Corpus, train: Tokens, val: Tokens) -> TextAudit:
    """Sum up a corpus and the parts it was split into.

    >>> print(*audit_text(corpus, train, val).lines(), sep="\\n")      # doctest: +SKIP
    Found 1 document in 1 file: 338,025 tokens of 1.12 MB of text
    304,222 tokens to train on, 33,803 to validate on
    """
    _, first = np.unique(corpus.digests, return_index=True)
    again = np.ones(len(corpus.digests), np.bool_)
    again[first] = False
    lengths = np.diff(corpus.starts)[: len(again)]
    repeated = int(lengths[again].sum())
    learned = corpus.learned
    return TextAudit(
        headline=corpus.lines()[0],
        train=len(train),
        val=len(val),
        repeated=int(again.sum()),
        repeated_share=repeated / len(corpus.tokens),
        together=len(corpus.starts) > WHOLE_FROM,
        unlearned=0 if learned is None else int((~learned).sum()),
        remarks=tuple(corpus.facts.remarks()),
    )
