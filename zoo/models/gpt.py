"""GPT-2: a decoder-only transformer, after

- Radford et al., "Language models are unsupervised multitask learners", 2019 (gpt2*),
- Sanh et al., "DistilBERT, a distilled version of BERT", arXiv:1910.01108 (distilgpt2).

State-dict keys and layouts are those of the published files: `wte`, `wpe`, `h.N`, `ln_f`, and no
separate head, which is `wte` again. The projections store their weights as (in, out) and compute
x W + b ("Conv1D"), so a file is never transposed on its way in or out: for the square `c_proj` no
check of shapes could tell.

Shapes: B sequences, T tokens, C = width, H heads of D = C / H, V entries of the vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, ClassVar

import engine
from engine import Tensor, nn
from engine.autograd import checkpoint
from engine.nn import functional as F
from zoo.models.kv_cache import KVCache
from zoo.models.text_model import ContextTooLong, TextModel

IGNORED = -100  # a target that counts for nothing


@dataclass(frozen=True)
class GPTConfig:
    """One row of the paper's table 2, or one's own."""

    task: ClassVar[str] = "text-generation"

    layers: int  # blocks
    width: int  # C: numbers in the vector of a token
    heads: int  # of attention; they divide the width
    context: int = 1024  # longest sequence, tokens
    vocab: int = 50257  # V: entries of the vocabulary
    dropout: float = 0.1  # of embeddings, attention weights and what a block adds; in training

    def __post_init__(self) -> None:
        for name in ("layers", "width", "heads", "context", "vocab"):
            if getattr(self, name) < 1:
                raise ValueError(f"gpt: {name}={getattr(self, name)}; expected 1 or more")
        if self.width % self.heads:
            raise ValueError(
                f"gpt: width={self.width} is no multiple of heads={self.heads}; expected, for "
                f"example, width={-(-self.width // self.heads) * self.heads}"
            )
        if not 0 <= self.dropout < 1:
            raise ValueError(f"gpt: dropout={self.dropout}; expected 0 or more and below 1")

    @property
    def designed_for(self) -> str:
        """The context and the vocabulary, in words."""
        return f"text of up to {self.context:,} of {self.vocab:,} different tokens"


VARIANTS: dict[str, GPTConfig] = {
    "gpt2": GPTConfig(12, 768, 12),
    "gpt2-medium": GPTConfig(24, 1024, 16),
    "gpt2-large": GPTConfig(36, 1280, 20),
    "gpt2-xl": GPTConfig(48, 1600, 25),
    "distilgpt2": GPTConfig(6, 768, 12),
    # For training from scratch; the vocabulary is that of the tokenizer they are trained with.
    "gpt_nano": GPTConfig(3, 48, 3, context=64, vocab=512, dropout=0.0),
    "gpt_tiny": GPTConfig(4, 160, 5, context=128, vocab=2048, dropout=0.0),
    "gpt_small": GPTConfig(6, 384, 6, context=256, vocab=8192),
    "gpt_shakespeare": GPTConfig(3, 128, 4, context=256, vocab=2048, dropout=0.0),
}


class Conv1D(nn.Module):
    """y = x W + b, with W stored as (in, out).

    Shapes: x (..., in_features) -> (..., out_features).
    Parameters: weight (in_features, out_features), bias (out_features,).

    >>> Conv1D(3, 4)(engine.ones((2, 3))).shape
    (2, 4)
    """

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = nn.Parameter(engine.empty((in_features, out_features)))
        nn.init.normal_(self.weight, std=0.02)
        self.bias = nn.Parameter(engine.zeros(out_features))

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, engine.swapaxes(self.weight, 0, 1), self.bias)

    def extra_repr(self) -> str:
        return f"{self.in_features}, {self.out_features}"


class Attention(nn.Module):
    """Causal attention of each token to itself and those before it: c_proj(softmax(q k^T /
    sqrt(D)) v), with q, k and v of each head cut from c_attn(x).

    Shapes: x (B, T, C) -> (B, T, C).
    """

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.dropout = config.dropout
        self.c_attn = Conv1D(config.width, 3 * config.width)
        self.c_proj = Conv1D(config.width, config.width)

    def forward(self, x: Tensor, layer: int, mask: Tensor | None, cache: KVCache | None) -> Tensor:
        b, t, c = x.shape
        qkv = self.c_attn(x)  # (B, T, 3 C)
        dropout = self.dropout if self.training else 0.0
        if cache is None and mask is None and dropout == 0:
            return self.c_proj(F.self_attention(qkv, self.heads, is_causal=True))
        q, k, v = (
            engine.swapaxes(part.reshape((b, t, self.heads, c // self.heads)), 1, 2)
            for part in (qkv[..., :c], qkv[..., c : 2 * c], qkv[..., 2 * c :])
        )  # (B, H, T, D)
        if cache is not None:
            k, v = cache.extend(layer, k, v)  # (B, H, S, D), S tokens in all
        y = F.scaled_dot_product_attention(
            q,
            k,
            v,
            mask,
            dropout_p=dropout,
            is_causal=mask is None and t > 1,
        )
        return self.c_proj(engine.swapaxes(y, 1, 2).reshape((b, t, c)))


class MLP(nn.Module):
    """c_proj(gelu(c_fc(x))), four times as wide inside. Shapes: x (B, T, C) -> (B, T, C)."""

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.c_fc = Conv1D(config.width, 4 * config.width)
        self.c_proj = Conv1D(4 * config.width, config.width)

    def forward(self, x: Tensor) -> Tensor:
        return self.c_proj(engine.gelu_tanh(self.c_fc(x)))


class Block(nn.Module):
    """x = x + attn(ln_1(x)); x = x + mlp(ln_2(x)). Shapes: x (B, T, C) -> (B, T, C)."""

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.dropout = config.dropout
        self.ln_1 = nn.LayerNorm(config.width, eps=1e-5)
        self.attn = Attention(config)
        self.ln_2 = nn.LayerNorm(config.width, eps=1e-5)
        self.mlp = MLP(config)

    def forward(self, x: Tensor, layer: int, mask: Tensor | None, cache: KVCache | None) -> Tensor:
        x = x + self._dropped(self.attn(self.ln_1(x), layer, mask, cache))
        return x + self._dropped(self.mlp(self.ln_2(x)))

    def _dropped(self, x: Tensor) -> Tensor:
        return F.dropout(x, self.dropout, self.training)


class GPT(TextModel):
    """A language model: for each token, logits of the one that follows.

    Matrices start normal with deviation 0.02, those that add to the residual path with
    0.02 / sqrt(2 layers) (section 2.3 of the paper); biases start at 0, norms at weight 1.

    Args:
        config: a row of VARIANTS, or one's own.

    Attributes:
        head: from vectors to logits in place of `wte`, for weights of fewer bits; else None.

    >>> model = build("gpt_nano")
    >>> model(engine.asarray([[1, 2, 3]])).shape
    (1, 3, 512)
    """

    key_maps: ClassVar[tuple[str, ...]] = ("hf_gpt2",)

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.config: GPTConfig = config
        self.head: nn.Module | None = None
        self.wte = nn.Embedding(config.vocab, config.width)
        self.wpe = nn.Embedding(config.context, config.width)
        self.h = nn.ModuleList([Block(config) for _ in range(config.layers)])
        self.ln_f = nn.LayerNorm(config.width, eps=1e-5)
        for table in (self.wte, self.wpe):
            nn.init.normal_(table.weight, std=0.02)
        for name, module in self.named_modules():
            if isinstance(module, Conv1D) and name.endswith("c_proj"):
                nn.init.normal_(module.weight, std=0.02 / math.sqrt(2 * config.layers))

    @property
    def context(self) -> int:
        """Longest sequence that the model can read, tokens."""
        return self.config.context

    @property
    def vocab(self) -> int:
        """Entries of the vocabulary."""
        return self.config.vocab

    def facts(self) -> dict[str, Any]:
        """See ZooModel.facts; adds "tokenizer"."""
        tokenizer = self.tokenizer.to_dict()
        return super().facts() | {"config": asdict(self.config), "tokenizer": tokenizer}

    def new_cache(
        self, batch: int, length: int | None = None, pads: Sequence[int] | None = None
    ) -> KVCache:
        """An empty cache for this model; see KVCache."""
        with engine.device(self.wte.weight.device):
            return KVCache(self.config, batch, length, pads, self.wte.weight.dtype)

    def hidden(
        self,
        tokens: Tensor,
        pads: Sequence[int] | None = None,
        cache: KVCache | None = None,
    ) -> Tensor:
        """The vectors from which the logits are made, after the last norm.

        Args:
            tokens: (B, T) whole numbers in 0 to V - 1.
            pads: how many of the first tokens of each sequence are padding: they have no position
                and are seen by none. With a cache, the cache's.
            cache: what was read before; the tokens go behind it and are added to it. Not to be
                differentiated.

        Returns:
            (B, T, C).

        Raises:
            ContextTooLong: more tokens than the model's context or the cache have room for.

        >>> build("gpt_nano").hidden(engine.asarray([[1, 2, 3]])).shape
        (1, 3, 48)
        """
        if tokens.ndim != 2:
            raise ValueError(f"gpt: tokens have shape {tokens.shape}; expected (B, T)")
        _, t = tokens.shape
        before = 0 if cache is None else cache.used
        room = self.context if cache is None else cache.length
        if before + t > room:
            raise ContextTooLong(before + t, room)
        if cache is not None:
            pads = cache.pads
        elif pads is not None and not any(pads):
            pads = None
        with engine.device(tokens.device):
            positions, mask = _positions(before, t, pads), _mask(before, t, pads)
        x = self.wte(tokens) + self.wpe(positions)  # (B, T, C)
        x = F.dropout(x, self.config.dropout, self.training)
        for layer, block in enumerate(self.h):
            if self.checkpointing and self.training:
                x = checkpoint(block, x, layer, mask, cache)
            else:
                x = block(x, layer, mask, cache)
        if cache is not None:
            cache.used += t
        return self.ln_f(x)

    def logits(self, hidden: Tensor) -> Tensor:
        """Logits of vectors: (..., C) -> (..., V)."""
        return F.linear(hidden, self.wte.weight) if self.head is None else self.head(hidden)

    def forward(
        self,
        tokens: Tensor,
        pads: Sequence[int] | None = None,
        cache: KVCache | None = None,
    ) -> Tensor:
        return self.logits(self.hidden(tokens, pads, cache))  # (B, T, V)

    def quantize(self, kind: str) -> None:
        """Keep the matrices in fewer bits, for inference: reading them is what takes the time of a
        decoding step. The model can then no longer be trained or saved.

        Args:
            kind: "bfloat16", "int8" or "int4"; engine.nn.functional.quantize says how exact.

        Raises:
            ValueError: a width that is no multiple of 32, for int4.

        >>> build("gpt_tiny").quantize("int8")
        """
        for block in self.h:
            for part in block.children():
                for name, layer in list(part.named_children()):
                    if isinstance(layer, Conv1D):
                        weight = engine.swapaxes(layer.weight, 0, 1)
                        setattr(part, name, _quantized(weight, layer.bias, kind))
        self.head = _quantized(self.wte.weight, None, kind)

    def freeze_layers(self, count: int) -> None:
        """Let the embeddings and the first `count` blocks stand still in training."""
        for part in (self.wte, self.wpe, *list(self.h)[:count]):
            part.requires_grad_(False)

    def loss(self, tokens: Tensor, targets: Tensor) -> Tensor:
        """Sum over all targets of -log p(target), nats.

        Args:
            tokens: (B, T).
            targets: (B, T), the tokens that follow; those that are IGNORED count for nothing.

        >>> tokens = engine.asarray([[1, 2, 3]])
        >>> build("gpt_nano").loss(tokens, tokens).shape
        ()
        """
        hidden = self.hidden(tokens).reshape((-1, self.config.width))  # (B T, C)
        if self.head is not None:
            return F.cross_entropy(
                self.head(hidden), targets.reshape((-1,)), ignore_index=IGNORED, reduction="sum"
            )
        return F.linear_cross_entropy(
            hidden, self.wte.weight, targets.reshape((-1,)), ignore_index=IGNORED, reduction="sum"
        )


def _quantized(weight: Tensor, bias: Tensor | None, kind: str) -> nn.QuantizedLinear:
    """The projection by a weight (out, in) that is kept in fewer bits."""
    out_features, in_features = weight.shape
    linear = nn.QuantizedLinear(in_features, out_features, kind, bias is not None)
    # In rows: codes keep the order in memory of what they are made of.
    linear.codes, linear.scales = F.quantize(weight, kind)
    if linear.bias is not None and bias is not None:
        with engine.no_grad():
            linear.bias.copy_(bias)
    return linear


def _positions(before: int, t: int, pads: Sequence[int] | None) -> Tensor:
    """(T,), or (B, T) where the count starts after the padding; padding itself gets 0."""
    positions = engine.arange(before, before + t)
    if pads is None:
        return positions
    return engine.maximum(positions - engine.asarray(list(pads)).reshape((-1, 1)), 0)


def _mask(before: int, t: int, pads: Sequence[int] | None) -> Tensor | None:
    """Which of S = before + T keys each of T queries may see: (T, S), or (B, 1, T, S) with padding;
    None where a plain causal mask says it all."""
    if pads is None and (before == 0 or t == 1):
        return None
    keys = engine.arange(before + t)
    mask = keys <= engine.arange(before, before + t).reshape((t, 1))  # (T, S)
    if pads is None:
        return mask
    return mask & (keys >= engine.asarray(list(pads)).reshape((-1, 1, 1, 1)))


def build(variant: str, **config: Any) -> GPT:
    """A randomly initialised model, in training mode.

    Args:
        variant: a key of VARIANTS.
        config: fields of GPTConfig that shall differ from the variant's.

    Raises:
        KeyError: no such variant.
        TypeError, ValueError: a field that does not exist, or a value that cannot be.

    >>> build("gpt_nano", vocab=300, layers=2).num_parameters
    74112
    """
    if variant not in VARIANTS:
        raise KeyError(f"gpt: no variant '{variant}'; expected one of {', '.join(VARIANTS)}")
    unknown = sorted(set(config) - {field.name for field in fields(GPTConfig)})
    if unknown:
        names = ", ".join(field.name for field in fields(GPTConfig))
        raise TypeError(f"gpt: no setting {', '.join(unknown)}; expected some of {names}")
    return GPT(replace(VARIANTS[variant], **config))
