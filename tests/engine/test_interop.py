"""Tensors in Python's own terms: buffers, numpy's functions, copies, pickles and processes."""

from __future__ import annotations

import copy
import gc
import multiprocessing
import os
import pickle

import numpy as np
import pytest

import engine

BUFFERS = ("bool", "uint8", "int8", "int16", "uint32", "int64", "float16", "float32", "float64",
           "complex64", "complex128")  # fmt: skip


@pytest.mark.parametrize("dtype", BUFFERS)
def test_a_tensor_is_a_buffer(dtype: str) -> None:
    t = engine.ones((2, 3), dtype=getattr(engine, dtype))
    view = memoryview(t)
    assert view.shape == (2, 3) and view.itemsize == t.dtype.itemsize and not view.readonly
    a = np.asarray(view)
    assert a.dtype == dtype and a.__array_interface__["data"][0] == t.data_ptr()
    assert np.frombuffer(t, dtype).sum() == 6
    del t
    gc.collect()
    assert a.sum() == 6


def test_buffers_keep_strides_and_permissions() -> None:
    t = engine.arange(6).reshape(2, 3)
    assert np.asarray(memoryview(t.T)).tolist() == [[0, 3], [1, 4], [2, 5]]
    frozen = np.arange(3)
    frozen.flags.writeable = False
    assert memoryview(engine.from_numpy(frozen)).readonly
    assert bytes(engine.asarray([1, 2], dtype=engine.uint8)) == b"\x01\x02"


def test_buffers_refuse_what_a_reader_would_get_wrong() -> None:
    t = engine.ones(2)
    t.requires_grad = True
    with pytest.raises(BufferError):
        memoryview(t)
    with pytest.raises(BufferError):
        memoryview(engine.ones(2, dtype=engine.bfloat16))
    with pytest.raises(engine.AutogradError, match="detach"):
        np.asarray(t)


def test_numpy_functions_give_recorded_tensors() -> None:
    t = engine.asarray([1.0, 2.0])
    t.requires_grad = True
    for y in (np.add(t, t), np.multiply(t, np.asarray([2.0, 2.0], np.float32)), np.exp(t),
              np.arctan2(t, 1.0), np.power(t, 2), np.float32(2) * t):  # fmt: skip
        assert isinstance(y, engine.Tensor) and y.requires_grad
    np.exp(t).sum().backward()
    np.testing.assert_allclose(t.grad.numpy(), np.exp([1.0, 2.0]), rtol=1e-6)


def test_numpy_functions_without_a_counterpart_give_arrays_or_refuse() -> None:
    t = engine.asarray([1.0, 8.0])
    assert isinstance(np.cbrt(t), np.ndarray) and np.cbrt(t).tolist() == [1, 2]
    assert np.add.reduce(t) == 9
    out = np.zeros(2, np.float32)
    np.add(t, 1, out=out)
    assert out.tolist() == [2, 9]
    out += t
    assert out.tolist() == [3, 17]
    t.requires_grad = True
    for call in (lambda: np.cbrt(t), lambda: np.add.reduce(t), lambda: np.add(t, 1, out=out)):
        with pytest.raises(engine.AutogradError, match="detach"):
            call()


def test_numpy_functions_of_other_kinds_give_numpys_results() -> None:
    t = engine.asarray([[1.0, 2.0], [3.0, 4.0]])
    assert np.mean(t) == 2.5 and np.sum(t, axis=0).tolist() == [4, 6]
    assert isinstance(np.concatenate([t, t]), np.ndarray)
    assert np.linalg.norm(t) == np.linalg.norm(t.numpy())
    t.requires_grad = True
    with pytest.raises(engine.AutogradError, match="numpy.mean"):
        np.mean(t)


def test_python_habits() -> None:
    t = engine.asarray([[1, 2], [3, 7]])
    assert 3 in t and 4 not in t
    assert [q.tolist() for q in divmod(t[1], 2)] == [[1, 3], [1, 1]]
    assert [q.tolist() for q in divmod(7, t[1])] == [[2, 1], [1, 0]]
    assert f"{engine.asarray(2.5):.3f}" == "2.500" and f"{t[0]}" == repr(t[0])


def test_copies_share_nothing() -> None:
    t = engine.asarray([1.0, 2.0])
    t.requires_grad = True
    (t * t).sum().backward()
    deep = copy.deepcopy({"a": t, "b": t})
    assert deep["a"] is deep["b"] and deep["a"].requires_grad
    assert deep["a"].grad.tolist() == [2, 4] and deep["a"].grad.data_ptr() != t.grad.data_ptr()
    shallow = copy.copy(t)
    assert shallow.data_ptr() != t.data_ptr() and shallow.grad_fn.name() == "clone"
    with pytest.raises(engine.AutogradError, match="multiply"):
        copy.deepcopy(t * 2)


@pytest.mark.parametrize("dtype", [*BUFFERS, "bfloat16"])
def test_pickles(dtype: str) -> None:
    t = engine.asarray([[0, 1, 3]]).astype(getattr(engine, dtype)).T
    back = pickle.loads(pickle.dumps(t))
    assert back.dtype == t.dtype and back.tolist() == t.tolist()


def test_pickles_keep_leaves_and_refuse_graphs() -> None:
    t = engine.ones(2)
    t.requires_grad = True
    assert pickle.loads(pickle.dumps(t)).requires_grad
    parameter = pickle.loads(pickle.dumps(engine.nn.Parameter(engine.ones(2))))
    assert isinstance(parameter, engine.nn.Parameter) and parameter.requires_grad
    with pytest.raises(engine.AutogradError, match="multiply"):
        pickle.dumps(t * 2)
    buffers: list[pickle.PickleBuffer] = []
    pickle.dumps(engine.ones(100_000), protocol=5, buffer_callback=buffers.append)
    assert sum(b.raw().nbytes for b in buffers) == 400_000


def test_shared_memory_keeps_values_and_names_its_limits() -> None:
    t = engine.arange(6).reshape(2, 3).clone()
    assert not t.is_shared()
    assert t.share_memory_() is t and t.is_shared() and t[1].is_shared()
    assert t.tolist() == [[0, 1, 2], [3, 4, 5]] and t.share_memory_() is t
    u = engine.ones(3)
    view = u[1:]
    with pytest.raises(ValueError, match="views"):
        u.share_memory_()
    del view
    u.requires_grad = True
    with pytest.raises(engine.AutogradError, match="multiply"):
        (u * 2).share_memory_()
    assert u.share_memory_().requires_grad
    assert engine.zeros((0, 2)).share_memory_().shape == (0, 2)


def test_shared_memory_is_given_back() -> None:
    if not os.path.isdir("/proc/self/fd"):
        pytest.fail("this test reads /proc")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        engine.ones(1000).share_memory_()
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == before


def _fill(task: tuple[engine.Tensor, int]) -> int:
    tensor, row = task
    tensor[row] = float(row)
    return row


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_pool_fills_a_tensor_in_place(method: str) -> None:
    t = engine.zeros((4, 5)).share_memory_()
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map(_fill, [(t, row) for row in range(4)]) == [0, 1, 2, 3]
    assert t.tolist() == [[float(row)] * 5 for row in range(4)]


def _answer(inbox: multiprocessing.Queue, outbox: multiprocessing.Queue) -> None:
    view, plain = inbox.get()
    view += 1
    plain += 1
    outbox.put((view.dtype, view.tolist(), plain.tolist()))


def test_queues_share_views_and_copy_the_rest() -> None:
    context = multiprocessing.get_context("spawn")
    inbox, outbox = context.Queue(), context.Queue()
    base = engine.zeros((3, 4), dtype=engine.bfloat16).share_memory_()
    plain = engine.zeros(2)
    process = context.Process(target=_answer, args=(inbox, outbox))
    process.start()
    inbox.put((base.T[1:3], plain))
    dtype, view, copied = outbox.get(timeout=60)
    process.join(60)
    assert dtype == engine.bfloat16 and view == [[1] * 3] * 2 and copied == [1, 1]
    assert base.tolist() == [[0, 1, 1, 0]] * 3 and plain.tolist() == [0, 0]


REPRESENTATIONS = [
    (engine.asarray([1, 2]), "Tensor([1, 2], dtype=int64)"),
    (engine.asarray(2.5), "Tensor(2.5, dtype=float32)"),
    (engine.zeros((0, 3)), "Tensor([], shape=(0, 3), dtype=float32)"),
    (engine.asarray([[True], [False]]), "Tensor([[ True],\n        [False]], dtype=bool)"),
    (engine.asarray([1.5]).astype(engine.bfloat16), "Tensor([1.5], dtype=bfloat16)"),
    (engine.arange(2000), "Tensor([   0,    1,    2, ..., 1997, 1998, 1999], shape=(2000,), "
                          "dtype=int64)"),
]  # fmt: skip


@pytest.mark.parametrize("tensor, text", REPRESENTATIONS)
def test_text_is_numpys(tensor: engine.Tensor, text: str) -> None:
    assert repr(tensor) == text
