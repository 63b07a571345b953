"""Whole models on device "cuda": the logits, the losses and the weights of the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import engine
from engine import nn
from engine.nn import functional as F
from engine.optim import SGD, AdamW
from zoo.models import gpt, resnet

TINY = (
    ("basic", resnet.ResNetConfig((1, 1), widths=(4, 8), num_classes=3)),
    ("bottleneck", resnet.ResNetConfig((1, 1), True, widths=(4, 8), num_classes=3)),
    ("small", resnet.ResNetConfig((1, 1), widths=(4, 8), num_classes=3, small_images=True)),
)


def make_gpt() -> gpt.GPT:
    return gpt.build("gpt_nano", layers=2, width=16, heads=2, context=16, vocab=40)


def trained(
    model: nn.Module,
    device: str,
    steps: int,
    loss_of: Callable[[Any], engine.Tensor],
    optimizer_of: Callable[[Any], Any],
) -> tuple[list[float], dict[str, np.ndarray]]:
    """Losses of a few steps, and the weights behind them."""
    model = model.to(device)
    optimizer = optimizer_of(model)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of(model)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, {name: t.detach().to("cpu").numpy() for name, t in model.state_dict().items()}


def assert_alike(here: Any, there: Any) -> None:
    np.testing.assert_allclose(there[0], here[0], rtol=2e-4)
    assert here[1].keys() == there[1].keys()
    for name, value in here[1].items():
        np.testing.assert_allclose(there[1][name], value, rtol=2e-3, atol=2e-4, err_msg=name)


@pytest.mark.parametrize("config", [c for _, c in TINY], ids=[n for n, _ in TINY])
def test_a_residual_network_learns_as_on_the_cpu(config: Any, device: str) -> None:
    pictures = np.random.default_rng(0).standard_normal((4, 3, 16, 16)).astype("float32")
    results = []
    for where in ("cpu", device):
        engine.manual_seed(0)
        model = resnet.ResNet(config)
        x = engine.asarray(pictures).to(where)
        y = engine.asarray([0, 1, 2, 1]).to(where)
        results.append(
            trained(
                model, where, 2, lambda m, x=x, y=y: F.cross_entropy(m(x), y),
                lambda m: SGD(m.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4),
            )
        )  # fmt: skip
    assert_alike(*results)


def test_a_residual_network_predicts_as_on_the_cpu(device: str) -> None:
    engine.manual_seed(0)
    model = resnet.ResNet(TINY[1][1]).eval()
    x = engine.rand((2, 3, 16, 16))
    with engine.no_grad():
        here = model(x).numpy()
        there = model.to(device)(x.to(device)).to("cpu").numpy()
    np.testing.assert_allclose(there, here, rtol=1e-4, atol=1e-5)


def test_a_language_model_learns_as_on_the_cpu(device: str) -> None:
    tokens = np.random.default_rng(0).integers(0, 40, (2, 9))
    results = []
    for where in ("cpu", device):
        engine.manual_seed(0)
        model = make_gpt()
        x, y = (engine.asarray(t).to(where) for t in (tokens[:, :-1], tokens[:, 1:]))
        results.append(
            trained(
                model, where, 2, lambda m, x=x, y=y: m.loss(x, y) / 16,
                lambda m: AdamW(m.parameters(), lr=1e-3, weight_decay=0.1),
            )
        )  # fmt: skip
    assert_alike(*results)


def test_a_language_model_writes_with_its_cache_as_without(device: str) -> None:
    engine.manual_seed(0)
    model = make_gpt().eval().to(device)
    tokens = engine.asarray(np.random.default_rng(0).integers(0, 40, (2, 7))).to(device)
    with engine.no_grad():
        whole = model(tokens, pads=[0, 2]).to("cpu").numpy()
        cache = model.new_cache(2, pads=[0, 2])
        parts = [model(tokens[:, :4], cache=cache), model(tokens[:, 4:], cache=cache)]
    np.testing.assert_allclose(
        np.concatenate([p.to("cpu").numpy() for p in parts], 1)[:, 2:], whole[:, 2:], atol=1e-5
    )


def test_gradients_are_clipped_as_on_the_cpu(device: str) -> None:
    from engine.optim import clip

    values = np.random.default_rng(0).standard_normal((3, 5000)).astype("float32")
    norms = []
    for where in ("cpu", device):
        weights = [nn.Parameter(engine.asarray(row).to(where)) for row in values]
        for w in weights:
            w.grad = w.detach() * 3
        norms.append(float(clip.clip_grad_norm_(weights, 1.0)))
        scaled = np.stack([w.grad.to("cpu").numpy() for w in weights])
        np.testing.assert_allclose(np.linalg.norm(scaled), 1.0, rtol=1e-5)
    np.testing.assert_allclose(norms[1], norms[0], rtol=1e-12)
