"""Discrete Fourier transforms: the array API's fft extension.

X[k] = scale * sum over j of x[j] exp(-2 pi i j k / n); the inverse has +. norm "backward" (the
default) scales the inverse by 1 / n, "forward" the transform, "ortho" both by 1 / sqrt(n). numpy's
pocketfft computes; a transform's gradient is the transform the other way, so gradients of
gradients exist. float16 and bfloat16 are computed in float32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import engine
from engine._C import Tensor, dtype
from engine.autograd import Function
from engine.routines.arguments import check_tensor, is_complex, is_floating, many_axes, one_axis

__all__ = [
    "fft", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft", "irfft",
    "irfftn", "rfft", "rfftfreq", "rfftn",
]  # fmt: skip

# Gradients run the other way with the other scale: the transposed matrix, not the inverse one.
_SWAPPED = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


def _conj(x: Tensor) -> Tensor:
    return engine.conj(x)


class _Complex(Function):
    """Complex to complex, over several axes of the size they have."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, axes: tuple[int, ...], norm: str, inverse: bool) -> Tensor:
        ctx.axes, ctx.norm, ctx.inverse = axes, norm, inverse
        function = np.fft.ifftn if inverse else np.fft.fftn
        return _result(function(x.detach().numpy(), axes=axes, norm=norm), x)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None, None, None]:
        gx = _Complex.apply(g, ctx.axes, _SWAPPED[ctx.norm], not ctx.inverse)
        return gx, None, None, None


class _RealToHalf(Function):
    """Real to the first half of the spectrum, along one axis."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, axis: int, norm: str) -> Tensor:
        ctx.axis, ctx.norm, ctx.n = axis, norm, x.shape[axis]
        return _result(np.fft.rfft(x.detach().numpy(), axis=axis, norm=norm), x)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None, None]:
        # Real part of sum over k <= n / 2 of g[k] exp(+2 pi i j k / n): what the inverse computes,
        # but for the terms that it counts twice.
        halved = g * _weights(ctx.n, g.ndim, ctx.axis, 0.5, g.dtype)
        return _HalfToReal.apply(halved, ctx.n, ctx.axis, _SWAPPED[ctx.norm]), None, None


class _HalfToReal(Function):
    """Half a spectrum to a real signal of n values, along one axis."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, n: int, axis: int, norm: str) -> Tensor:
        ctx.axis, ctx.norm, ctx.n = axis, norm, n
        return _result(np.fft.irfft(x.detach().numpy(), n, axis=axis, norm=norm), x)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None, None, None]:
        gx = _RealToHalf.apply(g, ctx.axis, _SWAPPED[ctx.norm])
        return gx * _weights(ctx.n, g.ndim, ctx.axis, 2.0, gx.dtype), None, None, None


def _result(array: Any, like: Tensor) -> Tensor:
    narrow = like.dtype in (engine.float32, engine.complex64)
    single = {"c": np.complex64, "f": np.float32}[array.dtype.kind]
    return engine.asarray(array.astype(single, copy=False) if narrow else array)


def _weights(n: int, ndim: int, axis: int, inner: float, like: dtype) -> Tensor:
    """1 for frequency 0 and, if n is even, n / 2; `inner` for the rest, which stand for two."""
    w = np.full(n // 2 + 1, inner)
    w[0] = 1.0
    if n % 2 == 0:
        w[-1] = 1.0
    single = like == engine.complex64
    t = engine.asarray(w.astype(np.float32) if single else w)
    return engine.reshape(t, [-1 if d == axis else 1 for d in range(ndim)])


def _check(name: str, x: Tensor, norm: str, real: bool) -> Tensor:
    check_tensor(name, x)
    if norm not in _SWAPPED:
        raise ValueError(f"{name}: norm is {norm!r}; expected 'backward', 'ortho' or 'forward'")
    if real:
        if not is_floating(x.dtype):
            raise TypeError(f"{name}: expected a real floating-point dtype, got {x.dtype}")
        return x.astype(engine.float32) if x.dtype in (engine.float16, engine.bfloat16) else x
    if is_complex(x.dtype):
        return x
    if not is_floating(x.dtype):
        raise TypeError(f"{name}: expected a floating-point dtype, got {x.dtype}")
    return x.astype(engine.complex128 if x.dtype == engine.float64 else engine.complex64)


def _sized(name: str, x: Tensor, axis: int, n: int | None) -> Tensor:
    """Cut, or filled up with zeros, to n places along an axis."""
    size = x.shape[axis]
    n = size if n is None else n
    if n < 1:
        raise ValueError(f"{name}: expected at least one place along axis {axis}, got {n}")
    if n < size:
        return engine.narrow(x, axis, 0, n)
    if n > size:
        shape = list(x.shape)
        shape[axis] = n - size
        return engine.concat([x, engine.zeros(shape, dtype=x.dtype)], axis=axis)
    return x


def _sizes(
    name: str, x: Tensor, s: Sequence[int] | None, axes: Sequence[int] | None
) -> tuple[tuple[int, ...], list[int | None]]:
    if axes is None:
        chosen = tuple(range(x.ndim - len(s), x.ndim)) if s is not None else tuple(range(x.ndim))
    else:
        chosen = many_axes(name, tuple(axes), x.ndim)
    if s is not None and len(s) != len(chosen):
        raise ValueError(f"{name}: {len(s)} sizes {tuple(s)} for {len(chosen)} axes {chosen}")
    if not chosen or min(chosen) < 0:
        raise ValueError(f"{name}: no axes to transform in a tensor of shape {x.shape}")
    given = [None if n == -1 else n for n in s] if s is not None else [None] * len(chosen)
    return chosen, given


def _one(name: str, x: Tensor, n: int | None, axis: int, norm: str, inverse: bool) -> Tensor:
    x = _check(name, x, norm, real=False)
    a = one_axis(name, axis, x.ndim)
    return _Complex.apply(_sized(name, x, a, n), (a,), norm, inverse)


def fft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """The transform along an axis; complex.

    Args:
        n: x is cut, or filled up with zeros, to so many places.

    >>> engine.fft.fft(engine.ones(4)).shape
    (4,)
    """
    return _one("fft", x, n, axis, norm, inverse=False)


def ifft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """The inverse transform along an axis; complex.

    >>> engine.fft.ifft(engine.ones(4)).shape
    (4,)
    """
    return _one("ifft", x, n, axis, norm, inverse=True)


def _many(
    name: str, x: Tensor, s: Sequence[int] | None, axes: Sequence[int] | None, norm: str,
    inverse: bool,
) -> Tensor:  # fmt: skip
    x = _check(name, x, norm, real=False)
    chosen, sizes = _sizes(name, x, s, axes)
    for a, n in zip(chosen, sizes, strict=True):
        x = _sized(name, x, a, n)
    return _Complex.apply(x, chosen, norm, inverse)


def fftn(
    x: Tensor, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Tensor:  # fmt: skip
    """The transform along several axes, by default all (or the last len(s)); complex.

    Args:
        s: the sizes x is cut or filled up to, one an axis.

    >>> engine.fft.fftn(engine.ones((2, 4))).shape
    (2, 4)
    """
    return _many("fftn", x, s, axes, norm, inverse=False)


def ifftn(
    x: Tensor, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Tensor:  # fmt: skip
    """The inverse transform along several axes; complex.

    >>> engine.fft.ifftn(engine.ones((2, 4))).shape
    (2, 4)
    """
    return _many("ifftn", x, s, axes, norm, inverse=True)


def rfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """The first half, n // 2 + 1 values, of a real signal's spectrum along an axis: the rest is its
    mirror image.

    >>> engine.fft.rfft(engine.ones(4)).shape
    (3,)
    """
    x = _check("rfft", x, norm, real=True)
    a = one_axis("rfft", axis, x.ndim)
    return _RealToHalf.apply(_sized("rfft", x, a, n), a, norm)


def irfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """The real signal of n values (2 (m - 1) by default) whose half spectrum x is, along an axis.

    >>> engine.fft.irfft(engine.fft.rfft(engine.ones(4))).shape
    (4,)
    """
    x = _check("irfft", x, norm, real=False)
    a = one_axis("irfft", axis, x.ndim)
    n = 2 * (x.shape[a] - 1) if n is None else n
    if n < 1:
        raise ValueError(f"irfft: expected at least one place along axis {a}, got {n}")
    return _HalfToReal.apply(_sized("irfft", x, a, n // 2 + 1), n, a, norm)


def rfftn(
    x: Tensor, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Tensor:  # fmt: skip
    """The transform of a real signal along several axes; along the last of them its first half.

    >>> engine.fft.rfftn(engine.ones((2, 4))).shape
    (2, 3)
    """
    x = _check("rfftn", x, norm, real=True)
    chosen, sizes = _sizes("rfftn", x, s, axes)
    for a, n in zip(chosen, sizes, strict=True):
        x = _sized("rfftn", x, a, n)
    y = _RealToHalf.apply(x, chosen[-1], norm)
    return _Complex.apply(y, chosen[:-1], norm, False) if len(chosen) > 1 else y


def irfftn(
    x: Tensor, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Tensor:  # fmt: skip
    """The real signal whose transform along several axes x is, the last one holding half of it.

    >>> engine.fft.irfftn(engine.fft.rfftn(engine.ones((2, 4)))).shape
    (2, 4)
    """
    x = _check("irfftn", x, norm, real=False)
    chosen, sizes = _sizes("irfftn", x, s, axes)
    last, n = chosen[-1], sizes[-1]
    n = 2 * (x.shape[last] - 1) if n is None else n
    if n < 1:
        raise ValueError(f"irfftn: expected at least one place along axis {last}, got {n}")
    for a, size in zip(chosen[:-1], sizes[:-1], strict=True):
        x = _sized("irfftn", x, a, size)
    x = _sized("irfftn", x, last, n // 2 + 1)
    if len(chosen) > 1:
        x = _Complex.apply(x, chosen[:-1], norm, True)
    return _HalfToReal.apply(x, n, last, norm)


def hfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """The real transform of n values of a signal with Hermitian symmetry, whose first half x is.

    >>> engine.fft.hfft(engine.ones(3)).shape
    (4,)
    """
    x = _check("hfft", x, norm, real=False)
    return irfft(_conj(x), n=n, axis=axis, norm=_SWAPPED[norm])


def ihfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """The inverse of hfft: half of a signal with Hermitian symmetry, from its real transform.

    >>> engine.fft.ihfft(engine.ones(4)).shape
    (3,)
    """
    x = _check("ihfft", x, norm, real=True)
    return _conj(rfft(x, n=n, axis=axis, norm=_SWAPPED[norm]))


def _frequencies(
    name: str, make: Callable[..., Any], n: int, d: float, dtype: dtype | None, device: Any
) -> Tensor:
    if n < 1:
        raise ValueError(f"{name}: expected at least one place, got {n}")
    t = engine.asarray(make(n, d), device=device)
    return t.astype(engine.float32 if dtype is None else dtype)


def fftfreq(n: int, /, *, d: float = 1.0, dtype: dtype | None = None, device: Any = None) -> Tensor:
    """The frequencies of an n-point transform, in cycles per unit of the sample spacing d:
    0, 1, ..., -1 over n d. float32 unless told otherwise.

    >>> engine.fft.fftfreq(4)
    Tensor([ 0.  ,  0.25, -0.5 , -0.25], dtype=float32)
    """
    return _frequencies("fftfreq", np.fft.fftfreq, n, d, dtype, device)


def rfftfreq(
    n: int, /, *, d: float = 1.0, dtype: dtype | None = None, device: Any = None
) -> Tensor:
    """The frequencies of an n-point transform of a real signal, n // 2 + 1 of them.

    >>> engine.fft.rfftfreq(4)
    Tensor([0.  , 0.25, 0.5 ], dtype=float32)
    """
    return _frequencies("rfftfreq", np.fft.rfftfreq, n, d, dtype, device)


def _shifted(name: str, x: Tensor, axes: int | Sequence[int] | None, back: bool) -> Tensor:
    check_tensor(name, x)
    chosen = many_axes(name, axes, x.ndim)
    by = [-(x.shape[a] // 2) if back else x.shape[a] // 2 for a in chosen]
    return engine.roll(x, by, axis=chosen) if chosen else x.clone()


def fftshift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """Frequency 0 moved to the middle along the axes named, or all.

    >>> engine.fft.fftshift(engine.asarray([0, 1, -2, -1]))
    Tensor([-2, -1,  0,  1], dtype=int64)
    """
    return _shifted("fftshift", x, axes, back=False)


def ifftshift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """The inverse of fftshift: the middle moved to the front.

    >>> engine.fft.ifftshift(engine.asarray([-2, -1, 0, 1]))
    Tensor([ 0,  1, -2, -1], dtype=int64)
    """
    return _shifted("ifftshift", x, axes, back=True)
