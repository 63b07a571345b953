"""What a language model does, on the shapes of GPT-2, beside PyTorch's."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from tests.benchmarks.workload import Work, Workload

HEADS, HEAD, WIDTH, VOCABULARY, TOKENS = 12, 64, 768, 50257, 1024

Arrays = list[Any]
# Makes the work of one side, "engine" or "torch", from its arrays.
Make = Callable[[str, Arrays], Work]


def _both(
    name: str,
    flops: float,
    shapes: list[tuple[int, ...]],
    make: Make,
    spread: float = 1.0,
    **options: int,
) -> Workload:
    """Arrays are normal numbers, `spread` apart, from one seed, so that both sides see the same."""

    def draw() -> Arrays:
        import numpy as np

        rng = np.random.default_rng(0)
        return [rng.standard_normal(s, dtype=np.float32) * np.float32(spread) for s in shapes]

    def side(library: str) -> Work:
        asarray = importlib.import_module(library).asarray
        return make(library, [asarray(a) for a in draw()])

    return Workload(name, flops, lambda: side("engine"), lambda: side("torch"), **options)


def _functions(library: str) -> Any:
    return importlib.import_module(f"{library}.nn.functional")


def _targets(library: str) -> Any:
    import numpy as np

    numbers = np.random.default_rng(1).integers(0, VOCABULARY, TOKENS)
    return importlib.import_module(library).asarray(numbers)


def _trained(
    name: str,
    flops: float,
    shapes: list[tuple[int, ...]],
    function: Callable[..., Any],
    constants: Callable[[str], Arrays] = lambda library: [],
    **options: Any,
) -> Workload:
    """Forward and backward of function(nn.functional, *arrays, *constants). The last array is the
    gradient that arrives, and no argument; a loss has none."""

    def make(library: str, arrays: Arrays) -> Work:
        F, extra = _functions(library), constants(library)
        *leaves, grad = arrays
        for t in leaves:
            t.requires_grad = True

        def work() -> None:
            for t in leaves:
                t.grad = None
            y = function(F, *leaves, *extra)
            y.backward(grad if y.ndim else None)

        return work

    return _both(name, flops, shapes, make, **options)


def _inferred(
    name: str,
    flops: float,
    shapes: list[tuple[int, ...]],
    function: Callable[..., Any],
    **options: int,
) -> Workload:
    """function(nn.functional, *arrays) alone."""

    def make(library: str, arrays: Arrays) -> Work:
        F, no_grad = _functions(library), importlib.import_module(library).no_grad

        def work() -> object:
            with no_grad():
                return function(F, *arrays)

        return work

    return _both(name, flops, shapes, make, **options)


def _causal(F: Any, q: Any, k: Any, v: Any) -> Any:
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def _with_cache(F: Any, q: Any, k: Any, v: Any) -> Any:
    return F.scaled_dot_product_attention(q, k[:, :, :1000], v[:, :, :1000])


def _head_loss(F: Any, x: Any, weight: Any, target: Any) -> Any:
    if F.__name__.startswith("engine"):
        return F.linear_cross_entropy(x, weight, target)
    return F.cross_entropy(F.linear(x, weight), target)


def _adamw() -> Workload:
    def make(library: str, arrays: Arrays) -> Work:
        parameters = arrays[::2]
        for p, g in zip(parameters, arrays[1::2], strict=True):
            p.requires_grad = True
            p.grad = g
        options = {"fused": True} if library == "torch" else {}
        optim = importlib.import_module(f"{library}.optim")
        return optim.AdamW(parameters, lr=1e-4, weight_decay=0.01, **options).step

    block = [(3 * WIDTH, WIDTH), (WIDTH, WIDTH), (4 * WIDTH, WIDTH), (WIDTH, 4 * WIDTH)]
    shapes = [shape for shape in block for _ in range(2)]
    return _both("adamw, 7.1 million parameters", 0, shapes, make, rounds=15, repeat=5)


def _weights(kind: str, out: int, width: int, tokens: int = 1) -> Workload:
    """x W^T with weights of 32 bits or fewer; PyTorch has bfloat16 as a dtype, and otherwise reads
    float32."""

    def make(library: str, arrays: Arrays) -> Work:
        x, weight = arrays
        F, no_grad = _functions(library), importlib.import_module(library).no_grad
        if library == "engine" and kind != "float32":
            codes, scales = F.quantize(weight, kind)
            return lambda: F.quantized_linear(x, codes, scales)
        if kind == "bfloat16":
            x, weight = x.bfloat16(), weight.bfloat16()

        def work() -> object:
            with no_grad():
                return F.linear(x, weight)

        return work

    flops = 2.0 * tokens * out * width if tokens > 8 else 0
    name = f"{kind} weights {out}x{width}, {tokens} token{'s' if tokens > 1 else ''}"
    return _both(name, flops, [(tokens, width), (out, width)], make, rounds=9, repeat=10)


ATTENTION = f"attention {HEADS}x{TOKENS}x{HEAD}"
# Of one product, half of which is behind the causal mask.
ATTENTION_FLOPS = float(HEADS * TOKENS * TOKENS * HEAD)
INNER = 4 * WIDTH
HEAD_FLOPS, LINEAR_FLOPS = 2.0 * TOKENS * WIDTH * VOCABULARY, 2.0 * TOKENS * WIDTH * INNER
ROWS = [
    _inferred(f"causal {ATTENTION}, inference", 2 * ATTENTION_FLOPS,
              [(1, HEADS, TOKENS, HEAD)] * 3, _causal, rounds=9, repeat=5),
    _trained(f"causal {ATTENTION}, train", 7 * ATTENTION_FLOPS,
             [(1, HEADS, TOKENS, HEAD)] * 4, _causal, rounds=9, repeat=5),
    _inferred("attention of 1 token to a cache of 1000", 0,
              [(1, HEADS, 1, HEAD), *[(1, HEADS, TOKENS, HEAD)] * 2], _with_cache,
              rounds=15, repeat=200),
    # With logits like a model's: others would leave numbers below the normal ones, which are slow.
    _trained(f"head and cross-entropy {TOKENS}x{WIDTH}x{VOCABULARY}, train", 3 * HEAD_FLOPS,
             [(TOKENS, WIDTH), (VOCABULARY, WIDTH), ()], _head_loss,
             lambda library: [_targets(library)], rounds=5, spread=0.1),
    _trained(f"linear {TOKENS}x{WIDTH}x{INNER}, train", 3 * LINEAR_FLOPS,
             [(TOKENS, WIDTH), (INNER, WIDTH), (INNER,), (TOKENS, INNER)],
             lambda F, x, w, b: F.linear(x, w, b), repeat=3),
    _trained(f"layer norm {TOKENS}x{WIDTH}, train", 0,
             [(TOKENS, WIDTH), (WIDTH,), (WIDTH,), (TOKENS, WIDTH)],
             lambda F, x, w, b: F.layer_norm(x, (WIDTH,), w, b), rounds=15, repeat=20),
    _trained(f"gelu (tanh) {TOKENS}x{INNER}, train", 0, [(TOKENS, INNER)] * 2,
             lambda F, x: F.gelu(x, approximate="tanh"), rounds=15, repeat=5),
    _trained(f"embedding {VOCABULARY}x{WIDTH}, {TOKENS} tokens, train", 0,
             [(VOCABULARY, WIDTH), (TOKENS, WIDTH)], lambda F, w, i: F.embedding(i, w),
             lambda library: [_targets(library)], repeat=3),
    _adamw(),
    *(_weights(kind, VOCABULARY, WIDTH) for kind in ("float32", "bfloat16", "int8", "int4")),
    *(_weights(kind, INNER, WIDTH, 512) for kind in ("float32", "int8", "int4")),
]  # fmt: skip
