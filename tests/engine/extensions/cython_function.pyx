# cython: language_level=3, boundscheck=False, wraparound=False
"""An operation in Cython: soft thresholding, sign(x) * max(|x| - t, 0).

    cythonize -i cython_function.pyx
"""
from cython cimport floating
from libc.math cimport copysign, fabs, fmax

import engine
from engine.autograd import Function, once_differentiable


def _shrink(const floating[::1] x, floating[::1] y, double t):
    cdef Py_ssize_t i
    with nogil:
        for i in range(x.shape[0]):
            y[i] = <floating>copysign(fmax(fabs(x[i]) - t, 0), x[i])


def _shrink_grad(const floating[::1] y, const floating[::1] grad, floating[::1] out):
    cdef Py_ssize_t i
    with nogil:
        for i in range(y.shape[0]):
            out[i] = grad[i] if y[i] != 0 else 0


def _flat(t):
    return t.detach().contiguous().reshape(-1).numpy()


class SoftThreshold(Function):
    """Shrinks every element towards 0 by t, and to 0 below it."""

    @staticmethod
    def forward(ctx, x, t):
        if t < 0:
            raise ValueError(f"soft_threshold: t {t} must not be negative")
        y = engine.empty(x.shape, dtype=x.dtype)
        _shrink(_flat(x), _flat(y), t)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        out = engine.empty(y.shape, dtype=y.dtype)
        _shrink_grad(_flat(y), _flat(grad), _flat(out))
        return out, None


soft_threshold = SoftThreshold.apply
