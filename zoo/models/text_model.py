"""What every language model of the zoo offers besides its layers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from engine import Tensor
from engine.nn import Module

if TYPE_CHECKING:
    from hub import Card
    from zoo.text.generation import Completion
    from zoo.text.tokenizer import Tokenizer


class ContextTooLong(ValueError):
    """A sequence is longer than the model can read; `tokens` long, where `context` is the limit."""

    def __init__(self, tokens: int, context: int) -> None:
        super().__init__(
            f"the sequence has {tokens} tokens, and the model reads at most {context}. Shorten the "
            "prompt, ask for fewer tokens, or let the oldest ones go (window=True, --window)"
        )
        self.tokens = tokens
        self.context = context


class TextModel(Module):
    """Base class of language models: (B, T) tokens -> (B, T, V) logits of the next ones.

    The attributes below are set by `zoo.load`, not by the constructors.

    Attributes:
        arch: name of the architecture.
        card: the model card of its weights, or None for weights of a file and for random ones.
        tokenizer: between text and tokens.
        source: where the weights are from: "name" (of the card, the file, or "random values") and
            "sha256" (of the file, or None).
        notices: what a person should know about how it was loaded.
    """

    arch: str
    card: Card | None
    tokenizer: Tokenizer
    source: dict[str, Any]
    notices: tuple[str, ...]

    @property
    def context(self) -> int:
        """Longest sequence that the model can read, tokens."""
        raise NotImplementedError(f"{type(self).__name__} has no context")

    def loss(self, tokens: Tensor, targets: Tensor) -> Tensor:
        """Sum over all targets of -log p(target), nats."""
        raise NotImplementedError(f"{type(self).__name__} has no loss method")

    def generate(self, prompt: str, **settings: Any) -> Iterator[str]:
        """The text that follows `prompt`, piece by piece as it is made.

        Args:
            settings: fields of zoo.text.GenerateConfig, and `processors`.

        >>> for piece in zoo.load("gpt_shakespeare").generate("ROMEO:", seed=1):  # doctest: +SKIP
        ...     print(piece, end="", flush=True)
        """
        from zoo.text.generation import stream

        return stream(self, prompt, **settings)

    def complete(self, prompts: Sequence[str], n: int = 1, **settings: Any) -> list[Completion]:
        """`n` continuations of each prompt, all of them computed together.

        Args:
            settings: as for `generate`.

        >>> zoo.load("gpt_shakespeare").complete(["ROMEO:"], n=2)[0].text         # doctest: +SKIP
        """
        from zoo.text.generation import complete

        return complete(self, prompts, n, **settings)
