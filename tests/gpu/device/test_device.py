"""Tensors on a GPU: making, moving, mixing, memory."""

from __future__ import annotations

import ctypes
import os

import numpy as np
import pytest

import engine
from engine import _C, nn, optim
from engine.nn import functional as F


def test_a_tensor_goes_to_the_device_and_back(device: str) -> None:
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    there = engine.asarray(x).to(device)
    assert there.device == "cuda" and there.device == "cuda:0" and there.device != "cpu"
    np.testing.assert_array_equal(there.to("cpu").numpy(), x)
    assert there.to("cuda:0") is there or there.to("cuda:0").data_ptr() == there.data_ptr()


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "bfloat16", "complex64"])
def test_views_go_with_their_memory_order(device: str, dtype: str) -> None:
    x = engine.asarray(np.arange(60).reshape(3, 4, 5) % 7).astype(getattr(engine, dtype))
    for view in (x.T, x[::2], engine.flip(x), x[:, 1:3], x.permute_dims(1, 2, 0), x[0, 0, 0]):
        there = view.to(device)
        assert there.shape == view.shape and there.dtype == view.dtype
        back = there.to("cpu")
        assert (back == view).all().item()
        assert back.strides() == there.strides()


@pytest.mark.parametrize("make", [engine.zeros, engine.ones])
def test_creation_on_the_device(device: str, make) -> None:
    t = make((2, 3), device=device)
    assert t.device == device and t.tolist() == make((2, 3)).tolist()


def test_every_creation_function_takes_a_device(device: str) -> None:
    for made in (
        engine.full((2,), 7, device=device),
        engine.arange(5, device=device),
        engine.linspace(0.0, 1.0, 3, device=device),
        engine.eye(3, device=device),
        engine.asarray([1.0, 2.0], device=device),
        engine.empty((2,), device=device),
        engine.rand((3,), device=device),
        engine.randn((3,), device=device),
        engine.randint(0, 5, (3,), device=device),
    ):
        assert made.device == "cuda:0"
        like = engine.zeros_like(made)
        assert like.device == "cuda:0" and like.shape == made.shape
        assert engine.zeros_like(made, device="cpu").device == "cpu"


def test_the_context_decides_where_new_tensors_go(device: str) -> None:
    with engine.device(device):
        assert engine.zeros(2).device == "cuda:0"
        assert engine.asarray([1.0]).device == "cuda:0"
        with engine.device("cpu"):
            assert engine.zeros(2).device == "cpu"
    assert engine.zeros(2).device == "cpu"


def test_mixing_devices_names_both(device: str) -> None:
    here, there = engine.ones((2, 3)), engine.ones((2, 3), device=device)
    for mixed in (
        lambda: here + there,
        lambda: there * here,
        lambda: here < there,
        lambda: engine.where(there > 0, here, there),
        lambda: engine.concat([here, there]),
        lambda: there.__iadd__(here),
    ):
        with pytest.raises(ValueError, match=r"'(cpu|cuda:0)' and '(cpu|cuda:0)'"):
            mixed()


def test_numbers_meet_tensors_of_the_device(device: str) -> None:
    x = engine.asarray([1.0, -2.0, 3.0], device=device)
    assert (x * 2 + 1).tolist() == [3.0, -3.0, 7.0]
    assert (1 / x).device == "cuda:0"
    assert (engine.asarray(2.0) - x).tolist() == [1.0, 4.0, -1.0]
    assert engine.where(x > 0, x, 0.0).tolist() == [1.0, 0.0, 3.0]
    x += 1
    x[1] = 9.0
    assert x.tolist() == [2.0, 9.0, 4.0]


def test_a_number_of_the_host_gets_its_gradient_there(device: str) -> None:
    x = engine.asarray([1.0, 2.0], device=device)
    k = engine.asarray(3.0)
    k.requires_grad = True
    (x * k).sum().backward()
    assert k.grad.device == "cpu" and k.grad.item() == 3.0


def test_gradients_flow_through_a_move(device: str) -> None:
    x = engine.asarray([1.0, 2.0, 3.0])
    x.requires_grad = True
    (x.to(device) ** 2).sum().backward()
    assert x.grad.device == "cpu" and x.grad.tolist() == [2.0, 4.0, 6.0]


def test_numpy_asks_for_the_host(device: str) -> None:
    x = engine.ones(3, device=device)
    with pytest.raises(ValueError, match=r"is on 'cuda:0'.*\.to\('cpu'\)"):
        x.numpy()
    with pytest.raises(BufferError):
        memoryview(x)
    with pytest.raises(BufferError, match="'cuda:0'"):
        x.__dlpack__()
    assert "device='cuda:0'" in repr(x)


def test_devices_that_are_not_there(device: str) -> None:
    with pytest.raises(ValueError, match=r"'cuda:63' is not there: this machine has \d"):
        engine.zeros(2, device="cuda:63")
    with pytest.raises(ValueError, match="'gpu' is no device"):
        engine.zeros(2, device="gpu")


def test_memory_is_counted_and_used_again(device: str) -> None:
    engine.empty_cache(device)
    before = engine.memory_stats(device)["allocated_bytes"]
    engine.reset_peak_memory_stats(device)
    x = engine.zeros((1000, 100), device=device)
    stats = engine.memory_stats(device)
    assert stats["allocated_bytes"] - before >= 400_000
    assert stats["peak_allocated_bytes"] >= stats["allocated_bytes"]
    assert stats["reserved_bytes"] >= stats["allocated_bytes"]
    del x
    assert engine.memory_stats(device)["allocated_bytes"] == before
    assert engine.memory_stats()["allocated_bytes"] >= 0  # the host's own


def test_running_out_of_memory_says_what_is_held(device: str) -> None:
    held = engine.zeros((1000,), device=device)
    total = _C._device_info(0)["total_bytes"]
    with pytest.raises(MemoryError, match=r"on 'cuda:0': \d+ bytes are held.*smaller batch"):
        engine.empty((total,), dtype=engine.float64, device=device)
    assert held.sum().item() == 0.0  # and everything goes on


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_random_numbers_are_those_of_the_cpu(device: str, dtype: str) -> None:
    kind = getattr(engine, dtype)
    for draw in (
        lambda where: engine.rand((5, 77), dtype=kind, device=where),
        lambda where: engine.randn((5, 77), dtype=kind, device=where),
        lambda where: engine.uniform_(engine.zeros((300,), dtype=kind, device=where), -2.0, 3.0),
        lambda where: engine.normal_(engine.zeros((300,), dtype=kind, device=where), 1.0, 2.0),
        lambda where: engine.trunc_normal_(
            engine.zeros((300,), dtype=kind, device=where), 0.0, 1.0, -0.5, 0.5
        ),
        lambda where: engine.dropout(engine.ones((7, 50), dtype=kind, device=where), 0.3),
        lambda where: engine.randint(0, 1000, (99,), device=where),
    ):
        engine.manual_seed(7)
        here = draw("cpu")
        engine.manual_seed(7)
        there = draw(device)
        assert there.device == "cuda:0"
        assert there.to("cpu").tolist() == here.tolist()


def test_two_devices_are_two(device: str) -> None:
    info = _C._backend_info()
    if info["device_count"] == 1:
        with pytest.raises(ValueError, match="'cuda:1' is not there: this machine has 1 GPU"):
            engine.zeros(2, device="cuda:1")
        return
    first, second = engine.ones(3, device="cuda:0"), engine.ones(3, device="cuda:1")
    assert first.device != second.device
    with pytest.raises(ValueError, match="'cuda:0' and 'cuda:1'"):
        first + second
    assert (first + second.to("cuda:0")).tolist() == [2.0, 2.0, 2.0]
    assert (second * 3).device == "cuda:1"


@pytest.mark.parametrize("count", [1, 100, 20_000, 3_000_000])  # a table, a batch in pieces
def test_what_was_sent_may_change_at_once(count: int, device: str) -> None:
    numbers = np.arange(count, dtype=np.float32)
    sent = []
    for _ in range(40):  # more than there are buffers on the way
        sent.append(engine.from_numpy(numbers).to(device))
        numbers += 1
    for i, tensor in enumerate(sent):
        found = tensor.to("cpu").numpy()
        assert (
            found[0] == i
            and found[-1] == count - 1 + i
            and found.sum() == pytest.approx((numbers - 40 + i).sum(), rel=1e-6)
        )


def test_a_step_of_a_network_does_not_wait_for_the_device(device: str) -> None:
    if _C._backend_info()["name"] != "emulation":
        pytest.skip("waits are counted by the emulation alone")
    emulation = ctypes.CDLL(os.environ["ZOO_EMULATED_LIBRARY"])
    emulation.emulated_waits.restype = ctypes.c_int64
    layers = nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 4, 3), nn.BatchNorm2d(4),
        nn.Flatten(), nn.LayerNorm(16), nn.Linear(16, 2),
    ).to(device)  # fmt: skip
    pictures = np.ones((2, 3, 6, 6), np.float32)
    start = engine.ones((2, 2)).to(device)
    optimizer = optim.AdamW(layers.parameters(), lr=0.01)
    before = emulation.emulated_waits()
    for mode in (layers.train, layers.eval):
        mode()
        batch = engine.from_numpy(pictures).to(device)
        F.max_pool2d(layers[:4](batch), 2).sum().backward()
        layers(batch).backward(start)
        optimizer.step()
    with engine.no_grad():
        y = layers(batch)
    assert emulation.emulated_waits() == before
    y.to("cpu")
    assert emulation.emulated_waits() > before
