"""Fourier transforms against numpy, and their gradients by finite differences."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from tests.gradcheck import gradcheck

rng = np.random.default_rng(7)
NORMS = ("backward", "ortho", "forward")


def complex_array(*shape: int) -> np.ndarray:
    return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)


def close(actual: engine.Tensor, wanted: np.ndarray, tolerance: float = 1e-12) -> None:
    got = actual.detach().numpy()
    assert got.shape == wanted.shape and got.dtype == wanted.dtype
    np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)


ONE_AXIS = [dict(norm=n) for n in NORMS] + [{"n": 3}, {"n": 9, "axis": 1}, {"axis": 0}]


@pytest.mark.parametrize("kwargs", ONE_AXIS)
def test_one_axis_against_numpy(kwargs: dict) -> None:
    x, z = rng.standard_normal((4, 5, 6)), complex_array(4, 5, 6)
    t, w = engine.asarray(x), engine.asarray(z)
    close(engine.fft.fft(t, **kwargs), np.fft.fft(x, **kwargs))
    close(engine.fft.fft(w, **kwargs), np.fft.fft(z, **kwargs))
    close(engine.fft.ifft(w, **kwargs), np.fft.ifft(z, **kwargs))
    close(engine.fft.rfft(t, **kwargs), np.fft.rfft(x, **kwargs))
    close(engine.fft.irfft(w, **kwargs), np.fft.irfft(z, **kwargs))
    close(engine.fft.hfft(w, **kwargs), np.fft.hfft(z, **kwargs))
    close(engine.fft.ihfft(t, **kwargs), np.fft.ihfft(x, **kwargs))


@pytest.mark.parametrize("kwargs", [
    *(dict(norm=n) for n in NORMS), {"axes": (0, 2)}, {"axes": (2, 1), "s": (4, 8)},
    {"axes": (0, 1), "s": (3, 7)}, {"axes": (1,)},
])  # fmt: skip
def test_several_axes_against_numpy(kwargs: dict) -> None:
    x, z = rng.standard_normal((4, 5, 6)), complex_array(4, 5, 6)
    t, w = engine.asarray(x), engine.asarray(z)
    close(engine.fft.fftn(t, **kwargs), np.fft.fftn(x, **kwargs))
    close(engine.fft.ifftn(w, **kwargs), np.fft.ifftn(z, **kwargs))
    close(engine.fft.rfftn(t, **kwargs), np.fft.rfftn(x, **kwargs))
    close(engine.fft.irfftn(w, **kwargs), np.fft.irfftn(z, **kwargs))


def test_single_precision_stays_single() -> None:
    x = engine.asarray(rng.standard_normal(8).astype(np.float32))
    assert engine.fft.fft(x).dtype == engine.complex64
    assert engine.fft.rfft(x).dtype == engine.complex64
    assert engine.fft.irfft(engine.fft.rfft(x)).dtype == engine.float32
    assert engine.fft.rfft(x.astype(engine.float16)).dtype == engine.complex64


def parts(z: engine.Tensor) -> tuple[engine.Tensor, engine.Tensor]:
    return engine.real(z), engine.imag(z)


def as_complex(re: engine.Tensor, im: engine.Tensor) -> engine.Tensor:
    return re + im * engine.asarray(np.complex128(1j))


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("n", [None, 4, 7])
def test_gradients_of_one_axis(norm: str, n: int | None) -> None:
    re, im = rng.standard_normal((2, 5)), rng.standard_normal((2, 5))
    k = {"norm": norm, "n": n}
    gradcheck(lambda x: parts(engine.fft.rfft(x, **k)), [re])
    gradcheck(lambda x: parts(engine.fft.fft(x, **k)), [re])
    gradcheck(lambda x: parts(engine.fft.ihfft(x, **k)), [re])
    gradcheck(lambda a, b: parts(engine.fft.fft(as_complex(a, b), **k)), [re, im])
    gradcheck(lambda a, b: parts(engine.fft.ifft(as_complex(a, b), **k)), [re, im])
    gradcheck(lambda a, b: engine.fft.irfft(as_complex(a, b), **k), [re, im])
    gradcheck(lambda a, b: engine.fft.hfft(as_complex(a, b), **k), [re, im])


def test_gradients_of_several_axes() -> None:
    re, im = rng.standard_normal((2, 3, 4)), rng.standard_normal((2, 3, 4))
    k = {"axes": (0, 2), "s": (3, 4)}
    gradcheck(lambda a, b: parts(engine.fft.fftn(as_complex(a, b), **k)), [re, im])
    gradcheck(lambda a, b: parts(engine.fft.ifftn(as_complex(a, b), **k)), [re, im])
    gradcheck(lambda x: parts(engine.fft.rfftn(x, **k)), [re])
    gradcheck(lambda a, b: engine.fft.irfftn(as_complex(a, b), **k), [re, im])


def test_second_gradients() -> None:
    def first(x: engine.Tensor) -> engine.Tensor:
        with engine.enable_grad():
            power = (engine.abs(engine.fft.rfft(x)) ** 4).sum()
            return engine.grad([power], [x], create_graph=True)[0]

    gradcheck(first, [rng.standard_normal(5)])


def test_errors_name_what_was_wrong() -> None:
    x = engine.ones((2, 3))
    with pytest.raises(ValueError, match="norm is 'other'"):
        engine.fft.fft(x, norm="other")
    with pytest.raises(TypeError, match="real floating-point dtype, got complex64"):
        engine.fft.rfft(engine.fft.fft(x))
    with pytest.raises(TypeError, match="int64"):
        engine.fft.fft(engine.asarray([1, 2]))
    with pytest.raises(ValueError, match="at least one place"):
        engine.fft.fft(x, n=0)
    with pytest.raises(ValueError, match="2 sizes .* 1 axes"):
        engine.fft.fftn(x, s=(2, 3), axes=(0,))
    with pytest.raises(IndexError, match="axis 2"):
        engine.fft.fft(x, axis=2)
