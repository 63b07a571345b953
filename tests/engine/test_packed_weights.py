"""Convolutions keep large weights in the kernel's order from the second use on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import engine
from engine import Tensor
from engine.nn import functional as F

# Window, stride, padding and size, for each kernel: Winograd, pixels that are rows, gathered ones.
CASES = {
    "winograd": ((128, 96, 3, 3), 1, 1, 14),
    "pointwise": ((512, 128, 1, 1), 1, 0, 7),
    "gathered": ((256, 64, 3, 3), 2, 1, 14),
    "many pixels": ((192, 320, 1, 1), 1, 0, 24),
}


def _case(name: str, batch: int = 1) -> tuple[Tensor, Tensor, Callable[[Tensor, Tensor], Tensor]]:
    shape, stride, padding, size = CASES[name]
    generator = engine.Generator(3)
    x = engine.randn((batch, shape[1], size, size), generator=generator)
    w = engine.randn(shape, generator=generator)
    return x, w, lambda x, w: F.conv2d(x, w, stride=stride, padding=padding)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_results_do_not_depend_on_the_copy(name: str, threads: int) -> None:
    x, w, conv = _case(name)
    before = engine.get_num_threads()
    first = conv(x, w).numpy().copy()
    engine.set_num_threads(threads)
    try:
        memory = engine.memory_stats()["allocated_bytes"]
        for _ in range(3):
            np.testing.assert_array_equal(conv(x, w).numpy(), first)
        assert engine.memory_stats()["allocated_bytes"] - memory >= w.nbytes  # there is a copy
        del w
        assert engine.memory_stats()["allocated_bytes"] < memory  # which went with the weight
    finally:
        engine.set_num_threads(before)


def _in_place(w: Tensor) -> None:
    w *= 2.0


def _by_index(w: Tensor) -> None:
    w[...] = w * 2.0


def _through_a_view(w: Tensor) -> None:
    view = w.reshape((w.shape[0], -1))
    view *= 2.0


def _through_numpy(w: Tensor) -> None:
    array = w.numpy()
    array *= 2.0


def _through_dlpack(w: Tensor) -> None:
    array = np.from_dlpack(w)
    array *= 2.0


def _through_a_buffer(w: Tensor) -> None:
    array = np.asarray(memoryview(w))
    array *= 2.0


def _by_an_optimizer(w: Tensor) -> None:
    w.requires_grad = True
    w.grad = -w.detach()
    engine.optim.SGD([w], lr=1.0).step()
    w.requires_grad = False


CHANGES = [_in_place, _by_index, _through_a_view, _through_numpy, _through_dlpack,
           _through_a_buffer, _by_an_optimizer]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", ["winograd", "pointwise"])
def test_every_change_of_a_weight_is_noticed(name: str, change: Callable[[Tensor], None]) -> None:
    x, w, conv = _case(name)
    for _ in range(3):
        first = conv(x, w).numpy().copy()
    change(w)
    for _ in range(3):
        np.testing.assert_array_equal(conv(x, w).numpy(), 2 * first)


def test_memory_of_numpy_has_no_copy() -> None:
    x, w, conv = _case("pointwise")
    array = w.numpy().copy()
    shared = engine.from_numpy(array)
    for factor in (1, 2, 4):
        np.testing.assert_array_equal(conv(x, shared).numpy(), factor * conv(x, w).numpy())
        array *= 2


def test_one_weight_in_several_shapes_and_parts() -> None:
    """A copy belongs to a part of the memory and to its strides, not to the memory as a whole."""
    _, w, _ = _case("pointwise")
    x = engine.randn((1, 64, 7, 7), generator=engine.Generator(1))
    parts = [w[:, :64], w[:, 64:], w[:256, :64]]
    alone = [F.conv2d(x, engine.asarray(p.numpy().copy())).numpy() for p in parts]
    for _ in range(3):
        for part, expected in zip(parts, alone, strict=True):
            np.testing.assert_array_equal(F.conv2d(x, part).numpy(), expected)


def test_training_frees_the_copy() -> None:
    x, w, conv = _case("pointwise")
    for _ in range(2):
        conv(x, w)
    w.requires_grad = True
    memory = engine.memory_stats()["allocated_bytes"]
    y = conv(x, w)
    assert engine.memory_stats()["allocated_bytes"] <= memory - w.nbytes + y.nbytes + 2 * x.nbytes


def test_weights_that_were_given_away_have_a_copy() -> None:
    """Those of a mapped file come from numpy, and are the model's own all the same."""
    x, w, _ = _case("pointwise")
    layer = engine.nn.Conv2d(w.shape[1], w.shape[0], 1, bias=False)
    layer.load_state_dict({"weight": w.numpy().copy()}, assign=True)
    layer.requires_grad_(False)
    first = layer(x)
    memory = engine.memory_stats()["allocated_bytes"]
    again = layer(x)
    assert engine.memory_stats()["allocated_bytes"] - memory >= w.nbytes + again.nbytes
    assert engine.all(first == again)
