"""GPT-2 in plain PyTorch, as people write it: fused attention, head tied to the embeddings, keys
and values kept in memory that is taken once. For benchmarks."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.c_fc, self.mlp_proj = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor, cache: tuple[Tensor, Tensor] | None, used: int) -> Tensor:
        b, t, c = x.shape
        parts = self.c_attn(self.ln_1(x)).split(c, dim=2)
        q, k, v = (p.view(b, t, self.heads, c // self.heads).transpose(1, 2) for p in parts)
        if cache is not None:
            for kept, new in zip(cache, (k, v), strict=True):
                kept[:, :, used : used + t] = new
            k, v = (kept[:, :, : used + t] for kept in cache)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=t > 1)
        x = x + self.c_proj(y.transpose(1, 2).reshape(b, t, c))
        return x + self.mlp_proj(F.gelu(self.c_fc(self.ln_2(x)), approximate="tanh"))


class GPT(nn.Module):
    """124 million parameters, random."""

    def __init__(
        self, layers: int = 12, width: int = 768, heads: int = 12, context: int = 1024,
        vocab: int = 50257,
    ) -> None:  # fmt: skip
        super().__init__()
        self.width, self.heads = width, heads
        self.wte, self.wpe = nn.Embedding(vocab, width), nn.Embedding(context, width)
        self.h = nn.ModuleList([Block(width, heads) for _ in range(layers)])
        self.ln_f = nn.LayerNorm(width)
        for parameter in self.parameters():
            if parameter.ndim > 1:
                nn.init.normal_(parameter, std=0.02)

    def new_cache(self, length: int) -> list[tuple[Tensor, Tensor]]:
        shape = (1, self.heads, length, self.width // self.heads)
        return [(torch.zeros(shape), torch.zeros(shape)) for _ in self.h]

    def hidden(
        self, ids: Tensor, cache: list[tuple[Tensor, Tensor]] | None = None, used: int = 0
    ) -> Tensor:
        x = self.wte(ids) + self.wpe(torch.arange(used, used + ids.shape[1]))
        for number, block in enumerate(self.h):
            x = block(x, None if cache is None else cache[number], used)
        return self.ln_f(x)

    def logits(self, hidden: Tensor) -> Tensor:
        return F.linear(hidden, self.wte.weight)

    def loss(self, ids: Tensor, targets: Tensor) -> Tensor:
        logits = self.logits(self.hidden(ids))
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))
