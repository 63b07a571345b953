"""Multi-head attention."""

from __future__ import annotations

import engine
from engine import Tensor
from engine.nn import functional as F
from engine.nn import init
from engine.nn.functional.attention import attention_and_weights
from engine.nn.linear import Linear
from engine.nn.module import Module
from engine.nn.parameter import Parameter


class MultiheadAttention(Module):
    """y = W_o [head_1 ... head_h] + b_o, head_i = softmax(Q_i K_i^T / sqrt(E / h)) V_i, where Q, K
    and V are linear in query, key and value (Vaswani et al., arXiv:1706.03762).

    Args:
        embed_dim: E, a multiple of num_heads.
        num_heads: h.
        dropout: share of the attention weights dropped in training.
        bias: whether the linear maps have one.
        add_bias_kv: whether a learned key and value are added to those given.
        add_zero_attn: whether a key and value of zeros are.
        kdim, vdim: sizes of key and value; None for E.
        batch_first: whether tensors are (N, L, E) instead of (L, N, E).

    Parameters: in_proj_weight (3 E, E), or q_proj_weight, k_proj_weight and v_proj_weight where
    kdim or vdim differ; in_proj_bias (3 E,), out_proj.weight (E, E), out_proj.bias (E,), bias_k and
    bias_v (1, 1, E).

    >>> x = engine.ones((5, 2, 8))
    >>> y, weights = MultiheadAttention(8, 2)(x, x, x)
    >>> y.shape, weights.shape
    ((5, 2, 8), (2, 5, 5))
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
    ) -> None:
        super().__init__()
        if embed_dim < 1 or num_heads < 1 or embed_dim % num_heads:
            raise ValueError(
                f"MultiheadAttention: embed_dim={embed_dim}, expected a positive multiple of "
                f"num_heads={num_heads}"
            )
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.add_zero_attn = add_zero_attn
        self.batch_first = batch_first
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        e = embed_dim
        self.in_proj_weight = None
        self.q_proj_weight = self.k_proj_weight = self.v_proj_weight = None
        if self.kdim == self.vdim == e:
            self.in_proj_weight = init.xavier_uniform_(Parameter(engine.empty((3 * e, e))))
        else:
            self.q_proj_weight = init.xavier_uniform_(Parameter(engine.empty((e, e))))
            self.k_proj_weight = init.xavier_uniform_(Parameter(engine.empty((e, self.kdim))))
            self.v_proj_weight = init.xavier_uniform_(Parameter(engine.empty((e, self.vdim))))
        self.in_proj_bias = Parameter(engine.zeros(3 * e)) if bias else None
        self.out_proj = Linear(e, e, bias)
        if self.out_proj.bias is not None:
            init.zeros_(self.out_proj.bias)
        shape = (1, 1, e)
        self.bias_k = init.xavier_normal_(Parameter(engine.empty(shape))) if add_bias_kv else None
        self.bias_v = init.xavier_normal_(Parameter(engine.empty(shape))) if add_bias_kv else None

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """
        Args:
            query: (L, N, E), or (L, E).
            key, value: (S, N, kdim) and (S, N, vdim), or without N.
            key_padding_mask: (N, S), or (S,): True where a key is padding, or floats to add.
            need_weights: whether the weights are returned.
            attn_mask: (L, S) or (N * num_heads, L, S): True where a query may not look (the
                opposite of scaled_dot_product_attention's), or floats to add.
            average_attn_weights: whether the weights are the mean over the heads.
            is_causal: says that attn_mask is the causal one, or, without a mask, asks for it.

        Returns:
            y like query, and weights (N, L, S), or (N, num_heads, L, S), or None.

        Raises:
            ValueError: shapes that do not fit.
        """
        single = query.ndim == 2
        inputs = [query, key, value]
        if single:
            inputs = [engine.expand_dims(t, axis=0) for t in inputs]
        elif not self.batch_first:
            inputs = [engine.swapaxes(t, 0, 1) for t in inputs]
        sizes = (self.embed_dim, self.kdim, self.vdim)
        if any(t.ndim != 3 or t.shape[-1] != n for t, n in zip(inputs, sizes, strict=True)):
            raise ValueError(
                f"MultiheadAttention: query {query.shape}, key {key.shape}, value {value.shape}; "
                f"expected (L, N, {sizes[0]}), (S, N, {sizes[1]}) and (S, N, {sizes[2]}), all "
                "without N, or N first with batch_first"
            )
        q, k, v = self._project(*inputs)  # (N, L, E), (N, S, E), (N, S, E)
        n, length, e = q.shape
        extra = 0
        if self.bias_k is not None and self.bias_v is not None:
            k = engine.concat([k, engine.broadcast_to(self.bias_k, (n, 1, e))], axis=1)
            v = engine.concat([v, engine.broadcast_to(self.bias_v, (n, 1, e))], axis=1)
            extra += 1
        if self.add_zero_attn:
            nothing = engine.zeros((n, 1, e), dtype=q.dtype)
            k, v = engine.concat([k, nothing], axis=1), engine.concat([v, nothing], axis=1)
            extra += 1
        source = k.shape[1] - extra
        if is_causal and attn_mask is None:
            attn_mask = engine.arange(source) > engine.arange(length).reshape((length, 1))
        mask = self._mask(attn_mask, key_padding_mask, (n, length, source), extra, q)
        heads = [
            engine.swapaxes(t.reshape((n, -1, self.num_heads, e // self.num_heads)), 1, 2)
            for t in (q, k, v)
        ]
        dropout = self.dropout if self.training else 0.0
        weights = None
        if need_weights:
            y, weights = attention_and_weights(heads[0], heads[1], heads[2], mask, dropout)
        else:
            y = F.scaled_dot_product_attention(heads[0], heads[1], heads[2], mask, dropout)
        y = self.out_proj(engine.swapaxes(y, 1, 2).reshape((n, length, e)))
        if single:
            y = engine.squeeze(y, 0)
        elif not self.batch_first:
            y = engine.swapaxes(y, 0, 1)
        if weights is None:
            return y, None
        if average_attn_weights:
            weights = weights.mean(axis=1)
        return y, engine.squeeze(weights, 0) if single else weights

    def _project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, ...]:
        e = self.embed_dim
        if self.in_proj_weight is None:
            weights = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        elif query is key and key is value:
            packed = F.linear(query, self.in_proj_weight, self.in_proj_bias)
            return packed[..., :e], packed[..., e : 2 * e], packed[..., 2 * e :]
        else:
            weights = tuple(self.in_proj_weight[i * e : (i + 1) * e] for i in range(3))  # type: ignore[assignment]
        out = []
        for i, (x, weight) in enumerate(zip((query, key, value), weights, strict=True)):
            assert weight is not None
            bias = None if self.in_proj_bias is None else self.in_proj_bias[i * e : (i + 1) * e]
            out.append(F.linear(x, weight, bias))
        return tuple(out)

    def _mask(
        self,
        attn_mask: Tensor | None,
        padding: Tensor | None,
        shape: tuple[int, int, int],
        extra: int,
        like: Tensor,
    ) -> Tensor | None:
        """Both masks as one of floats to add, broadcast to (N, heads, L, S + extra)."""
        n, length, source = shape
        total = None
        if attn_mask is not None:
            mask = _added(attn_mask, like)
            if mask.shape == (n * self.num_heads, length, source):
                mask = mask.reshape((n, self.num_heads, length, source))
            elif mask.shape != (length, source):
                raise ValueError(
                    f"MultiheadAttention: attn_mask has shape {attn_mask.shape}, expected "
                    f"({length}, {source}) or ({n * self.num_heads}, {length}, {source})"
                )
            total = mask
        if padding is not None:
            mask = _added(padding, like)
            if mask.shape not in ((n, source), (source,)):
                raise ValueError(
                    f"MultiheadAttention: key_padding_mask has shape {padding.shape}, expected "
                    f"({n}, {source})"
                )
            mask = mask.reshape((-1, 1, 1, source))
            total = mask if total is None else total + mask
        return total if total is None or extra == 0 else F.pad(total, (0, extra))

    def extra_repr(self) -> str:
        return f"{self.embed_dim}, num_heads={self.num_heads}"


def _added(mask: Tensor, like: Tensor) -> Tensor:
    if mask.dtype == engine.bool:
        zeros = engine.zeros(mask.shape, dtype=like.dtype)
        return engine.where(mask, float("-inf"), zeros)
    return mask.astype(like.dtype)
