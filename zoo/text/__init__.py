"""Text for language models: tokenizers, data, generation, perplexity.

>>> from zoo.text import gpt2_tokenizer
>>> gpt2_tokenizer().encode("Hello world")
[15496, 995]
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zoo.text.bpe import train_bpe
    from zoo.text.corpus import load_corpus
    from zoo.text.errors import TextError
    from zoo.text.generation import Completion, complete, stream
    from zoo.text.perplexity import measure_text
    from zoo.text.settings import GenerateConfig
    from zoo.text.tokenizer import Tokenizer, byte_tokenizer, gpt2_tokenizer, load_tokenizer

_HOMES = {
    "Completion": "generation",
    "GenerateConfig": "settings",
    "TextError": "errors",
    "Tokenizer": "tokenizer",
    "byte_tokenizer": "tokenizer",
    "complete": "generation",
    "gpt2_tokenizer": "tokenizer",
    "load_corpus": "corpus",
    "load_tokenizer": "tokenizer",
    "measure_text": "perplexity",
    "stream": "generation",
    "train_bpe": "bpe",
}

__all__ = [
    "Completion",
    "GenerateConfig",
    "TextError",
    "Tokenizer",
    "byte_tokenizer",
    "complete",
    "gpt2_tokenizer",
    "load_corpus",
    "load_tokenizer",
    "measure_text",
    "stream",
    "train_bpe",
]


def __getattr__(name: str) -> Any:
    # Lazy, so that the command line can read the settings without loading the engine.
    if name not in _HOMES:
        raise AttributeError(f"module 'zoo.text' has no attribute {name!r}")
    return getattr(importlib.import_module(f"zoo.text.{_HOMES[name]}"), name)
