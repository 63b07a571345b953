"""The attention kernel: against the formula in float64, whose own values and gradients
parity_cases.py compares with PyTorch's and with finite differences."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine.nn import functional as F
from tests.threads import assert_same_for_any_thread_count

rng = np.random.default_rng(2017)


def draw(*shape: int) -> np.ndarray:
    return rng.standard_normal(shape)


def leaf(array: np.ndarray, dtype: engine.DType = engine.float32) -> engine.Tensor:
    t = engine.asarray(array).astype(dtype)
    t.requires_grad = True
    return t


def run(arrays, dtype, mask=None, **options) -> list[np.ndarray]:
    """Result and gradients; `arrays` are query, key, value and the gradient that arrives."""
    leaves = [leaf(a, dtype) for a in arrays[:3]]
    if mask is not None:
        mask = engine.asarray(mask)
        mask = mask if mask.dtype == engine.bool else mask.astype(dtype)
    y = F.scaled_dot_product_attention(*leaves, attn_mask=mask, **options)
    y.backward(engine.asarray(arrays[3]).astype(dtype))
    return [y.detach().numpy(), *(t.grad.numpy() for t in leaves)]


def assert_close(got: list[np.ndarray], wanted: list[np.ndarray], rtol: float) -> None:
    for a, b in zip(got, wanted, strict=True):
        assert np.abs(a - b).max() <= rtol * np.abs(b).max()


# (batch, heads, heads of keys, queries, keys, width, width of values): blocks of the kernel end in
# all ways, widths fill panels or not, a few queries take their own path.
SHAPES = [
    (1, 2, 2, 7, 7, 64, 64),
    (2, 4, 2, 130, 130, 64, 64),
    (1, 2, 1, 250, 450, 80, 48),
    (1, 2, 2, 450, 250, 32, 128),
    (1, 1, 1, 800, 800, 16, 16),
    (2, 3, 3, 2, 300, 64, 64),
    (1, 4, 1, 2, 77, 20, 36),
    (1, 2, 2, 97, 193, 5, 3),
]


@pytest.mark.parametrize("masked", ["", "causal", "bool", "float"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_kernel_is_the_formula(shape, masked) -> None:
    b, h, hk, length, s, e, v = shape
    arrays = [draw(b, h, length, e), draw(b, hk, s, e), draw(b, hk, s, v), draw(b, h, length, v)]
    mask = None
    if masked == "bool":
        mask = rng.random((b, 1, length, s)) > 0.5
        mask[:, :, 0] = False  # a query that sees nothing
    if masked == "float":
        mask = np.where(rng.random((length, s)) > 0.3, draw(length, s), -np.inf)
    options = {"is_causal": masked == "causal", "enable_gqa": h != hk}
    got = run(arrays, engine.float32, mask, **options)
    assert_close(got, run(arrays, engine.float64, mask, **options), 3e-6)
    if masked == "bool":
        assert not got[0][:, :, 0].any() and not got[1][:, :, 0].any()


@pytest.mark.parametrize("scale", [0.0, -0.7, 3.0])
@pytest.mark.parametrize("queries", [3, 40])
def test_any_scale(scale, queries) -> None:
    arrays = [draw(1, 2, queries, 24), draw(1, 2, 50, 24), draw(1, 2, 50, 24),
              draw(1, 2, queries, 24)]  # fmt: skip
    got = run(arrays, engine.float32, scale=scale)
    wanted = run(arrays, engine.float64, scale=scale)
    if scale == 0:
        assert not got[1].any() and not got[2].any()
        got, wanted = got[::3], wanted[::3]
    assert_close(got, wanted, 1e-4)  # scores reach 50, of which float32 keeps 7 digits


@pytest.mark.parametrize("ndim", [2, 3])
def test_fewer_axes(ndim) -> None:
    arrays = [draw(*(2, 20, 8)[3 - ndim :]) for _ in range(4)]
    assert_close(run(arrays, engine.float32), run(arrays, engine.float64), 1e-6)


def test_large_scores_neither_overflow_nor_round_to_nothing() -> None:
    arrays = [draw(1, 1, 50, 16) * 30, draw(1, 1, 400, 16) * 30, draw(1, 1, 400, 16),
              draw(1, 1, 50, 16)]  # fmt: skip
    got, wanted = run(arrays, engine.float32), run(arrays, engine.float64)
    assert_close(got[:1], wanted[:1], 1e-3)
    assert all(np.isfinite(a).all() for a in got)


@pytest.mark.parametrize("queries", [2, 30])
def test_nan_stays_where_it_can_be_seen(queries) -> None:
    q, k, v = (engine.asarray(draw(1, 1, 30, 8)).astype(engine.float32) for _ in range(3))
    k[:, :, 1, 0] = float("nan")
    y = F.scaled_dot_product_attention(q[:, :, :queries], k, v, is_causal=True).numpy()
    assert np.isfinite(y[:, :, 0]).all() and np.isnan(y[:, :, 1:]).all()


def test_heads_may_be_parts_of_one_matrix_and_so_may_the_result() -> None:
    qkv = draw(2, 50, 3, 4, 16)
    t = leaf(qkv)
    parts = [t[:, :, i].swapaxes(1, 2) for i in range(3)]  # (2, 4, 50, 16)
    y = F.scaled_dot_product_attention(*parts, is_causal=True)
    rows = y.swapaxes(1, 2)
    assert rows.is_contiguous()
    rows.sum().backward()
    apart = [leaf(qkv[:, :, i].swapaxes(1, 2)) for i in range(3)]
    wanted = F.scaled_dot_product_attention(*apart, is_causal=True)
    wanted.sum().backward()
    np.testing.assert_array_equal(y.detach().numpy(), wanted.detach().numpy())
    for i, a in enumerate(apart):
        np.testing.assert_array_equal(t.grad.numpy()[:, :, i].swapaxes(1, 2), a.grad.numpy())


@pytest.mark.parametrize("queries", [1, 5, 12])
def test_a_cache_is_read_where_it_lies(queries) -> None:
    cache = engine.asarray(draw(2, 2, 3, 100, 16)).astype(engine.float32)
    q = engine.asarray(draw(2, 3, queries, 16)).astype(engine.float32)
    k, v = cache[0, :, :, :70], cache[1, :, :, :70]
    got = F.scaled_dot_product_attention(q, k, v).numpy()
    wanted = F.scaled_dot_product_attention(*(t.astype(engine.float64) for t in (q, k, v)))
    np.testing.assert_allclose(got, wanted.numpy(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("dtype", [engine.float16, engine.bfloat16])
def test_narrow_inputs_go_through_float32(dtype) -> None:
    parts = [engine.asarray(draw(1, 2, 40, 16)).astype(dtype) for _ in range(3)]
    y = F.scaled_dot_product_attention(*parts)
    wanted = F.scaled_dot_product_attention(*(t.astype(engine.float32) for t in parts))
    assert y.dtype == dtype
    np.testing.assert_array_equal(y.astype(engine.float32).numpy(),
                                  wanted.astype(dtype).astype(engine.float32).numpy())  # fmt: skip


@pytest.mark.parametrize("masked", ["", "causal", "bool", "float"])
def test_second_gradients_are_those_of_the_formula(masked) -> None:
    arrays = [draw(1, 4, 6, 8), draw(1, 2, 9, 8), draw(1, 2, 9, 5), draw(1, 4, 6, 5)]
    mask = None
    if masked == "bool":
        mask = rng.random((6, 9)) > 0.5
        mask[2] = False
    if masked == "float":
        mask = draw(1, 4, 6, 9)
    results = []
    for dtype in (engine.float32, engine.float64):
        leaves = [leaf(a, dtype) for a in arrays]
        m = None if mask is None else engine.asarray(mask)
        m = m if m is None or m.dtype == engine.bool else m.astype(dtype)
        y = F.scaled_dot_product_attention(*leaves[:3], attn_mask=m, enable_gqa=True,
                                           is_causal=masked == "causal")  # fmt: skip
        grads = engine.grad([y], leaves[:3], [leaves[3]], create_graph=True)
        sum((g * g).sum() for g in grads).backward()
        results.append([t.grad.numpy() for t in leaves])
    assert_close(results[0], results[1], 1e-5)


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    arrays = [draw(1, 3, 300, 32), draw(1, 3, 900, 32), draw(1, 3, 900, 32), draw(1, 3, 300, 32)]

    def compute() -> list[engine.Tensor]:
        results = run(arrays, engine.float32) + run(arrays, engine.float32, is_causal=True)
        return [engine.asarray(a) for a in results]

    assert_same_for_any_thread_count(compute)


def test_memory_grows_with_the_length_and_not_with_its_square() -> None:
    def peak(length: int) -> int:
        arrays = [draw(1, 1, length, 32) for _ in range(4)]
        engine.empty_cache()
        engine.reset_peak_memory_stats()
        before = engine.memory_stats()["allocated_bytes"]
        run(arrays, engine.float32, is_causal=True)
        return engine.memory_stats()["peak_allocated_bytes"] - before

    assert peak(4000) < 2.3 * peak(2000)


def by_slices(qkv: engine.Tensor, heads: int, **options) -> engine.Tensor:
    n, length, packed = qkv.shape
    parts = qkv.reshape((n, length, 3, heads, packed // 3 // heads))
    q, k, v = (parts[:, :, i].swapaxes(1, 2) for i in range(3))
    y = F.scaled_dot_product_attention(q, k, v, **options)
    return y.swapaxes(1, 2).reshape((n, length, packed // 3))


@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"scale": 0.2}], ids=str)
@pytest.mark.parametrize("length", [3, 110])
@pytest.mark.parametrize("dtype", [engine.float32, engine.float64, engine.bfloat16], ids=str)
def test_self_attention_is_attention_of_the_parts(dtype, length, options) -> None:
    x, g = draw(2, length, 48), engine.asarray(draw(2, length, 16)).astype(dtype)
    one, other = leaf(x, dtype), leaf(x, dtype)
    y, wanted = F.self_attention(one, 2, **options), by_slices(other, 2, **options)
    y.backward(g)
    wanted.backward(g)
    for a, b in ((y.detach(), wanted.detach()), (one.grad, other.grad)):
        np.testing.assert_array_equal(a.astype(engine.float64).numpy(),
                                      b.astype(engine.float64).numpy())  # fmt: skip


def test_self_attention_has_second_gradients() -> None:
    x, results = draw(1, 7, 24), []
    for function in (F.self_attention, by_slices):
        t = leaf(x)
        (g,) = engine.grad([function(t, 2, is_causal=True).sum()], [t], create_graph=True)
        (g * g).sum().backward()
        results.append(t.grad.numpy())
    np.testing.assert_allclose(*results, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("shape, heads", [((2, 12), 2), ((1, 2, 10), 2), ((1, 2, 12), 0)])
def test_self_attention_names_a_shape_that_does_not_fit(shape, heads) -> None:
    with pytest.raises(ValueError, match=rf"self_attention: .*heads={heads}"):
        F.self_attention(engine.ones(shape), heads)
