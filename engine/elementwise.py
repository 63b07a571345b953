"""Elementwise functions of the array API standard that are made of other ones."""

from __future__ import annotations

from typing import Any

from engine import _C
from engine._C import Tensor
from engine.data_types import isdtype, result_type


def _check_tensor(name: str, x: object) -> None:
    if not isinstance(x, Tensor):
        raise TypeError(
            f"{name}: expected an engine.Tensor, got {type(x).__name__}; convert it with "
            "engine.asarray(...)"
        )


def positive(x: Tensor, /) -> Tensor:
    """+x: a copy, which gradients flow through.

    Args:
        x: tensor of any shape, any dtype but bool (TypeError).

    >>> engine.positive(engine.asarray([-1.0])).tolist()
    [-1.0]
    """
    _check_tensor("positive", x)
    if x.dtype == _C.bool:
        raise TypeError("positive: expected numbers, got bool; convert with astype first")
    return x.clone()


def bitwise_invert(x: Tensor, /) -> Tensor:
    """Every bit changed; for bool, logical_not.

    Args:
        x: tensor of any shape, integers or bool (else TypeError).

    >>> engine.bitwise_invert(engine.asarray([0, 1])).tolist()
    [-1, -2]
    """
    _check_tensor("bitwise_invert", x)
    return ~x


def nextafter(x1: Tensor | float, x2: Tensor | float, /) -> Tensor:
    """The number that follows x1 in the direction of x2, elementwise with broadcasting.

    Args:
        x1, x2: tensors of float16, float32 or float64; one may be a Python number. Raises
            TypeError for other dtypes. Has no gradient: the step is no function to differentiate.

    >>> engine.nextafter(engine.asarray([1.0]), 2.0).tolist()
    [1.0000001192092896]
    """
    import numpy as np

    dtype = result_type(x1, x2)
    if not isdtype(dtype, "real floating") or dtype == _C.bfloat16:
        raise TypeError(f"nextafter: expected float16, float32 or float64, got {dtype}")
    arrays: list[Any] = [
        (x.detach() if isinstance(x, Tensor) else _C.asarray(x)).astype(dtype).numpy()
        for x in (x1, x2)
    ]
    with np.errstate(all="ignore"):
        return _C.from_numpy(np.asarray(np.nextafter(*arrays)))


def clip(
    x: Tensor, /, min: Tensor | float | None = None, max: Tensor | float | None = None
) -> Tensor:
    """Elements limited to [min, max]; NaN stays NaN, and a bound that acts gets the gradient.

    Args:
        x: tensor of any shape, any real dtype.
        min, max: numbers, or tensors that broadcast with x; None is no bound.

    >>> engine.clip(engine.asarray([-1.0, 5.0]), 0, 1).tolist()
    [0.0, 1.0]
    """
    _check_tensor("clip", x)
    return x.clip(min, max)
