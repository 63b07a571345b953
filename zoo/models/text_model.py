"""What every language model of the zoo offers besides its layers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from engine import Tensor
from zoo.models.zoo_model import ZooModel
from zoo.text.errors import TokenizerError

if TYPE_CHECKING:
    from hub import Card
    from zoo.models.kv_cache import KVCache
    from zoo.text.generation import Completion
    from zoo.text.tokenizer import Tokenizer


class ContextTooLong(ValueError):
    """A sequence is longer than the model can read; `tokens` long, where `context` is the limit.

    >>> issubclass(ContextTooLong, ValueError)
    True
    """

    def __init__(self, tokens: int, context: int) -> None:
        super().__init__(
            f"the sequence has {tokens} tokens, and the model reads at most {context}. Shorten the "
            "prompt, ask for fewer tokens, or let the oldest ones go (window=True, --window)"
        )
        self.tokens = tokens
        self.context = context


class TextModel(ZooModel):
    """Base class of language models: (B, T) tokens -> (B, T, V) logits of the next ones.

    `zoo.load` sets the attribute below and those of ZooModel, not the constructors.

    Attributes:
        tokenizer: between text and tokens.
        config: a frozen dataclass: what the model was built from.
        checkpointing: keep only the blocks' inputs for the backward pass and compute the rest
            again: less memory for a third more time.

    >>> model = zoo.load("gpt_shakespeare")
    >>> isinstance(model, TextModel), model.context > 0
    (True, True)
    """

    config: Any
    checkpointing: bool = False
    _tokenizer: Tokenizer | None = None  # None: GPT-2's, once somebody asks

    @property
    def tokenizer(self) -> Tokenizer:
        """Between text and tokens. GPT-2's takes a third of a second to make, longer than mapping
        its weights, so it is made when it is first used."""
        from zoo.text.tokenizer import gpt2_tokenizer

        return self._tokenizer or gpt2_tokenizer()

    @tokenizer.setter
    def tokenizer(self, tokenizer: Tokenizer) -> None:
        if tokenizer.size > self.vocab:
            raise TokenizerError(
                f"a tokenizer of {tokenizer.size} tokens for a model of {self.vocab}"
            )
        self._tokenizer = tokenizer

    @property
    def context(self) -> int:
        """Longest sequence that the model can read, tokens."""
        raise NotImplementedError(f"{type(self).__name__} has no context")

    @property
    def vocab(self) -> int:
        """Entries of the vocabulary."""
        raise NotImplementedError(f"{type(self).__name__} has no vocab")

    def describe(self, card: Card | None, run: Mapping[str, Any]) -> None:
        """Sets `tokenizer`: the one that the file of a run holds, else GPT-2's, or, for a
        vocabulary too small for that, single bytes. See ZooModel.describe."""
        from zoo.text.tokenizer import GPT2_SIZE, Tokenizer, byte_tokenizer

        if "tokenizer" in run:
            self.tokenizer = Tokenizer.from_dict(run["tokenizer"], self.__class__.__name__)
        elif self.vocab < GPT2_SIZE:
            self.tokenizer = byte_tokenizer()

    def new_cache(
        self, batch: int, length: int | None = None, pads: Sequence[int] | None = None
    ) -> KVCache:
        """An empty cache for `batch` sequences of `length` tokens, the first `pads` padding."""
        raise NotImplementedError(f"{type(self).__name__} has no new_cache method")

    def hidden(
        self, tokens: Tensor, pads: Sequence[int] | None = None, cache: KVCache | None = None
    ) -> Tensor:
        """The vectors (B, T, C) from which the logits of the tokens (B, T) are made."""
        raise NotImplementedError(f"{type(self).__name__} has no hidden method")

    def logits(self, hidden: Tensor) -> Tensor:
        """Logits of vectors: (..., C) -> (..., V)."""
        raise NotImplementedError(f"{type(self).__name__} has no logits method")

    def quantize(self, kind: str) -> None:
        """Keep the matrices in fewer bits, for inference only: "bfloat16", "int8" or "int4"."""
        raise NotImplementedError(f"{type(self).__name__} has no quantize method")

    def freeze_layers(self, count: int) -> None:
        """Let the first `count` blocks, and what comes before them, stand still in training."""
        raise NotImplementedError(f"{type(self).__name__} has no freeze_layers method")

    def loss(self, tokens: Tensor, targets: Tensor) -> Tensor:
        """Sum over all targets of -log p(target), nats."""
        raise NotImplementedError(f"{type(self).__name__} has no loss method")

    def generate(self, prompt: str, **settings: Any) -> Iterator[str]:
        """The text that follows `prompt`, piece by piece as it is made.

        Args:
            settings: fields of zoo.text.GenerateConfig, `processors` and `draft`; see
                zoo.text.stream.

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


def expect_text(model: ZooModel) -> TextModel:
    """The same model, known to be one of language.

    Raises:
        WrongTask: it does something else.

    >>> expect_text(zoo.load("gpt_shakespeare")).tokenizer.size > 0
    True
    """
    if not isinstance(model, TextModel):
        from zoo.errors import WrongTask

        raise WrongTask(
            f"{model.arch} does not write text. To see the models that do, type: zoo list"
        )
    return model
