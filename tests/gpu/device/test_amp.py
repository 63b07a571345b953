"""Mixed precision on the device: kernels that read and write 16-bit tensors themselves, beside the
CPU's, which go through float32."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import engine
from engine import nn, optim
from engine.nn import functional as F

NARROW = (engine.bfloat16, engine.float16)
Case = tuple[Callable[..., engine.Tensor], tuple[tuple[int, ...], ...]]


def batch_norm(**options: object) -> Callable[..., engine.Tensor]:
    return lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True, **options)


CASES: dict[str, Case] = {
    "conv2d": (
        lambda x, w, b: F.conv2d(x, w, b, padding=1, stride=2),
        ((2, 4, 7, 6), (8, 4, 3, 3), (8,)),
    ),
    "conv2d in groups": (lambda x, w: F.conv2d(x, w, groups=2), ((2, 4, 7, 6), (8, 2, 3, 3))),
    "conv_transpose2d": (F.conv_transpose2d, ((2, 4, 4, 4), (4, 3, 3, 3), (3,))),
    "batch norm": (batch_norm(), ((5, 3, 6, 4), (3,), (3,))),
    "layer norm": (
        lambda x, w, b: F.layer_norm(x, (33,), w, b),
        ((7, 33), (33,), (33,)),
    ),
    "layer norm of long rows": (
        lambda x, w, b: F.layer_norm(x, (1100,), w, b),
        ((3, 1100), (1100,), (1100,)),
    ),
    "batch norm's second gradients": (
        lambda x, w, b: engine.grad(
            (batch_norm()(x, w, b) ** 2 * x).sum(), [x], create_graph=True
        )[0],
        ((5, 3, 4, 4), (3,), (3,)),
    ),
    "matmul": (engine.matmul, ((3, 5, 7), (7, 4))),
}  # fmt: skip


@pytest.mark.parametrize("dtype", NARROW, ids=str)
@pytest.mark.parametrize("name", CASES)
def test_narrow_results_and_gradients_are_those_of_the_cpu(
    name: str, dtype: engine.dtype, device: str
) -> None:
    function, shapes = CASES[name]
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape).astype("float32") for shape in shapes]
    sides = []
    for where in ("cpu", device):
        inputs = [engine.asarray(a).astype(dtype).to(where) for a in arrays]
        for t in inputs:
            t.requires_grad = True
        y = function(*inputs)
        weight = np.random.default_rng(1).standard_normal(y.shape).astype("float32")
        (y * engine.asarray(weight).to(where)).sum().backward()
        assert y.dtype == dtype and all(t.grad.dtype == dtype for t in inputs)
        sides.append([t.astype(engine.float32).to("cpu").numpy() for t in
                      (y.detach(), *(t.grad for t in inputs))])  # fmt: skip
    unit = 2.0**-8 if dtype == engine.bfloat16 else 2.0**-11
    for here, there in zip(*sides, strict=True):
        np.testing.assert_allclose(there, here, rtol=2 * unit, atol=2 * unit * abs(here).max())


def test_an_inference_kernel_of_all_is_that_of_the_cpu(device: str) -> None:
    rng = np.random.default_rng(0)
    x, w, b = (rng.standard_normal(s).astype("float32") for s in ((2, 4, 6, 6), (4, 4, 3, 3), (4,)))
    found = []
    for where in ("cpu", device):
        layer = nn.Sequential(nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU()).eval()
        layer[0].load_state_dict({"weight": w, "bias": b})
        layer.to(where)
        with engine.no_grad(), engine.autocast(where):
            y = layer(engine.asarray(x).to(where))
        assert y.dtype == engine.bfloat16
        found.append(y.astype(engine.float32).to("cpu").numpy())
    np.testing.assert_allclose(found[1], found[0], rtol=2**-7, atol=2**-7)


@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_a_network_learns_in_mixed_precision(dtype: engine.dtype, device: str) -> None:
    rng = np.random.default_rng(0)
    labels = np.arange(8) % 2
    pictures = rng.standard_normal((8, 3, 16, 16)) + labels[:, None, None, None]
    engine.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 4, 3, stride=2), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(4, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.LayerNorm(8), nn.Linear(8, 2),
    ).to(device)  # fmt: skip
    x, y = engine.asarray(pictures.astype("float32")).to(device), engine.asarray(labels).to(device)
    optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    scaler = engine.amp.GradScaler(init_scale=1024.0, enabled=dtype == engine.float16)
    losses = []
    for _ in range(8):
        with engine.autocast(device, dtype):
            loss = F.cross_entropy(model(x), y)
        assert loss.dtype == engine.float32
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        losses.append(loss.item())
    assert all(p.dtype == engine.float32 for p in model.parameters())
    assert np.isfinite(losses).all() and losses[-1] < losses[0] / 2, losses
