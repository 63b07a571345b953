"""Language models by name, for commands."""

from __future__ import annotations

import engine
import zoo
from zoo.models.text_model import TextModel, expect_text


def open_text_model(run: str, *, threads: int | None = None) -> TextModel:
    """The language model of a run (its folder or weights file), or of a name with its published
    weights.

    Raises:
        zoo.LoadError, hub.HubError: there is none, it does something else, or it cannot be read.

    >>> open_text_model("gpt_shakespeare").context      # doctest: +SKIP
    128
    """
    if threads is not None:
        engine.set_num_threads(threads)
    return expect_text(zoo.load(run))
