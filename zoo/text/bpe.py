"""A vocabulary of one's own, for models that are trained from scratch.

The `tokenizers` library finds the pairs; it is an extra: pip install 'zoo[tokenizers]'.
"""

from __future__ import annotations

from collections.abc import Iterable

from zoo.text.errors import TokenizerError
from zoo.text.tokenizer import END_OF_TEXT, Tokenizer, from_tokenizer_json


def train_bpe(texts: Iterable[str], size: int) -> Tokenizer:
    """A byte-level vocabulary of at most `size` tokens: the most frequent pairs in `texts`.

    Args:
        texts: documents.
        size: tokens, of which 256 are the single bytes and one the end of a text; 257 or more.

    Raises:
        TokenizerError: the library is missing, or `size` is too small.

    >>> train_bpe(["low lower lowest"], 260).encode("low")
    [258]
    """
    if size < 257:
        raise TokenizerError(
            f"a vocabulary of {size} tokens cannot hold the 256 bytes and the end of a text; "
            "expected 257 or more"
        )
    try:
        import tokenizers
    except ModuleNotFoundError as error:
        raise TokenizerError(
            "training a vocabulary needs the library `tokenizers`. Install it: "
            "pip install 'zoo[tokenizers]', or use GPT-2's vocabulary: --tokenizer gpt2"
        ) from error
    import json

    whole = tokenizers.Tokenizer(tokenizers.models.BPE())
    whole.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=[END_OF_TEXT],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    whole.train_from_iterator(texts, trainer)
    return from_tokenizer_json(json.loads(whole.to_str()), "a trained vocabulary")
