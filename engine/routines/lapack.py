"""What the factorisations share: how matrices reach numpy, and small pieces of their gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import engine
from engine._C import Tensor
from engine.routines.arguments import check_tensor, is_complex, is_floating


def adjoint(x: Tensor) -> Tensor:
    """Transposed, and conjugated if complex."""
    t = engine.swapaxes(x, -1, -2)
    return engine.conj(t) if is_complex(t.dtype) else t


def real(x: Tensor) -> Tensor:
    return engine.real(x) if is_complex(x.dtype) else x


def matrices(name: str, x: Tensor) -> Tensor:
    """x checked, its 16-bit floats widened."""
    check_tensor(name, x)
    if not is_floating(x.dtype) and not is_complex(x.dtype):
        raise TypeError(f"{name}: expected a floating-point dtype, got {x.dtype}")
    if x.ndim < 2:
        raise ValueError(f"{name}: expected matrices, at least 2 dimensions, got shape {x.shape}")
    return x.astype(engine.float32) if x.dtype in (engine.float16, engine.bfloat16) else x


def square(name: str, x: Tensor) -> Tensor:
    x = matrices(name, x)
    if x.shape[-1] != x.shape[-2]:
        raise ValueError(f"{name}: expected square matrices, got shape {x.shape}")
    return x


def call(name: str, function: Callable[..., Any], *arrays: Tensor, **kwargs: Any) -> Any:
    """numpy's function on the tensors' memory; its complaints as ValueErrors that name the op."""
    try:
        return function(*(t.detach().numpy() for t in arrays), **kwargs)
    except np.linalg.LinAlgError as error:
        shapes = ", ".join(str(t.shape) for t in arrays)
        raise ValueError(f"{name}: {str(error).lower()}, for a matrix of shape {shapes}") from None


def tensor(array: Any) -> Tensor:
    return engine.asarray(np.asarray(array))


def diag_matrix(x: Tensor) -> Tensor:
    """(..., n) as diagonals of (..., n, n)."""
    return engine.expand_dims(x, -1) * engine.eye(x.shape[-1], dtype=real(x).dtype)


def differences(values: Tensor) -> Tensor:
    """1 / (values[j] - values[i]) at (i, j), 0 where they are equal: there, the gradients of
    vectors are not defined, those of values need none."""
    apart = engine.expand_dims(values, -2) - engine.expand_dims(values, -1)
    same = apart == 0
    safe = engine.where(same, engine.ones((), dtype=apart.dtype), apart)
    return engine.where(same, engine.zeros((), dtype=apart.dtype), 1.0 / safe)
