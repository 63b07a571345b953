"""What the native engine asks numpy to compute: every operation on complex numbers.

No kernel is compiled for complex64 and complex128; see engine/csrc/ops/complex.h.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def _sign(x: Any) -> Any:
    size = np.abs(x)
    return np.where(size == 0, 0, x / np.where(size == 0, 1, size)).astype(x.dtype)


def _expm1(z: Any) -> Any:
    # numpy's is exact near 0, C's exp right at infinities and NaN. Adding 0 makes a real part of
    # -0 the 0 that the array API standard asks for, and leaves the imaginary part's sign.
    y = np.where(np.isfinite(z), np.expm1(z), np.exp(z) - 1)
    y.real += 0
    return y


def _tanh(z: Any) -> Any:
    limit = np.isinf(z.real) & np.isfinite(z.imag)
    at_limit = np.sign(z.real) + 1j * np.copysign(0, z.imag)
    return np.where(limit, at_limit.astype(z.dtype), np.tanh(z))


def _logaddexp(a: Any, b: Any) -> Any:
    return np.log(np.exp(a) + np.exp(b))


def _reciprocal(x: Any) -> Any:
    return np.ones((), x.dtype) / x


# Names of pointwise.def and of reductions -> functions of numpy arrays of one complex dtype.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "negative": np.negative,
    "abs": np.abs,
    "sign": _sign,
    "square": np.square,
    "exp": np.exp,
    "expm1": _expm1,
    "log": np.log,
    "log1p": np.log1p,
    "log2": np.log2,
    "log10": np.log10,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: _reciprocal(np.sqrt(x)),
    "reciprocal": _reciprocal,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": _tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "sigmoid": lambda x: _reciprocal(np.exp(-x) + 1),
    "round": np.round,
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "pow": np.power,
    "logaddexp": _logaddexp,
    "equal": np.equal,
    "not_equal": np.not_equal,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
    "logical_not": np.logical_not,
    "isnan": np.isnan,
    "isinf": np.isinf,
    "isfinite": np.isfinite,
    "matmul": np.matmul,
    "prod": lambda rows: np.prod(rows, axis=1),
}


def compute(name: str, arrays: list[Any]) -> Any:
    """The result of operation ``name`` on numpy arrays of one complex dtype, as a numpy array.

    Raises TypeError for an operation that has no meaning for complex numbers.
    """
    function = FUNCTIONS.get(name)
    if function is None:
        dtypes = " and ".join(str(a.dtype) for a in arrays)
        raise TypeError(f"{name}: not defined for complex numbers, got {dtypes}")
    with np.errstate(all="ignore"):
        return np.asarray(function(*arrays))
