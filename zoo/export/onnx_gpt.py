"""GPT-2 as ONNX nodes: (B, T) int64 "tokens" -> (B, T, V) "logits" of the ones that follow.

The whole sequence is read at once, without padding and without a cache of keys and values.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zoo.export.onnx_graph import Graph
from zoo.models.gpt import GPT, GPTConfig


def draw_gpt(graph: Graph, model: GPT) -> None:
    """Adds the nodes of a language model."""
    (wte,), (wpe,) = graph.weights("wte", "weight"), graph.weights("wpe", "weight")
    zero, one = graph.constant("zero", 0), graph.constant("one", 1)
    length = graph.node("Gather", [graph.node("Shape", ["tokens"]), one])  # T
    positions = graph.node("Range", [zero, length, one])
    x = graph.node(
        "Add", [graph.node("Gather", [wte, "tokens"]), graph.node("Gather", [wpe, positions])]
    )  # (B, T, C)
    column = graph.node("Unsqueeze", [positions, graph.constant("last", [1])])
    seen = graph.node("LessOrEqual", [positions, column])  # (T, T): key <= query
    for i, block in enumerate(model.h.children()):
        name = f"h.{i}"
        y = _norm(graph, x, f"{name}.ln_1", block)
        x = graph.node("Add", [x, _attention(graph, y, f"{name}.attn", seen, model.config)])
        y = _norm(graph, x, f"{name}.ln_2", block)
        y = _gelu(graph, _project(graph, y, f"{name}.mlp.c_fc"))
        x = graph.node("Add", [x, _project(graph, y, f"{name}.mlp.c_proj")])
    x = _norm(graph, x, "ln_f", model)
    head = graph.node("Transpose", [wte], perm=(1, 0))
    graph.node("MatMul", [x, head], "logits")  # (B, T, V)


def _norm(graph: Graph, x: str, name: str, owner: Any) -> str:
    layer = getattr(owner, name.rpartition(".")[2])
    weights = graph.weights(name, "weight", "bias")
    return graph.node("LayerNormalization", [x, *weights], axis=-1, epsilon=layer.eps)


def _project(graph: Graph, x: str, name: str) -> str:
    """x W + b, W as (in, out)."""
    weight, bias = graph.weights(name, "weight", "bias")
    return graph.node("Add", [graph.node("MatMul", [x, weight]), bias])


def _attention(graph: Graph, x: str, name: str, seen: str, config: GPTConfig) -> str:
    apart = graph.constant("heads apart", (0, 0, config.heads, -1))
    q, k, v = (
        graph.node("Transpose", [graph.node("Reshape", [part, apart])], perm=(0, 2, 1, 3))
        for part in graph.split(_project(graph, x, f"{name}.c_attn"), 3, axis=-1)
    )  # (B, H, T, D) each
    k = graph.node("Transpose", [k], perm=(0, 1, 3, 2))
    scale = graph.number(1 / math.sqrt(config.width // config.heads))
    scores = graph.node("Mul", [graph.node("MatMul", [q, k]), scale])
    scores = graph.node("Where", [seen, scores, graph.number(-math.inf)])
    y = graph.node("MatMul", [graph.node("Softmax", [scores], axis=-1), v])
    y = graph.node("Transpose", [y], perm=(0, 2, 1, 3))
    y = graph.node("Reshape", [y, graph.constant("heads together", (0, 0, -1))])
    return _project(graph, y, f"{name}.c_proj")


def _gelu(graph: Graph, x: str) -> str:
    """x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))."""
    cube = graph.node("Mul", [x, graph.node("Mul", [x, x])])
    inner = graph.node("Add", [x, graph.node("Mul", [cube, graph.number(0.044715)])])
    tanh = graph.node("Tanh", [graph.node("Mul", [inner, graph.number(math.sqrt(2 / math.pi))])])
    half = graph.node("Mul", [x, graph.number(0.5)])
    return graph.node("Mul", [half, graph.node("Add", [tanh, graph.number(1.0)])])


def ends(model: GPT) -> tuple[tuple[Any, ...], tuple[Any, ...], NDArray[Any]]:
    """Input and output for Graph.to_onnx, and tokens to try it on."""
    length = min(model.context, 16)
    tokens = np.random.default_rng(0).integers(0, model.vocab, (2, length))
    return (
        ("tokens", np.int64, ("batch", "length")),
        ("logits", np.float32, ("batch", "length", model.vocab)),
        tokens,
    )
