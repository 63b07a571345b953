"""Settings of generation. This dataclass is the only schema: the flags of `zoo generate` and their
help derive from it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Any

from zoo.text.errors import GenerateError

DEFAULT_TOKENS = 200


def _setting(default: Any, text: str, least: float, most: float = math.inf) -> Any:
    return field(default=default, metadata={"text": text, "least": least, "most": most})


@dataclass(frozen=True)
class GenerateConfig:
    """How text is made. The steps are taken in this order: repetition penalty, processors,
    temperature, top_k, top_p, min_p, draw.

    Raises:
        GenerateError: on construction, for a value out of range, naming the setting.

    >>> GenerateConfig(temperature=0).greedy
    True
    """

    max_tokens: int = _setting(
        0, f"tokens to make at most; 0: {DEFAULT_TOKENS}, or as many as the context has room for", 0
    )
    temperature: float = _setting(
        0.8, "divides the logits: below 1 more likely, above 1 more varied; 0: the likeliest", 0
    )
    top_k: int = _setting(0, "draw from the K likeliest tokens only; 0: from all", 0)
    top_p: float = _setting(
        0.95, "draw from the fewest tokens whose probabilities reach P together", 1e-9, 1
    )
    min_p: float = _setting(
        0.0, "leave out tokens less than P times as likely as the likeliest", 0, 1
    )
    repetition_penalty: float = _setting(
        1.0, "divides the odds of tokens that are there already; 1: does not", 1e-3
    )
    seed: int = _setting(0, "of the draws", 0, 2**63 - 1)
    beams: int = _setting(1, "search with this many beams; above 1, nothing is drawn", 1)
    stop: tuple[str, ...] = field(
        default=(), metadata={"text": "end before this text; may be given several times"}
    )
    window: bool = field(
        default=False,
        metadata={"text": "when the context is full, go on with its later half, not refuse"},
    )
    cache: bool = True  # keep keys and values; without, every step reads all tokens again

    def __post_init__(self) -> None:
        if isinstance(self.stop, str):
            raise GenerateError(f"stop={self.stop!r}; expected a list of texts")
        object.__setattr__(self, "stop", tuple(self.stop))
        if any(not text for text in self.stop):
            raise GenerateError("stop: an empty text would end everything before it began")
        for own in fields(self):
            value = getattr(self, own.name)
            if "least" not in own.metadata:
                continue
            least, most = own.metadata["least"], own.metadata["most"]
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or (type(own.default) is int and type(value) is not int):
                kind = type(own.default).__name__
                raise GenerateError(f"{own.name}={value!r}; expected a number ({kind})")
            if not least <= value <= most:
                bounds = f"{least:g} or more" if most == math.inf else f"{least:g} to {most:g}"
                raise GenerateError(f"{own.name}={value!r}; expected {bounds}")

    @property
    def greedy(self) -> bool:
        """Whether the likeliest token is taken, without a draw."""
        return self.temperature == 0
