"""What a model that writes keeps of the tokens it has read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import engine
from engine import Tensor

if TYPE_CHECKING:
    from zoo.models.gpt import GPTConfig


class KVCache:
    """Keys and values of the tokens that a model has read, in memory that is taken once.

    Args:
        config: of the model.
        batch: B.
        length: tokens there is room for; None for the model's context.
        pads: how many of the first tokens of each sequence are padding.

    Attributes:
        used: tokens read so far, T.
        keys, values: for each layer (B, H, length, D); what lies after `used` means nothing.

    >>> from zoo.models.gpt import GPTConfig
    >>> cache = KVCache(GPTConfig(2, 8, 2), batch=1, length=16)
    >>> cache.keys[0].shape, cache.used
    ((1, 2, 16, 4), 0)
    """

    def __init__(
        self,
        config: GPTConfig,
        batch: int,
        length: int | None = None,
        pads: Sequence[int] | None = None,
        dtype: engine.dtype | None = None,
    ) -> None:
        self.length = config.context if length is None else min(length, config.context)
        shape = (batch, config.heads, self.length, config.width // config.heads)
        dtype = engine.float32 if dtype is None else dtype
        self.keys = [engine.zeros(shape, dtype=dtype) for _ in range(config.layers)]
        self.values = [engine.zeros(shape, dtype=dtype) for _ in range(config.layers)]
        self.pads = None if pads is None or not any(pads) else list(pads)
        self.used = 0

    def extend(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Put the keys and values (B, H, T, D) of new tokens behind the others; gives all."""
        end = self.used + k.shape[2]
        keys, values = self.keys[layer], self.values[layer]
        keys[:, :, self.used : end] = k
        values[:, :, self.used : end] = v
        return keys[:, :, :end], values[:, :, :end]

    def reorder(self, rows: Sequence[int]) -> None:
        """Sequence i goes on from what was sequence rows[i]; for beam search."""
        index = engine.asarray(list(rows), device=self.keys[0].device)
        for kept in (*self.keys, *self.values):
            head = kept[:, :, : self.used]
            head.copy_(engine.take(head, index, axis=0))
        if self.pads is not None:
            self.pads = [self.pads[row] for row in rows]
