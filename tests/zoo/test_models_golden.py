"""Our networks against results of the reference framework that lie beside its reference model.

reference/make_golden.py made the results, in float64, from seeded weights and pictures. In float64
ours must agree almost to the last digit. In float32 single gradients may not: where a sum before a
ReLU lies next to zero, rounding decides whether its gradient passes, in any framework.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import engine
from engine import nn
from engine.optim import SGD
from tests.zoo.reference.cases import BATCH, CASES, CLASSES, SEED, build
from tests.zoo.reference.seeded import seeded_labels, seeded_pictures, seeded_state
from zoo.models.image_model import ImageModel

GOLDEN = np.load(Path(__file__).parent / "reference" / "golden.npz", allow_pickle=False)
each_case = pytest.mark.parametrize("name", CASES)


def network(name: str, dtype: engine.dtype) -> ImageModel:
    model = build(name).to(dtype)
    shapes = {key: value.shape for key, value in model.state_dict().items()}
    model.load_state_dict(seeded_state(shapes, SEED))
    return model


def pictures(name: str, dtype: engine.dtype) -> engine.Tensor:
    size = CASES[name].size
    return engine.asarray(seeded_pictures((BATCH, 3, size, size), SEED)).astype(dtype)


def loss_of(logits: engine.Tensor) -> engine.Tensor:
    target = engine.asarray(seeded_labels(BATCH, CLASSES, SEED))
    return nn.functional.cross_entropy(logits, target, label_smoothing=0.1)


@cache
def first_step(name: str) -> tuple[ImageModel, engine.Tensor]:
    """The float64 network after one backward pass in training mode, and its logits."""
    model = network(name, engine.float64).train()
    logits = model(pictures(name, engine.float64))
    loss_of(logits).backward()
    return model, logits.detach()


def relative(actual: np.ndarray, wanted: np.ndarray) -> float:
    """Largest difference over the largest value."""
    return float(np.abs(actual - wanted).max() / np.abs(wanted).max())


@each_case
@pytest.mark.parametrize("dtype, tolerance", [("float64", 1e-11), ("float32", 1e-4)])
def test_logits_in_inference(name: str, dtype: str, tolerance: float) -> None:
    kind = engine.dtype_named(dtype)
    with engine.no_grad():
        logits = network(name, kind).eval()(pictures(name, kind)).numpy()
    assert relative(logits, GOLDEN[f"{name}/eval_logits"]) < tolerance


@each_case
def test_logits_in_training(name: str) -> None:
    assert relative(first_step(name)[1].numpy(), GOLDEN[f"{name}/train_logits"]) < 1e-11


@pytest.mark.parametrize("name", [name for name in CASES if name not in ("vgg11", "vgg16")])
def test_running_statistics_after_a_batch(name: str) -> None:
    buffers = [
        np.linalg.norm(b.numpy())
        for key, b in first_step(name)[0].named_buffers()
        if not key.endswith("num_batches_tracked")
    ]
    np.testing.assert_allclose(buffers, GOLDEN[f"{name}/buffer_norms"], rtol=1e-11)


@each_case
def test_the_norm_of_every_gradient(name: str) -> None:
    norms = [np.linalg.norm(p.grad.numpy()) for p in first_step(name)[0].parameters()]
    wanted = GOLDEN[f"{name}/grad_norms"]
    # A bias before a norm has the gradient 0, but for rounding.
    np.testing.assert_allclose(norms, wanted, rtol=1e-10, atol=1e-12 * wanted.max())


@pytest.mark.parametrize(
    "name, key", [(name, key) for name, case in CASES.items() for key in case.whole_gradients]
)
def test_single_gradients(name: str, key: str) -> None:
    grad = dict(first_step(name)[0].named_parameters())[key].grad.numpy().ravel()[:48]
    assert relative(grad, GOLDEN[f"{name}/grad/{key}"]) < 1e-10


@each_case
def test_losses_of_the_first_steps_in_float32(name: str) -> None:
    model = network(name, engine.float32).train()
    optimizer = SGD(model.parameters(), lr=0.01, momentum=0.9, nesterov=True, weight_decay=1e-4)
    losses = []
    for _ in range(4):
        loss = loss_of(model(pictures(name, engine.float32)))
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    np.testing.assert_allclose(losses, GOLDEN[f"{name}/losses"], rtol=1e-3)
