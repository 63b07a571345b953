"""complex64 and complex128: numpy computes, the engine keeps the books."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import engine
from tests.gradcheck import gradcheck

COMPLEX = ("complex64", "complex128")
rng = np.random.default_rng(4)


def numbers(*shape: int, dtype: str = "complex128") -> np.ndarray:
    return np.asarray(rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_numpy_round_trip_shares_memory(dtype: str) -> None:
    a = numbers(3, 4, dtype=dtype)
    t = engine.from_numpy(a)
    assert t.dtype == dtype and t.dtype.is_complex and t.dtype.itemsize == a.itemsize
    assert np.shares_memory(a, t.numpy())
    np.testing.assert_array_equal(t.T[1:, ::-2].numpy(), a.T[1:, ::-2])


def test_python_numbers_become_complex64() -> None:
    t = engine.asarray([1 + 2j, 3])
    assert t.dtype == engine.complex64 and t.tolist() == [1 + 2j, 3]
    assert complex(t[0]) == t[0].item() == 1 + 2j
    assert engine.asarray(np.complex128(1j)).dtype == engine.complex128
    with pytest.raises(TypeError):
        float(t[0])


PROMOTIONS = [
    ("complex64", "float32", "complex64"), ("complex64", "float64", "complex128"),
    ("complex64", "complex128", "complex128"), ("complex64", "int64", "complex64"),
    ("complex128", "bool", "complex128"), ("complex64", "bfloat16", "complex64"),
]  # fmt: skip


@pytest.mark.parametrize("a, b, expected", PROMOTIONS)
def test_promotion(a: str, b: str, expected: str) -> None:
    x, y = engine.ones(2, dtype=getattr(engine, a)), engine.ones(2, dtype=getattr(engine, b))
    assert (x + y).dtype == (y * x).dtype == expected


def test_complex_scalars_are_weak() -> None:
    assert (engine.ones(2, dtype=engine.float64) * 1j).dtype == engine.complex128
    assert (1j + engine.ones(2)).dtype == engine.complex64
    assert (engine.ones(2, dtype=engine.complex64) + 0.5).dtype == engine.complex64


UNARY = ["negative", "abs", "square", "exp", "log", "sqrt", "sin", "cos", "tan", "sinh", "cosh",
         "tanh", "expm1", "log1p", "log2", "log10", "reciprocal"]  # fmt: skip
INVERSE = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh",
           "acosh": "arccosh", "atanh": "arctanh"}  # fmt: skip


@pytest.mark.parametrize("name", [*UNARY, *INVERSE, "isnan", "isfinite", "isinf"])
@pytest.mark.parametrize("dtype", COMPLEX)
def test_functions_match_numpy(name: str, dtype: str) -> None:
    a = numbers(4, 3, dtype=dtype)
    got = getattr(engine, name)(engine.asarray(a)).numpy()
    want = getattr(np, INVERSE.get(name, name))(a)
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=1e-5 if dtype == "complex64" else 1e-12)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_expm1_of_zero_has_a_real_part_of_plus_zero(dtype: str) -> None:
    zeros = np.array([complex(re, im) for re in (0.0, -0.0) for im in (0.0, -0.0)], dtype)
    got = engine.expm1(engine.asarray(zeros)).numpy()
    assert not np.signbit(got.real).any()
    np.testing.assert_array_equal(np.signbit(got.imag), np.signbit(zeros.imag))


def test_reductions_match_numpy() -> None:
    a = numbers(3, 4, 5)
    t = engine.asarray(a)
    for axis in (None, 0, (1, 2)):
        for name in ("sum", "mean", "prod", "any", "all", "var"):
            for keepdims in (False, True):
                got = getattr(engine, name)(t, axis=axis, keepdims=keepdims).numpy()
                want = getattr(np, name)(a, axis=axis, keepdims=keepdims)
                np.testing.assert_allclose(got, want, rtol=1e-12)
    assert engine.sum(t[:0]).item() == 0 and engine.prod(t[:0]).item() == 1


def test_moving_and_selecting_match_numpy() -> None:
    a, b = numbers(3, 4), numbers(3, 4)
    t, u = engine.asarray(a), engine.asarray(b)
    mask = engine.asarray(a.real > 0)
    for got, want in [
        (engine.concat([t, u], axis=1), np.concatenate([a, b], axis=1)),
        (engine.where(mask, t, u), np.where(a.real > 0, a, b)),
        (t[[0, 2, 2]], a[[0, 2, 2]]), (t[mask], a[a.real > 0]), (engine.flip(t), np.flip(a)),
        (t @ u.T, a @ b.T), (t.real, a.real), (t.imag, a.imag), (t.conj(), a.conj()),
        (t == u, a == b), (engine.eye(2, dtype=engine.complex64), np.eye(2)),
        (engine.full((2,), 1j), np.full(2, 1j)), (engine.linspace(0, 1j, 3), [0, 0.5j, 1j]),
    ]:  # fmt: skip
        np.testing.assert_allclose(got.numpy(), want)


def test_real_and_imaginary_parts_are_views() -> None:
    t = engine.zeros(3, dtype=engine.complex128)
    t.imag[1] = 2.0
    t.real.fill_(1)
    t[0] = 5j
    assert t.tolist() == [5j, 1 + 2j, 1]
    assert engine.imag(engine.ones(2)).tolist() == [0, 0]


def test_in_place() -> None:
    a = numbers(3)
    t = engine.asarray(a, copy=True)
    same = t
    t *= 2j
    t += 1
    assert same is t
    np.testing.assert_allclose(t.numpy(), a * 2j + 1)


REFUSED = [
    (lambda z: z.astype(engine.float64), "cannot hold"), (lambda z: z < z, "no|complex"),
    (lambda z: z.max(), "no order"), (lambda z: z.argmin(), "no order"),
    (lambda z: engine.floor(z), "floor"), (lambda z: engine.zeros(2).copy_(z), "cannot hold"),
    (lambda z: engine.zeros(2).__setitem__(0, 1j), "cannot hold"), (lambda z: z & z, "integers"),
    (lambda z: engine.relu(z), "relu"), (lambda z: z.clip(0, 1), "complex"),
    (lambda z: z // z, "floor_divide"), (lambda z: engine.zeros(2).add_(z), "cannot hold"),
]  # fmt: skip


@pytest.mark.parametrize("call, message", REFUSED)
def test_what_has_no_meaning_is_refused(call, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call(engine.ones(2, dtype=engine.complex64))


def test_copies_and_text() -> None:
    t = engine.asarray([1 + 2j])
    assert pickle.loads(pickle.dumps(t)).tolist() == copy.deepcopy(t).tolist() == [1 + 2j]
    assert repr(t) == "Tensor([1.+2.j], dtype=complex64)"


def joined(re: engine.Tensor, im: engine.Tensor) -> engine.Tensor:
    return re.astype(engine.complex128) + im.astype(engine.complex128) * 1j


# Functions of two complex matrices; each is checked through its real and imaginary part.
GRADIENTS = {
    "add": lambda z, w: z + w,
    "subtract": lambda z, w: z - w,
    "multiply": lambda z, w: z * w,
    "broadcast": lambda z, w: z * w[0],
    "divide": lambda z, w: z / w,
    "negative": lambda z, w: -z,
    "conj": lambda z, w: z.conj() * w,
    "parts": lambda z, w: z.real * w.imag,
    "abs": lambda z, w: abs(z) + engine.abs(w),
    "sign": lambda z, w: engine.sign(z),
    "sum": lambda z, w: z.sum(axis=0) * w,
    "mean": lambda z, w: z.mean(axis=1),
    "prod": lambda z, w: z.prod(axis=1),
    "reshape": lambda z, w: z.reshape(3, 2) @ w.reshape(2, 3),
    "permute": lambda z, w: z.T @ w,
    "index": lambda z, w: z[[0, 1, 1]] * w[0],
    "slice": lambda z, w: z[:, 1:] * w[:, :2],
    "concat": lambda z, w: engine.concat([z, w], axis=1) * 2j,
    "where": lambda z, w: engine.where(engine.asarray([True, False, True]), z, w),
    "matmul": lambda z, w: z @ w.T,
    "mixed": lambda z, w: z.real * w + z.imag,
    "exp": lambda z, w: engine.exp(z),
    "log": lambda z, w: engine.log(z),
    "sqrt": lambda z, w: engine.sqrt(z),
    "tanh": lambda z, w: engine.tanh(z),
    "sin": lambda z, w: engine.sin(z) * engine.cos(w),
    "pow": lambda z, w: z**w,
    "square": lambda z, w: engine.square(z) + engine.reciprocal(w),
    "var": lambda z, w: z.var(axis=1),
    "setitem": lambda z, w: _assigned(z, w),
}


def _assigned(z: engine.Tensor, w: engine.Tensor) -> engine.Tensor:
    out = z * 1
    out[0] = w[1]
    return out * z


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_match_finite_differences(name: str) -> None:
    def run(a, b, c, d):
        y = GRADIENTS[name](joined(a, b), joined(c, d))
        return engine.concat([engine.real(y).flatten(), engine.imag(y).flatten()])

    values = [rng.uniform(0.5, 1.5, (2, 3)) * np.where(rng.random((2, 3)) < 0.5, -1, 1)
              for _ in range(4)]  # fmt: skip
    gradcheck(run, values)


def test_gradient_convention_is_the_conjugate_one() -> None:
    z = engine.asarray([3 + 4j])
    z.requires_grad = True
    (abs(z) ** 2).sum().backward()
    np.testing.assert_allclose(z.grad.numpy(), [6 + 8j], rtol=1e-6)  # 2 z, not 2 conj(z)
    (abs(z) ** 2).sum().backward()
    np.testing.assert_allclose(z.grad.numpy(), [12 + 16j], rtol=1e-6)


def test_a_complex_loss_needs_a_gradient() -> None:
    z = engine.asarray(1j)
    z.requires_grad = True
    with pytest.raises(engine.AutogradError, match="complex"):
        (z * z).backward()
    (z * z).backward(engine.asarray(1 + 0j))
    assert z.grad.item() == -2j


def test_gradients_of_gradients() -> None:
    x = engine.asarray([0.3, -0.7], dtype=engine.float64)
    x.requires_grad = True
    z = x.astype(engine.complex128) * (1 + 2j)
    (first,) = engine.grad([(abs(engine.exp(z)) ** 2).sum()], [x], create_graph=True)
    (second,) = engine.grad([first.sum()], [x])
    np.testing.assert_allclose(first.detach().numpy(), 2 * np.exp(2 * x.detach().numpy()))
    np.testing.assert_allclose(second.numpy(), 4 * np.exp(2 * x.detach().numpy()))
