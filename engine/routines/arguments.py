"""What the routines check about their arguments."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TypeAlias

import engine
from engine._C import Tensor, dtype

Axes: TypeAlias = int | Sequence[int] | None

FLOATS = ("float64", "float32", "float16", "bfloat16")


def is_floating(t: dtype) -> bool:
    return str(t) in FLOATS


def is_complex(t: dtype) -> bool:
    return str(t).startswith("complex")


def check_tensor(name: str, *tensors: object) -> None:
    for t in tensors:
        if not isinstance(t, Tensor):
            raise TypeError(
                f"{name}: expected an engine.Tensor, got {type(t).__name__}; "
                "convert it with engine.asarray(...)"
            )


def check_floating(name: str, x: Tensor) -> None:
    check_tensor(name, x)
    if not is_floating(x.dtype) and not is_complex(x.dtype):
        raise TypeError(f"{name}: expected a floating-point dtype, got {x.dtype}")


def as_floating(x: Tensor) -> Tensor:
    """Integers and bool as float32, as in elementwise functions."""
    return x if is_floating(x.dtype) or is_complex(x.dtype) else x.astype(engine.float32)


def one_axis(name: str, axis: int, ndim: int) -> int:
    """`axis` counted from the front."""
    i = operator.index(axis)
    if not -ndim <= i < ndim:
        raise IndexError(f"{name}: axis {i} is out of range for a tensor of {ndim} dimensions")
    return i % ndim


def many_axes(name: str, axis: Axes, ndim: int) -> tuple[int, ...]:
    """Axes counted from the front; all of them for None."""
    if axis is None:
        return tuple(range(ndim))
    given = (axis,) if isinstance(axis, int) or hasattr(axis, "__index__") else tuple(axis)
    axes = tuple(one_axis(name, a, ndim) for a in given)
    if len(set(axes)) != len(axes):
        raise ValueError(f"{name}: an axis appears twice in {tuple(given)}")
    return axes


def at_least_ndim(name: str, x: Tensor, ndim: int) -> None:
    check_tensor(name, x)
    if x.ndim < ndim:
        raise ValueError(
            f"{name}: expected at least {ndim} dimension{'s' * (ndim > 1)}, got shape {x.shape}"
        )


def exactly_ndim(name: str, x: Tensor, ndim: int) -> None:
    check_tensor(name, x)
    if x.ndim != ndim:
        raise ValueError(
            f"{name}: expected {ndim} dimension{'s' * (ndim > 1)}, got shape {x.shape}"
        )
