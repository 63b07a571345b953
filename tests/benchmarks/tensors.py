"""Elementwise operations, reductions, sorting and indexing on 1e7 elements, beside PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.benchmarks.workload import Work, Workload

SIZE = 10_000_000
SQUARE = (2500, 4000)

# What both sides start from, by name: made by numpy from one seed, so that both see the same.
Inputs = dict[str, Any]


def _arrays() -> Inputs:
    import numpy as np

    rng = np.random.default_rng(0)
    x = rng.standard_normal(SIZE, dtype=np.float32)
    return {
        "x": x,
        "y": rng.standard_normal(SIZE, dtype=np.float32),
        "positive": np.abs(x) + np.float32(0.1),
        "square": x.reshape(SQUARE),
        "integers": rng.integers(0, 1000, SIZE),
        "places": rng.permutation(SIZE),
        "mask": x > 0,
        "column": rng.integers(0, SQUARE[1], (SQUARE[0], 100)),
    }


def _row(
    name: str, ours: Callable[[Any, Inputs], object], peer: Callable[[Any, Inputs], object] | None
) -> Workload:
    """`peer` defaults to `ours`: then both libraries spell it alike."""

    def make_ours() -> Work:
        import engine

        inputs = {key: engine.asarray(a) for key, a in _arrays().items()}
        return lambda: ours(engine, inputs)

    def make_peer() -> Work:
        import torch

        inputs = {key: torch.from_numpy(a) for key, a in _arrays().items()}
        run = peer or ours
        return lambda: run(torch, inputs)

    return Workload(f"1e7 {name}", 0, make_ours, make_peer, rounds=9)


def _scatter(e: Any, i: Inputs) -> object:
    return e.scatter_add(e.zeros(SQUARE), 1, i["column"], i["square"][:, :100])


ROWS = [
    _row("add", lambda e, i: i["x"] + i["y"], None),
    _row("multiply by a number", lambda e, i: i["x"] * 1.5, None),
    _row("divide", lambda e, i: i["x"] / i["positive"], None),
    _row("add a row to a matrix", lambda e, i: i["square"] + i["square"][0], None),
    _row("exp", lambda e, i: e.exp(i["x"]), None),
    _row("log", lambda e, i: e.log(i["positive"]), None),
    _row("sqrt", lambda e, i: e.sqrt(i["positive"]), None),
    _row("tanh", lambda e, i: e.tanh(i["x"]), None),
    _row("sigmoid", lambda e, i: e.sigmoid(i["x"]), None),
    _row("relu", lambda e, i: e.relu(i["x"]), None),
    _row("gelu", lambda e, i: e.gelu(i["x"]), lambda t, i: t.nn.functional.gelu(i["x"])),
    _row("sin", lambda e, i: e.sin(i["x"]), None),
    _row("erf", lambda e, i: e.erf(i["x"]), None),
    _row("pow 3", lambda e, i: i["x"] ** 3, None),
    _row("greater", lambda e, i: i["x"] > i["y"], None),
    _row("where", lambda e, i: e.where(i["mask"], i["x"], i["y"]), None),
    _row("clip", lambda e, i: e.clip(i["x"], -1, 1), None),
    _row("maximum", lambda e, i: e.maximum(i["x"], i["y"]), None),
    _row(
        "float32 to float64",
        lambda e, i: i["x"].astype(e.float64),
        lambda t, i: i["x"].to(t.float64),
    ),
    _row("sum", lambda e, i: e.sum(i["x"]), None),
    _row("sum of rows", lambda e, i: e.sum(i["square"], axis=1), None),
    _row("sum of columns", lambda e, i: e.sum(i["square"], axis=0), None),
    _row("mean", lambda e, i: e.mean(i["x"]), None),
    _row("std of rows", lambda e, i: e.std(i["square"], axis=1), None),
    _row("max", lambda e, i: e.max(i["x"]), None),
    _row(
        "max of columns",
        lambda e, i: e.max(i["square"], axis=0),
        lambda t, i: t.amax(i["square"], 0),
    ),  # noqa: E501
    _row("argmax of rows", lambda e, i: e.argmax(i["square"], axis=1), None),
    _row("any", lambda e, i: e.any(i["mask"]), None),
    _row("softmax of rows", lambda e, i: e.softmax(i["square"], 1), None),
    _row(
        "cumulative sum of rows",
        lambda e, i: e.cumulative_sum(i["square"], axis=1),
        lambda t, i: t.cumsum(i["square"], 1),
    ),
    _row("sort", lambda e, i: e.sort(i["x"]), None),
    _row("sort of rows", lambda e, i: e.sort(i["square"], axis=1), None),
    _row("argsort", lambda e, i: e.argsort(i["x"]), None),
    _row("topk 10 of rows", lambda e, i: e.topk(i["square"], 10), None),
    _row(
        "unique integers",
        lambda e, i: e.unique_values(i["integers"]),
        lambda t, i: t.unique(i["integers"]),
    ),
    _row("bincount", lambda e, i: e.bincount(i["integers"]), None),
    _row("take in random order", lambda e, i: i["x"][i["places"]], None),
    _row("boolean mask", lambda e, i: i["x"][i["mask"]], None),
    _row("every other column", lambda e, i: i["square"][:, ::2] * 1.0, None),
    _row("transposed copy", lambda e, i: i["square"].T.contiguous(), None),
    _row("concat", lambda e, i: e.concat([i["x"], i["y"]]), None),
    _row(
        "scatter_add",
        _scatter,
        lambda t, i: t.zeros(SQUARE).scatter_add(1, i["column"], i["square"][:, :100]),
    ),  # noqa: E501
]
