"""DLPack both ways: memory shared, lifetimes right, every keyword of the protocol."""

from __future__ import annotations

import gc
import threading
import weakref

import numpy as np
import pytest

import engine

DTYPES = ("bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64",
          "float16", "float32", "float64", "complex64", "complex128")  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
def test_both_ways_share_memory(dtype: str) -> None:
    a = np.arange(6).reshape(2, 3).astype(dtype)
    t = engine.from_dlpack(a)
    assert t.dtype == dtype and t.shape == (2, 3)
    a[0, 1] = 0
    np.testing.assert_array_equal(t.numpy(), a)
    b = np.from_dlpack(t)
    assert b.dtype == a.dtype and np.shares_memory(a, b)


@pytest.mark.parametrize("view", [
    lambda a: a[::-1], lambda a: a.T, lambda a: a[:, 1:2], lambda a: a[:0], lambda a: a[1, 2],
    lambda a: np.broadcast_to(a[0], (4, 4)),
])  # fmt: skip
def test_any_strides(view) -> None:
    a = view(np.arange(12.0).reshape(3, 4))
    t = engine.from_dlpack(np.asarray(a))
    np.testing.assert_array_equal(t.numpy(), a)
    np.testing.assert_array_equal(np.from_dlpack(t), a)


class Tracked(np.ndarray):
    """An array that weak references can watch."""


def test_the_producer_lives_as_long_as_the_tensor() -> None:
    a = np.arange(5.0).view(Tracked)
    alive = weakref.ref(a)
    t = engine.from_dlpack(a)
    del a
    gc.collect()
    assert alive() is not None and t.sum().item() == 10
    dropper = threading.Thread(target=lambda held: held.clear(), args=([t],))
    del t
    dropper.start()
    dropper.join()
    del dropper
    gc.collect()
    assert alive() is None


def test_the_tensor_lives_as_long_as_the_consumer() -> None:
    before = engine.memory_stats()["allocated_bytes"]
    t = engine.ones(1_000_000)
    b = np.from_dlpack(t)
    del t
    gc.collect()
    assert b.sum() == 1_000_000
    del b
    gc.collect()
    assert engine.memory_stats()["allocated_bytes"] == before


def test_a_capsule_that_nobody_takes_frees_its_tensor() -> None:
    before = engine.memory_stats()["allocated_bytes"]
    for version in (None, (1, 0), (2, 3)):
        capsule = engine.ones(1_000_000).__dlpack__(max_version=version)
        assert engine.memory_stats()["allocated_bytes"] > before
        del capsule
        assert engine.memory_stats()["allocated_bytes"] == before


def test_a_capsule_is_consumed_once() -> None:
    for version in (None, (1, 0)):
        capsule = engine.arange(3).__dlpack__(max_version=version)
        assert engine.from_dlpack(capsule).tolist() == [0, 1, 2]
        with pytest.raises(ValueError, match="used"):
            engine.from_dlpack(capsule)


def test_read_only_memory_stays_read_only() -> None:
    a = np.arange(3.0)
    a.flags.writeable = False
    t = engine.from_numpy(a)
    with pytest.raises(BufferError, match="read-only"):
        t.__dlpack__()
    again = engine.from_dlpack(t)
    with pytest.raises(ValueError, match="read-only"):
        again.add_(1)
    assert t.__dlpack__(copy=True) is not None


def test_copy_keyword() -> None:
    t = engine.arange(3)
    assert engine.from_dlpack(t, copy=True).data_ptr() != t.data_ptr()
    for copy in (None, False):
        assert engine.from_dlpack(t, copy=copy).data_ptr() == t.data_ptr()
    copied = np.from_dlpack(t, copy=True)
    copied[0] = 9
    assert t.tolist() == [0, 1, 2]


def test_device_keywords() -> None:
    t = engine.arange(3)
    assert t.__dlpack_device__() == (1, 0)
    assert engine.from_dlpack(t, device="cpu").tolist() == [0, 1, 2]
    assert engine.from_dlpack(t, device=t.device).tolist() == [0, 1, 2]
    assert t.__dlpack__(dl_device=(1, 0), stream=None) is not None
    with pytest.raises(BufferError, match="device"):
        t.__dlpack__(dl_device=(2, 0))
    with pytest.raises(ValueError, match="stream"):
        t.__dlpack__(stream=1)
    with pytest.raises(NotImplementedError, match="cuda"):
        engine.from_dlpack(t, device="cuda")


def test_gradients_are_not_lost_in_silence() -> None:
    t = engine.ones(3)
    t.requires_grad = True
    with pytest.raises(BufferError, match="detach"):
        np.from_dlpack(t)
    assert np.from_dlpack(t.detach()).sum() == 3


def test_producers_of_the_old_protocol() -> None:
    class Old:
        def __dlpack__(self, stream=None):
            return np.arange(3).__dlpack__()

        def __dlpack_device__(self):
            return (1, 0)

    assert engine.from_dlpack(Old()).tolist() == [0, 1, 2]
    with pytest.raises(TypeError, match="__dlpack__"):
        engine.from_dlpack([1, 2])


def test_bfloat16_crosses() -> None:
    t = engine.asarray([1.5, -2.0]).astype(engine.bfloat16)
    assert engine.from_dlpack(t).dtype == engine.bfloat16


@pytest.mark.peer
def test_pytorch_both_ways() -> None:
    import torch

    for dtype in ("bool", "uint8", "int32", "int64", "bfloat16", "float32", "complex64"):
        t = engine.ones((2, 3), dtype=getattr(engine, dtype))
        p = torch.from_dlpack(t)
        assert str(p.dtype) == f"torch.{dtype}" and p.data_ptr() == t.data_ptr()
        back = engine.from_dlpack(p.T)
        assert back.dtype == t.dtype and back.shape == (3, 2) and back.data_ptr() == t.data_ptr()
