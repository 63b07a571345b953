"""Random programs of views, in-place changes and operations: values, first and second gradients
agree with PyTorch's. Run with -m peer; with ZOO_REQUIRE_PEERS=1 it fails where torch is missing.
"""

from __future__ import annotations

import importlib.util
import os
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import engine

pytestmark = pytest.mark.peer


@pytest.fixture(scope="module")
def torch() -> Iterator[Any]:
    if importlib.util.find_spec("torch") is None:
        if os.environ.get("ZOO_REQUIRE_PEERS") == "1":
            pytest.fail("torch is not installed, and ZOO_REQUIRE_PEERS=1 asks for it")
        pytest.skip("torch is not installed")
    import torch

    yield torch


def view(kind: int, t: Any, expand: Any, swap: Any, diagonal: Any) -> Any:
    """One of six views, spelled as either library spells it."""
    if t.ndim == 0:
        return t
    if kind == 5 and t.ndim > 1:
        return diagonal(t, 0, 0, t.ndim - 1)
    return [lambda: t[0], lambda: t[t.shape[0] // 2 :], lambda: swap(t, 0, t.ndim - 1),
            lambda: expand(t, 0), lambda: t[..., ::2], lambda: t[:1]][kind]()  # fmt: skip


def program(seed: int, torch: Any, a: np.ndarray, b: np.ndarray) -> tuple[list[Any], list[Any]]:
    """The same random program in both: pairs of leaves and every tensor it made."""
    rng = random.Random(seed)
    leaves = [(torch.tensor(v, requires_grad=True), engine.asarray(v.copy())) for v in (a, b)]
    for _, e in leaves:
        e.requires_grad = True
    zeros = (torch.zeros(3, 4, dtype=torch.float64), engine.zeros((3, 4), dtype=engine.float64))
    pool = [*((t * 1.0, e * 1.0) for t, e in leaves), zeros]
    for _ in range(rng.randrange(3, 12)):
        (t, e), (t2, e2) = rng.choice(pool), rng.choice(pool)
        action = rng.choice(["view", "view", "mul_", "add_", "copy_", "scale", "fill_", "new"])
        try:
            fits = np.broadcast_shapes(tuple(t.shape), tuple(t2.shape)) == tuple(t.shape)
        except ValueError:
            fits = False
        if action == "view":
            k = rng.randrange(6)
            pool.append((view(k, t, torch.unsqueeze, torch.transpose, torch.diagonal),
                         view(k, e, engine.expand_dims, engine.swapaxes, engine.diagonal)))  # fmt: skip
        elif action == "scale":
            for either in (t, e):
                either.mul_(0.5)
        elif action == "fill_":
            for either in (t, e):
                either.fill_(0.7)
        elif action == "new" and fits:
            pool.append((t * t2 + torch.sin(t), e * e2 + engine.sin(e)))
        elif fits and e.data_ptr() != e2.data_ptr():
            # PyTorch reads operands that overlap the result after they were written.
            t2, e2 = t2.clone(), e2.clone()
            getattr(t, action)(t2)
            getattr(e, action)(e2)
    return leaves, pool


def gradients(grad: Any, y: Any, leaves: list[Any], create_graph: bool) -> Any:
    """First gradients, or those of the sum of their squares; None where nothing flows."""
    found = grad(y, leaves, create_graph=create_graph, allow_unused=True)
    if not create_graph:
        return found
    squares = [(g * g).sum() for g in found if g is not None and g.requires_grad]
    if not squares:
        return [None] * len(leaves)
    return grad(sum(squares[1:], squares[0]), leaves, allow_unused=True)


@pytest.mark.parametrize("create_graph", [False, True], ids=["first", "second"])
def test_random_programs(torch: Any, create_graph: bool) -> None:
    compared = 0
    for seed in range(400):
        a, b = np.random.default_rng(seed).uniform(0.5, 1.5, (2, 3, 4))
        try:
            leaves, pool = program(seed, torch, a, b)
        except RuntimeError:
            continue  # PyTorch takes some changed views for leaves
        for t, e in pool:
            np.testing.assert_allclose(e.detach().numpy(), t.detach().numpy(), rtol=1e-12)
            assert e.requires_grad == t.requires_grad, seed
        ty = sum((t * (k + 1.0)).sum() for k, (t, _) in enumerate(pool))
        ey = sum(((e * (k + 1.0)).sum() for k, (_, e) in enumerate(pool)), 0.0)
        try:
            theirs = gradients(torch.autograd.grad, ty, [t for t, _ in leaves], create_graph)
        except RuntimeError:
            continue  # a saved tensor was changed: the engine may notice too, or not mind
        ours = gradients(engine.grad, ey, [e for _, e in leaves], create_graph)
        for t, e in zip(theirs, ours, strict=True):
            wanted = np.zeros((3, 4)) if t is None else t.detach().numpy()
            got = np.zeros((3, 4)) if e is None else e.detach().numpy()
            np.testing.assert_allclose(got, wanted, rtol=1e-9, err_msg=f"seed {seed}")
        compared += 1
    assert compared > 200
