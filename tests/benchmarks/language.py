"""What a language model does, on the shapes of GPT-2, beside PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.benchmarks.workload import Work, Workload

HEADS, HEAD, LENGTH, WIDTH, VOCABULARY = 12, 64, 1024, 768, 50257
TOKENS = 1024


def _draw(*shapes: tuple[int, ...]) -> list[Any]:
    """Arrays of normal numbers from one seed, so that both sides see the same."""
    import numpy as np

    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape, dtype=np.float32) for shape in shapes]


def _both(
    name: str,
    flops: float,
    shapes: list[tuple[int, ...]],
    ours: Callable[[list[Any]], Work],
    peer: Callable[[list[Any]], Work],
    **options: int,
) -> Workload:
    def make_ours() -> Work:
        import engine

        return ours([engine.asarray(a) for a in _draw(*shapes)])

    def make_peer() -> Work:
        import torch

        return peer([torch.from_numpy(a) for a in _draw(*shapes)])

    return Workload(name, flops, make_ours, make_peer, **options)


def _heads_of(qkv: Any) -> list[Any]:
    """(tokens, 3 * width) as query, key and value (1, heads, tokens, head): views."""
    parts = qkv.reshape(1, -1, 3, HEADS, HEAD)
    return [parts[:, :, i].swapaxes(1, 2) for i in range(3)]


def _attention(library: Any, gradient: bool) -> Callable[[list[Any]], Work]:
    def make(arrays: list[Any]) -> Work:
        F = library()
        leaves = [t.requires_grad_() if hasattr(t, "requires_grad_") else t for t in arrays[:3]]
        grad = arrays[3]

        def work() -> object:
            for t in leaves:
                t.grad = None
                t.requires_grad = gradient
            y = F.scaled_dot_product_attention(*leaves, is_causal=True)
            if gradient:
                y.backward(grad)
            return y

        return work

    return make


def _engine_functions() -> Any:
    from engine.nn import functional

    return functional


def _torch_functions() -> Any:
    from torch.nn import functional

    return functional


def _attention_row(gradient: bool) -> Workload:
    # Half of the scores: 2 products forward, 5 more backward.
    flops = (7 if gradient else 2) * HEADS * LENGTH * LENGTH * HEAD
    return _both(
        f"causal attention 12x1024x64, {'forward and backward' if gradient else 'forward'}",
        float(flops),
        [(1, HEADS, LENGTH, HEAD)] * 4,
        _attention(_engine_functions, gradient),
        _attention(_torch_functions, gradient),
        rounds=9,
        repeat=5,
    )


def _decoding_attention() -> Workload:
    def make(library: Callable[[], Any]) -> Callable[[list[Any]], Work]:
        def with_cache(arrays: list[Any]) -> Work:
            F = library()
            q, keys, values = arrays[0], *(t[:, :, :1000] for t in arrays[1:])
            return lambda: F.scaled_dot_product_attention(q, keys, values)

        return with_cache

    shapes = [(1, HEADS, 1, HEAD), *[(1, HEADS, LENGTH, HEAD)] * 2]
    return _both("attention of 1 query, cache of 1000", 0, shapes, make(_engine_functions),
                 make(_torch_functions), rounds=15, repeat=200)  # fmt: skip


ROWS = [_attention_row(False), _attention_row(True), _decoding_attention()]
