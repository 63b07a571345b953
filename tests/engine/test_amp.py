"""engine.autocast and engine.amp.GradScaler."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import pytest

import engine
from engine import amp, nn, optim
from engine.nn import functional as F

NARROW = (engine.bfloat16, engine.float16)


def tensor(*shape: int, seed: int = 0) -> engine.Tensor:
    t = engine.asarray(np.random.default_rng(seed).standard_normal(shape).astype("float32"))
    t.requires_grad = True
    return t


def values(t: engine.Tensor) -> np.ndarray:
    return t.detach().astype(engine.float32).numpy()


PRODUCTS: dict[str, tuple[Callable[..., engine.Tensor], tuple[tuple[int, ...], ...]]] = {
    "matmul": (engine.matmul, ((2, 3, 4), (4, 5))),
    "linear": (F.linear, ((3, 4), (5, 4), (5,))),
    "conv1d": (F.conv1d, ((2, 3, 9), (4, 3, 3), (4,))),
    "conv2d": (F.conv2d, ((2, 3, 6, 5), (4, 3, 3, 3), (4,))),
    "conv_transpose2d": (F.conv_transpose2d, ((2, 3, 4, 4), (3, 2, 3, 3), (2,))),
}


@pytest.mark.parametrize("dtype", NARROW, ids=str)
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_are_narrow_and_gradients_wide(name: str, dtype: engine.dtype) -> None:
    function, shapes = PRODUCTS[name]
    exact = [tensor(*shape, seed=i) for i, shape in enumerate(shapes)]
    inputs = [tensor(*shape, seed=i) for i, shape in enumerate(shapes)]
    wide = function(*exact)
    with engine.autocast("cpu", dtype):
        narrow = function(*inputs)
    assert narrow.dtype == dtype and wide.dtype == engine.float32
    # What rounding of the operands and of the result to 8 or 11 bits can do to such sums.
    bound = 0.06 if dtype == engine.bfloat16 else 0.01
    np.testing.assert_allclose(values(narrow), values(wide), atol=bound)
    weight = tensor(*wide.shape, seed=9).detach()
    (wide * weight).sum().backward()
    (narrow * weight).sum().backward()
    for here, there in zip(inputs, exact, strict=True):
        assert here.grad.dtype == engine.float32
        scale = abs(there.grad.numpy()).max()
        np.testing.assert_allclose(here.grad.numpy(), there.grad.numpy(), atol=bound * scale)


def test_a_float16_result_is_not_asked_of_a_bfloat16_block() -> None:
    x = engine.ones((2, 2), dtype=engine.float16)
    with engine.autocast("cpu"):
        assert (x @ engine.ones((2, 2))).dtype == engine.bfloat16


def test_float64_integers_and_other_devices_are_left_alone() -> None:
    x = engine.ones((2, 2), dtype=engine.float64)
    whole = engine.ones((2, 2), dtype=engine.int32)
    with engine.autocast("cpu"):
        assert (x @ x).dtype == engine.float64
        assert (whole @ whole).dtype == engine.int32
    with engine.autocast("cuda"):
        assert (engine.ones((2, 2)) @ engine.ones((2, 2))).dtype == engine.float32


def test_losses_and_probabilities_are_wide() -> None:
    x, w, labels = tensor(3, 4), tensor(5, 4), engine.asarray([1, 0, 4])
    with engine.autocast("cpu"):
        logits = F.linear(x, w)
        found = [
            F.softmax(logits, -1),
            F.log_softmax(logits, -1),
            F.cross_entropy(logits, labels),
            F.linear_cross_entropy(x, w, labels),
            F.mse_loss(logits, engine.zeros((3, 5))),
            F.binary_cross_entropy_with_logits(logits, engine.zeros((3, 5))),
        ]
    assert [t.dtype for t in found] == [engine.float32] * len(found)
    assert F.softmax(logits, -1).dtype == engine.bfloat16  # outside, as of any narrow tensor


def test_statistics_of_norms_are_wide() -> None:
    norm = nn.BatchNorm2d(4)
    x = tensor(2, 3, 6, 6) * 1000 + 5000  # whose squares float16 does not hold
    with engine.autocast("cpu", engine.float16):
        y = norm(F.conv2d(x, tensor(4, 3, 1, 1) * 0.01))
    assert y.dtype == engine.float16 and norm.running_var.dtype == engine.float32
    assert np.isfinite(norm.running_var.numpy()).all()
    assert abs(float(values(y).std()) - 1) < 0.01


def test_blocks_nest_are_per_thread_and_decorate() -> None:
    product = lambda: (engine.ones((2, 2)) @ engine.ones((2, 2))).dtype  # noqa: E731
    seen = []
    block = engine.autocast("cpu")
    with block:
        with engine.autocast("cpu", engine.float16), block:
            seen.append(product())
        with engine.autocast("cpu", enabled=False):
            seen.append(product())
        thread = threading.Thread(target=lambda: seen.append(product()))
        thread.start()
        thread.join()
        seen.append(product())
        with pytest.raises(ValueError, match="matmul"):
            engine.ones(2) @ engine.ones(3)
    seen += [product(), engine.autocast("cpu", engine.float16)(product)()]
    b, h, f = engine.bfloat16, engine.float16, engine.float32
    assert seen == [b, f, f, b, f, h]


def test_backward_inside_a_block_computes_what_it_computes_outside() -> None:
    grads = []
    for inside in (True, False):
        x = tensor(3, 4)
        with engine.autocast("cpu"):
            loss = (engine.exp(x @ tensor(4, 4, seed=1)) * x).sum()
            if inside:
                loss.backward()
        if not inside:
            loss.backward()
        grads.append(x.grad.numpy())
    assert (grads[0] == grads[1]).all()


def test_checkpoint_computes_again_as_it_did_at_first() -> None:
    grads = []
    for run in (lambda f, *a: f(*a), engine.autograd.checkpoint):
        x, w = tensor(3, 4), tensor(4, 4, seed=1)
        with engine.autocast("cpu"):
            y = run(lambda x, w: F.relu(x @ w) @ w, x, w)
        assert y.dtype == engine.bfloat16
        y.sum().backward()
        grads.append(w.grad.numpy())
    assert (grads[0] == grads[1]).all()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [(("gpu",), "'gpu'; expected 'cpu' or 'cuda'"), (("cpu", engine.float32), "float32; expected")],
)
def test_autocast_refuses(arguments: tuple, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        engine.autocast(*arguments)


def one_step(scaler: amp.GradScaler, factor: float = 1.0) -> tuple[np.ndarray, float]:
    """A parameter after a step of gradient descent down a slope of `factor`, and the scale."""
    p = nn.Parameter(engine.ones(3))
    optimizer = optim.SGD([p], lr=0.5)
    scaler.scale((p * factor).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    return p.detach().numpy(), scaler.get_scale()


def test_a_scaled_step_is_the_plain_step() -> None:
    plain, _ = one_step(amp.GradScaler(enabled=False))
    scaled, scale = one_step(amp.GradScaler(init_scale=1024.0))
    assert plain.tolist() == scaled.tolist() == [0.5] * 3 and scale == 1024.0


def test_small_gradients_of_float16_survive() -> None:
    # 2^-26 is half of the smallest number of float16.
    found = []
    for scaler in (amp.GradScaler(enabled=False), amp.GradScaler()):
        x, w = engine.ones((1, 1)), tensor(1, 1)
        with engine.autocast("cpu", engine.float16):
            y = F.linear(x, w)
        scaler.scale(y.astype(engine.float32) * 2.0**-26).sum().backward()
        found.append(w.grad.item() / scaler.get_scale())
    assert found == [0.0, 2.0**-26]


def test_a_step_that_overflows_is_left_out_and_the_scale_shrinks() -> None:
    scaler = amp.GradScaler(init_scale=4.0, growth_interval=2)
    values, scale = one_step(scaler, np.inf)
    assert values.tolist() == [1.0] * 3 and scale == 2.0
    assert [one_step(scaler)[1] for _ in range(3)] == [2.0, 4.0, 4.0]


def test_gradients_are_unscaled_once() -> None:
    p = nn.Parameter(engine.ones(3))
    optimizer = optim.SGD([p], lr=0.5)
    scaler = amp.GradScaler(init_scale=8.0)
    scaler.scale(p.sum()).backward()
    scaler.unscale_(optimizer)
    assert p.grad.tolist() == [1.0] * 3
    with pytest.raises(RuntimeError, match="once a step"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    assert p.tolist() == [0.5] * 3


def test_state_of_a_scaler() -> None:
    scaler = amp.GradScaler(init_scale=4.0, growth_interval=3)
    one_step(scaler)
    one_step(scaler)
    other = amp.GradScaler(growth_interval=3)
    other.load_state_dict(scaler.state_dict())
    assert one_step(other)[1] == 8.0
    assert amp.GradScaler(enabled=False).state_dict() == {}


@pytest.mark.parametrize("wrong", [{"growth_factor": 1.0}, {"backoff_factor": 1.0}])
def test_a_scaler_refuses(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="growth_factor"):
        amp.GradScaler(**wrong)
