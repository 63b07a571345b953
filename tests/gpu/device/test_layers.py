"""Layers without a row in the op specs, and shapes that the rows do not have, beside the CPU:
results and gradients. Long rows go through whole blocks, wide heads through large tiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import engine
from engine.nn import functional as F

attend = F.scaled_dot_product_attention
Case = tuple[Callable[..., engine.Tensor], tuple[tuple[int, ...], ...]]


def beside(x: engine.Tensor, values: Any) -> engine.Tensor:
    return engine.asarray(values).to(x.device)


def masked(kind: str) -> Callable[..., engine.Tensor]:
    seen = np.random.default_rng(3).random((1, 1, 35, 35)) > 0.3
    seen[0, 0, 5] = False  # a query that may look nowhere
    mask = seen if kind == "bool" else np.where(seen, 0.5, -np.inf).astype("float32")
    return lambda q, k, v: attend(q, k, v, beside(q, mask))


HEADS = ((1, 2, 35, 8),) * 3
CASES: dict[str, Case] = {
    "attention": (attend, ((2, 2, 37, 9), (2, 2, 41, 9), (2, 2, 41, 5))),
    "causal attention": (lambda q, k, v: attend(q, k, v, is_causal=True), HEADS),
    "attention with a mask": (masked("bool"), HEADS),
    "attention with numbers to add": (masked("float"), HEADS),
    "attention of few queries": (attend, ((1, 2, 2, 16), (1, 2, 70, 16), (1, 2, 70, 16))),
    "attention of wide heads": (attend, ((1, 1, 40, 150),) * 3),
    "attention of groups": (
        lambda q, k, v: attend(q, k, v, is_causal=True, enable_gqa=True),
        ((1, 4, 35, 8), (1, 2, 35, 8), (1, 2, 35, 8)),
    ),
    "self-attention": (lambda x: F.self_attention(x, 2, is_causal=True), ((2, 33, 24),)),
    "linear cross-entropy": (
        lambda x, w: F.linear_cross_entropy(x, w, beside(x, [1, 2, 0])),
        ((3, 8), (11, 8)),
    ),
    "unfold": (lambda x: F.unfold(x, 3, padding=1, stride=2), ((2, 3, 6, 5),)),
    "fold": (lambda x: F.fold(x, (6, 5), 3, padding=1, stride=2), ((2, 27, 9),)),
    "padding": (
        lambda x: F.pad(x, (2, 1, 1, 2), "reflect") + F.pad(x, (2, 1, 1, 2)),
        ((1, 2, 4, 5),),
    ),
    "interpolation": (lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), ((1, 2, 3, 4),)),
    "a grid's samples": (
        lambda x, t: F.grid_sample(x, F.affine_grid(t, (1, 2, 3, 3))),
        ((1, 2, 4, 5), (1, 2, 3)),
    ),
    "distances of pairs": (F.pdist, ((4, 3),)),
    "unpooling": (
        lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2),
        ((1, 2, 4, 4),),
    ),
    "losses of margins": (
        lambda x: (
            F.multi_margin_loss(x, beside(x, [1, 0]))
            + F.multilabel_margin_loss(x, beside(x, [[1, -1, 0], [0, 2, -1]]))
        ),
        ((2, 3),),
    ),
    "negative log-likelihood": (
        lambda x: F.nll_loss(F.log_softmax(x, -1), beside(x, [1, 0])),
        ((2, 3),),
    ),
    "embedding bag": (
        lambda w: F.embedding_bag(beside(w, [0, 2, 1, 1]), w, beside(w, [0, 3]), mode="max"),
        ((4, 3),),
    ),
    "softmax of long rows": (lambda x: F.softmax(x, -1), ((3, 1500),)),
    "log-softmax of long rows": (lambda x: F.log_softmax(x, -1), ((3, 1500),)),
    "cross-entropy of many classes": (
        lambda x: F.cross_entropy(
            x,
            beside(x, [1, 2, 0]),
            beside(x, np.arange(1300, dtype="float32")),
            label_smoothing=0.1,
        ),
        ((3, 1300),),
    ),  # fmt: skip
    "layer norm of long rows": (
        lambda x, w, b: F.layer_norm(x, (1100,), w, b),
        ((3, 1100), (1100,), (1100,)),
    ),
    "batch norm of many pixels": (
        lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True),
        ((5, 3, 12, 12), (3,), (3,)),
    ),
    "products of several tiles": (engine.matmul, ((70, 33), (33, 65))),
    "products of long sums": (engine.matmul, ((3, 1200), (1200, 4))),
}


@pytest.mark.parametrize("name", CASES)
def test_results_and_gradients_are_those_of_the_cpu(name: str, device: str) -> None:
    function, shapes = CASES[name]
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape).astype("float32") for shape in shapes]
    sides = []
    for where in ("cpu", device):
        inputs = [engine.asarray(a).to(where) for a in arrays]
        for t in inputs:
            t.requires_grad = True
        y = function(*inputs)
        weight = np.random.default_rng(1).standard_normal(y.shape).astype("float32")
        (y * engine.asarray(weight).to(where)).sum().backward()
        sides.append([t.to("cpu").numpy() for t in (y.detach(), *(t.grad for t in inputs))])
    for here, there in zip(*sides, strict=True):
        np.testing.assert_allclose(there, here, rtol=1e-4, atol=1e-5 * max(1.0, abs(here).max()))


@pytest.mark.parametrize("kind", ["bfloat16", "int8", "int4"])
@pytest.mark.parametrize("tokens", [3, 20])
def test_weights_of_few_bits(kind: str, tokens: int, device: str) -> None:
    rng = np.random.default_rng(0)
    x, w, bias = (
        engine.asarray(rng.standard_normal(s).astype("float32")) for s in ((tokens, 64), (9, 64), 9)
    )
    codes, scales = F.quantize(w, kind)
    there = F.quantized_linear(
        x.to(device), codes.to(device), None if scales is None else scales.to(device),
        bias.to(device),
    )  # fmt: skip
    here = F.quantized_linear(x, codes, scales, bias)
    np.testing.assert_allclose(there.to("cpu").numpy(), here.numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_16_bit_products_sum_in_float32(dtype: str, device: str) -> None:
    kind = getattr(engine, dtype)
    rng = np.random.default_rng(0)
    a, b = (engine.asarray(rng.standard_normal(s)).astype(kind) for s in ((9, 300), (300, 7)))
    there = engine.matmul(a.to(device), b.to(device))
    assert there.dtype == kind
    # On the CPU the sum is a float32's too, rounded once at the end.
    difference = there.to("cpu").astype(engine.float32) - engine.matmul(a, b).astype(engine.float32)
    assert abs(difference.numpy()).max() <= 40 * engine.finfo(kind).eps


def test_operands_on_two_devices_are_named(device: str) -> None:
    x, w = engine.ones((2, 3), device=device), engine.ones((3, 3))
    for call in (
        lambda: x @ w,
        lambda: F.linear(x, w),
        lambda: F.cross_entropy(x, engine.asarray([0, 1])),
        lambda: F.embedding(engine.asarray([0]), engine.ones((3, 3), device=device)),
        lambda: F.conv2d(x.reshape((1, 1, 2, 3)), engine.ones((1, 1, 1, 1))),
    ):
        with pytest.raises(ValueError, match=r"'(cpu|cuda:0)' and '(cpu|cuda:0)'"):
            call()
