"""Routines beyond their op specs: long rows, threads, second gradients, what they refuse."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import numpy as np
import pytest

import engine
import engine.routines
from tests.gradcheck import gradcheck

rng = np.random.default_rng(3)

MODULES = [
    *(f"engine.routines.{m.name}" for m in pkgutil.iter_modules(engine.routines.__path__)),
    "engine.fft",
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name: str) -> None:
    results = doctest.testmod(
        importlib.import_module(name), extraglobs={"engine": engine},
        optionflags=doctest.NORMALIZE_WHITESPACE,
    )  # fmt: skip
    assert results.failed == 0


DTYPES = ("float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint64", "uint8")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("descending", [False, True])
def test_long_rows_sort_as_numpy_does(dtype: str, descending: bool) -> None:
    x = rng.integers(0, 250, 200_000) - (0 if dtype[0] == "u" else 100)
    x = x.astype(dtype) if "int" in dtype else (x / 7).astype(dtype)
    order = engine.argsort(engine.asarray(x), descending=descending).numpy()
    wanted = np.argsort(x, kind="stable")
    if descending:
        wanted = (x.size - 1 - np.argsort(x[::-1], kind="stable"))[::-1]
    np.testing.assert_array_equal(order, wanted)
    values = engine.sort(engine.asarray(x), descending=descending).numpy()
    np.testing.assert_array_equal(values, x[wanted])


def test_special_values_sort_as_numpy_does() -> None:
    for n in (6, 6000):
        x = np.tile(np.array([np.nan, 1.0, -np.inf, -0.0, np.inf, -np.nan]), n // 6)
        np.testing.assert_array_equal(engine.sort(engine.asarray(x)).numpy(), np.sort(x))
        order = engine.argsort(engine.asarray(x)).numpy()
        np.testing.assert_array_equal(order, np.argsort(x, kind="stable"))
    # -0 and 0 are equal: they keep their order.
    assert engine.argsort(engine.asarray([0.0, -0.0, 0.0])).tolist() == [0, 1, 2]
    assert engine.topk(engine.asarray([1.0, np.nan, 2.0]), 2).indices.tolist() == [1, 2]


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    x = engine.asarray(rng.standard_normal(300_000).astype(np.float32))
    wide = x.reshape(300, 1000)
    at = engine.asarray(rng.integers(0, 1000, (300, 1000)))

    def everything() -> list[bytes]:
        results = [
            engine.sort(x), engine.argsort(x), engine.cumsum(x), engine.cumsum(wide, 0),
            engine.cumprod(1 + x * 1e-3), engine.logcumsumexp(wide), *engine.cummax(x),
            engine.scatter_add(wide, 1, at, wide), engine.gather(wide, 1, at),
            engine.unique_counts(at).counts, engine.quantile(x, 0.3), engine.histogram(x).counts,
            engine.sort(wide, axis=0), engine.topk(wide, 5).values,
        ]  # fmt: skip
        return [t.numpy().tobytes() for t in results]

    before = engine.get_num_threads()
    try:
        seen = []
        for threads in (1, 2, 5):
            engine.set_num_threads(threads)
            seen.append(everything())
    finally:
        engine.set_num_threads(before)
    assert seen[0] == seen[1] == seen[2]


def test_long_sums_stay_exact() -> None:
    x = rng.standard_normal(1_000_000).astype(np.float32)
    wanted = np.cumsum(x.astype(np.float64))
    np.testing.assert_allclose(engine.cumsum(engine.asarray(x)).numpy(), wanted, rtol=1e-5,
                               atol=1e-4)  # fmt: skip


SECOND = {
    "cumsum": lambda x: engine.cumsum(x * x, 1),
    "cumprod": lambda x: engine.cumprod(x, 1),
    "logcumsumexp": lambda x: engine.logcumsumexp(x, 1),
    "linear_scan": lambda x: engine.linear_scan(x, x * x, 1),
    "sort": lambda x: engine.sort(x) ** 3,
    "topk": lambda x: engine.topk(x, 2).values ** 3,
    "gather": lambda x: engine.gather(x, 1, engine.asarray([[0, 0], [1, 2]])) ** 3,
    "scatter": lambda x: engine.scatter(x, 1, engine.asarray([[0, 0], [1, 2]]), x * x) ** 3,
    "scatter_add": lambda x: engine.scatter_add(x, 1, engine.asarray([[0, 0], [1, 2]]), x * x) ** 3,
    "lgamma": lambda x: engine.lgamma(x + 3.0),
    "digamma": lambda x: engine.digamma(x + 3.0),
    "erfinv": lambda x: engine.erfinv(x * 0.3),
    "erfc": engine.erfc,
    "i0": engine.i0,
    "i1": engine.i1,
    "sinc": engine.sinc,
    "xlogy": lambda x: engine.xlogy(x, x + 3.0),
    "einsum": lambda x: engine.einsum("ij,kj,ij->ik", x, x, x),
    "quantile": lambda x: engine.quantile(x, 0.3, axis=1) ** 3,
    "logsumexp": lambda x: engine.logsumexp(x, axis=1),
    "cdist": lambda x: engine.cdist(x, x + 1.0),
    "interp": lambda x: engine.interp(x, engine.asarray([-9.0, 9.0]).astype(engine.float64),
                                      x[0, :2]) ** 2,
}  # fmt: skip


@pytest.mark.parametrize("name", SECOND)
def test_second_gradients(name: str) -> None:
    def first(x: engine.Tensor) -> engine.Tensor:
        with engine.enable_grad():
            loss = (SECOND[name](x) ** 2).sum()
            return engine.grad([loss], [x], create_graph=True)[0]

    x = np.array([[0.4, -1.1, 1.7], [0.9, -0.3, -1.9]])
    gradcheck(first, [x], rtol=1e-4, atol=1e-6)


def test_products_with_zeros_have_second_gradients() -> None:
    def first(x: engine.Tensor) -> engine.Tensor:
        with engine.enable_grad():
            return engine.grad([(engine.cumprod(x) ** 2).sum()], [x], create_graph=True)[0]

    gradcheck(first, [np.array([2.0, 0.0, 3.0, 0.0, 1.5])])


def test_comparisons_of_whole_tensors_give_python_bools() -> None:
    x, nan = engine.asarray([1.0, 2.0]), engine.asarray([1.0, float("nan")])
    assert engine.allclose(x, x + 1e-7) is True
    assert engine.allclose(x, x + 1e-2) is False
    assert engine.allclose(nan, nan) is False and engine.allclose(nan, nan, equal_nan=True) is True
    assert engine.array_equal(x, x) is True and engine.array_equal(x, engine.ones(3)) is False
    assert engine.array_equal(nan, nan) is False and engine.array_equal(nan, nan, equal_nan=True)


def test_broadcast_shapes() -> None:
    assert engine.broadcast_shapes((2, 1), (3,)) == (2, 3)
    assert engine.broadcast_shapes() == ()
    with pytest.raises(ValueError, match="do not broadcast"):
        engine.broadcast_shapes((2,), (3,))


def test_what_a_view_cannot_be_is_refused() -> None:
    x = engine.ones((2, 3))
    assert engine.reshape(x, (6,), copy=False).shape == (6,)
    with pytest.raises(ValueError, match="copy=False"):
        engine.reshape(x.T, (6,), copy=False)
    y = engine.reshape(x, (6,), copy=True)
    y[0] = 5.0
    assert x[0, 0] == 1.0


def test_cdist_of_equal_rows_has_gradient_zero() -> None:
    x = engine.asarray(rng.standard_normal((3, 2)))
    x.requires_grad = True
    engine.cdist(x, x).sum().backward()
    assert np.isfinite(x.grad.numpy()).all()
