"""Transformer layers (Vaswani et al., arXiv:1706.03762)."""

from __future__ import annotations

import copy
from collections.abc import Callable

from engine import Tensor
from engine.nn import functional as F
from engine.nn.attention import MultiheadAttention
from engine.nn.container import ModuleList
from engine.nn.dropout import Dropout
from engine.nn.linear import Linear
from engine.nn.module import Module
from engine.nn.norm import LayerNorm

ACTIVATIONS = {"relu": F.relu, "gelu": F.gelu}


def _activation(name: str | Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    if not isinstance(name, str):
        return name
    if name not in ACTIVATIONS:
        raise ValueError(f"Transformer: activation={name!r}; expected 'relu', 'gelu' or a function")
    return ACTIVATIONS[name]


class _Layer(Module):
    """What encoder and decoder layers share: the two linear maps after attention."""

    linear1: Linear
    linear2: Linear
    dropout: Dropout
    activation: Callable[[Tensor], Tensor]

    def _feed_forward(self, x: Tensor) -> Tensor:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(_Layer):
    """x + attention(x, x, x), normalised; then x + W2 act(W1 x), normalised.

    Args:
        d_model: E.
        nhead: heads of the attention.
        dim_feedforward: rows of W1.
        dropout: of the attention weights, behind the activation, and of what is added to x.
        activation: "relu", "gelu", or a function.
        layer_norm_eps: added to the variances.
        batch_first: whether x is (N, S, E) instead of (S, N, E).
        norm_first: whether what goes into attention and maps is normalised, instead of x.
        bias: whether the linear maps and normalisations have one.

    >>> TransformerEncoderLayer(8, 2, 16)(engine.ones((5, 2, 8))).shape
    (5, 2, 8)
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first)
        self.linear1 = Linear(d_model, dim_feedforward, bias)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, layer_norm_eps, bias=bias)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, bias=bias)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.activation = _activation(activation)

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """Masks as MultiheadAttention's attn_mask and key_padding_mask."""

        def attend(x: Tensor) -> Tensor:
            y, _ = self.self_attn(
                x, x, x, src_key_padding_mask, False, src_mask, is_causal=is_causal
            )
            return self.dropout1(y)

        if self.norm_first:
            x = src + attend(self.norm1(src))
            return x + self.dropout2(self._feed_forward(self.norm2(x)))
        x = self.norm1(src + attend(src))
        return self.norm2(x + self.dropout2(self._feed_forward(x)))


class TransformerDecoderLayer(_Layer):
    """TransformerEncoderLayer with attention to an encoder's output, `memory`, in the middle.

    >>> x = engine.ones((5, 2, 8))
    >>> TransformerDecoderLayer(8, 2, 16)(x, engine.ones((7, 2, 8))).shape
    (5, 2, 8)
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first)
        self.multihead_attn = MultiheadAttention(
            d_model, nhead, dropout, bias, batch_first=batch_first
        )
        self.linear1 = Linear(d_model, dim_feedforward, bias)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, layer_norm_eps, bias=bias)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, bias=bias)
        self.norm3 = LayerNorm(d_model, layer_norm_eps, bias=bias)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.dropout3 = Dropout(dropout)
        self.activation = _activation(activation)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Masks as MultiheadAttention's attn_mask and key_padding_mask."""

        def attend(x: Tensor) -> Tensor:
            y, _ = self.self_attn(
                x, x, x, tgt_key_padding_mask, False, tgt_mask, is_causal=tgt_is_causal
            )
            return self.dropout1(y)

        def attend_memory(x: Tensor) -> Tensor:
            y, _ = self.multihead_attn(
                x,
                memory,
                memory,
                memory_key_padding_mask,
                False,
                memory_mask,
                is_causal=memory_is_causal,
            )
            return self.dropout2(y)

        if self.norm_first:
            x = tgt + attend(self.norm1(tgt))
            x = x + attend_memory(self.norm2(x))
            return x + self.dropout3(self._feed_forward(self.norm3(x)))
        x = self.norm1(tgt + attend(tgt))
        x = self.norm2(x + attend_memory(x))
        return self.norm3(x + self.dropout3(self._feed_forward(x)))


class TransformerEncoder(Module):
    """num_layers copies of an encoder layer, one after the other, and a last normalisation.

    >>> layer = TransformerEncoderLayer(8, 2, 16)
    >>> TransformerEncoder(layer, 2)(engine.ones((5, 2, 8))).shape
    (5, 2, 8)
    """

    def __init__(self, encoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(encoder_layer) for _ in range(num_layers)])
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        for layer in self.layers:
            src = layer(src, mask, src_key_padding_mask, is_causal)
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Module):
    """num_layers copies of a decoder layer, one after the other, and a last normalisation.

    >>> layer = TransformerDecoderLayer(8, 2, 16)
    >>> TransformerDecoder(layer, 2)(engine.ones((5, 2, 8)), engine.ones((7, 2, 8))).shape
    (5, 2, 8)
    """

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(decoder_layer) for _ in range(num_layers)])
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        for layer in self.layers:
            tgt = layer(
                tgt,
                memory,
                tgt_mask,
                memory_mask,
                tgt_key_padding_mask,
                memory_key_padding_mask,
                tgt_is_causal,
                memory_is_causal,
            )
        return tgt if self.norm is None else self.norm(tgt)
