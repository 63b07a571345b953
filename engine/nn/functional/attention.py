"""Attention."""

from __future__ import annotations

import math

import engine
from engine import _C, Device, Generator, Tensor
from engine.nn.functional.sizes import check_float


def _causal(queries: int, keys: int, device: Device) -> Tensor:
    """Query i may see keys 0 to i."""
    rows = engine.arange(queries, device=device).reshape((queries, 1))
    return rows >= engine.arange(keys, device=device)


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    generator: Generator | None = None,
) -> Tensor:
    """softmax(query key^T * scale + mask) value (Vaswani et al., arXiv:1706.03762).

    float32 and narrower inputs go through a kernel that never holds the (L, S) scores, so that
    memory grows with L + S (Dao et al., arXiv:2205.14135); others, dropout and masks with a
    gradient through the formula. A few queries read a key and value that are parts of a longer
    cache where they lie.

    Args:
        query: (..., heads, L, E).
        key: (..., heads, S, E).
        value: (..., heads, S, V).
        attn_mask: broadcast to (..., L, S). Booleans: True where a query may look; floats are
            added. A query that may look nowhere gets 0.
        dropout_p: share of the attention weights that are dropped; 0 in inference.
        is_causal: whether query i sees keys 0 to i only.
        scale: None for 1 / sqrt(E).
        enable_gqa: whether each head of key and value serves several heads of query, which are a
            multiple of theirs (Ainslie et al., arXiv:2305.13245).

    Raises:
        ValueError: shapes that do not fit, or both a mask and is_causal.

    >>> q = engine.ones((1, 2, 3, 4))
    >>> scaled_dot_product_attention(q, q, q, is_causal=True).shape
    (1, 2, 3, 4)
    """
    _check(query, key, value, attn_mask, is_causal, enable_gqa)
    if dropout_p == 0 and _is_fused(query, key, value, attn_mask, enable_gqa):
        scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
        missing = 4 - query.ndim
        if missing == 0:
            return _C._attention(query, key, value, attn_mask, scale, is_causal)
        q, k, v = (t.reshape((*(1,) * missing, *t.shape)) for t in (query, key, value))
        y = _C._attention(q, k, v, attn_mask, scale, is_causal)
        return engine.squeeze(y, tuple(range(missing)))
    return attention_and_weights(
        query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa, generator
    )[0]


def self_attention(
    qkv: Tensor, heads: int, is_causal: bool = False, scale: float | None = None
) -> Tensor:
    """scaled_dot_product_attention of the three parts of each row, heads joined again.

    What stands between the two projections of a transformer block. Its gradient is written as one
    tensor, where three slices of qkv would each make and add up one of their own.

    Args:
        qkv: (N, L, 3 * E): queries, keys and values side by side, each the heads side by side.
        heads: how many; they share E evenly.
        is_causal, scale: as for scaled_dot_product_attention.

    Returns:
        (N, L, E).

    Raises:
        ValueError: a shape that does not fit.

    >>> self_attention(engine.ones((2, 5, 12)), heads=2, is_causal=True).shape
    (2, 5, 4)
    """
    check_float("self_attention", qkv, "qkv")
    if heads < 1 or qkv.ndim != 3 or qkv.shape[2] % (3 * heads) or qkv.shape[2] == 0:
        raise ValueError(
            f"self_attention: qkv has shape {qkv.shape}, heads={heads}; expected (N, L, 3 * E) "
            "with E a multiple of the heads"
        )
    n, length, packed = qkv.shape
    width = packed // 3 // heads
    scale = 1 / math.sqrt(width) if scale is None else scale
    if qkv.dtype in _FUSED and width <= _WIDEST and qkv.size > 0:
        return _C._self_attention(qkv, heads, scale, is_causal)
    parts = qkv.reshape((n, length, 3, heads, width))
    q, k, v = (engine.swapaxes(parts[:, :, i], 1, 2) for i in range(3))
    y = scaled_dot_product_attention(q, k, v, is_causal=is_causal, scale=scale)
    return engine.swapaxes(y, 1, 2).reshape((n, length, packed // 3))


# What the kernel takes: the widest rows of which its blocks fit the caches.
_FUSED = (engine.float32, engine.float16, engine.bfloat16)
_WIDEST = 256


def _is_fused(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, enable_gqa: bool
) -> bool:
    """Whether the kernel takes these."""
    batch = query.shape[:-2]
    if enable_gqa:
        batch = (*batch[:-1], key.shape[-3])
    return (
        query.dtype in _FUSED
        and query.dtype == key.dtype == value.dtype
        and query.ndim <= 4
        and key.shape[:-2] == value.shape[:-2] == batch
        and max(query.shape[-1], value.shape[-1]) <= _WIDEST
        and 0 not in (*query.shape, *key.shape, *value.shape)
        and not (attn_mask is not None and attn_mask.requires_grad and engine.is_grad_enabled())
    )


def _check(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None,
    is_causal: bool,
    enable_gqa: bool,
) -> None:
    op = "scaled_dot_product_attention"
    for name, t in (("query", query), ("key", key), ("value", value)):
        check_float(op, t, name)
    if min(query.ndim, key.ndim, value.ndim) < 2 or (
        query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]
    ):
        raise ValueError(
            f"{op}: query {query.shape}, key {key.shape}, value {value.shape}; expected "
            "(..., L, E), (..., S, E) and (..., S, V)"
        )
    if is_causal and attn_mask is not None:
        raise ValueError(f"{op}: attn_mask and is_causal=True; give one of them")
    if attn_mask is not None and not (
        attn_mask.dtype == engine.bool or attn_mask.dtype.is_floating_point
    ):
        raise TypeError(f"{op}: attn_mask is {attn_mask.dtype}, expected bool or floats")
    if enable_gqa:
        heads = query.shape[-3] if query.ndim > 2 else 0
        own = key.shape[-3] if key.ndim > 2 else 0
        if own == 0 or heads % own or value.ndim != key.ndim or value.shape[-3] != own:
            raise ValueError(
                f"{op}: with enable_gqa, query {query.shape}, key {key.shape} and value "
                f"{value.shape}; expected heads of query, axis -3, that are a multiple of the "
                "others'"
            )


def attention_and_weights(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    generator: Generator | None = None,
) -> tuple[Tensor, Tensor]:
    """scaled_dot_product_attention, and the weights (..., heads, L, S) it averaged with.

    >>> q = engine.ones((1, 2, 3, 4))
    >>> attention_and_weights(q, q, q)[1].shape
    (1, 2, 3, 3)
    """
    _check(query, key, value, attn_mask, is_causal, enable_gqa)
    heads = query.shape[-3] if enable_gqa else 0
    if enable_gqa:
        own = key.shape[-3]
        # Heads that share a key are one more axis; keys and values broadcast along it, no copies.
        query = query.reshape((*query.shape[:-3], own, heads // own, *query.shape[-2:]))
        key, value = engine.expand_dims(key, axis=-3), engine.expand_dims(value, axis=-3)
    scores = (
        query * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    ) @ engine.swapaxes(key, -1, -2)  # (..., L, S)
    if is_causal:
        attn_mask = _causal(query.shape[-2], key.shape[-2], query.device)
    sighted = None
    if attn_mask is not None:
        if enable_gqa and attn_mask.ndim > 2:
            split = (own, heads // own) if attn_mask.shape[-3] == heads else (1, 1)
            attn_mask = attn_mask.reshape((*attn_mask.shape[:-3], *split, *attn_mask.shape[-2:]))
        scores, sighted = _masked(scores, attn_mask, is_causal)
    weights = _C.softmax(scores, -1)
    if sighted is not None:
        weights = weights * sighted
    if dropout_p > 0:
        weights = _C.dropout(weights, dropout_p, generator)
    y = weights @ value
    if enable_gqa:
        y = y.reshape((*y.shape[:-4], heads, *y.shape[-2:]))
        weights = weights.reshape((*weights.shape[:-4], heads, *weights.shape[-2:]))
    return y, weights


def _masked(scores: Tensor, mask: Tensor, is_causal: bool) -> tuple[Tensor, Tensor | None]:
    """Scores after the mask, and 0 for queries that see nothing: a softmax of nothing is NaN, so
    theirs is taken over everything and its weights are then set to 0."""
    seen = mask if mask.dtype == engine.bool else mask.detach() != -math.inf
    sees = seen.any(axis=-1, keepdims=True)
    blind = not is_causal and not bool(sees.all())
    if mask.dtype == engine.bool:
        scores = engine.where(seen | ~sees if blind else seen, scores, -math.inf)
    else:
        mask = mask.astype(scores.dtype)
        scores = scores + (engine.where(sees, mask, 0.0) if blind else mask)
    return scores, sees.astype(scores.dtype) if blind else None
