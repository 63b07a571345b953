"""Tensors from nothing, with the signatures of the array API standard.

The work is native; these are functions of Python so that help() and inspect show their arguments.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine import _C
from engine._C import Device, Tensor, dtype

Shape = int | Sequence[int]
Place = Device | str | None


def zeros(shape: Shape, *, dtype: dtype | None = None, device: Place = None) -> Tensor:
    """A tensor of zeros, float32 unless told otherwise. Raises ValueError for a negative size.

    >>> engine.zeros((2, 3)).sum().item()
    0.0
    """
    return _C.zeros(shape, dtype=dtype, device=device)


def ones(shape: Shape, *, dtype: dtype | None = None, device: Place = None) -> Tensor:
    """A tensor of ones, float32 unless told otherwise. Raises ValueError for a negative size.

    >>> engine.ones((2, 3)).sum().item()
    6.0
    """
    return _C.ones(shape, dtype=dtype, device=device)


def empty(shape: Shape, *, dtype: dtype | None = None, device: Place = None) -> Tensor:
    """A tensor whose elements are whatever the memory held, float32 unless told otherwise.

    >>> engine.empty((2, 3)).shape
    (2, 3)
    """
    return _C.empty(shape, dtype=dtype, device=device)


def full(
    shape: Shape,
    fill_value: complex | Tensor,
    *,
    dtype: dtype | None = None,
    device: Place = None,
) -> Tensor:
    """A tensor filled with one value, of that value's default dtype unless told otherwise.

    Raises TypeError where the dtype cannot hold the value's kind.

    >>> engine.full(2, 7).tolist()
    [7, 7]
    """
    return _C.full(shape, fill_value, dtype=dtype, device=device)


def arange(
    start: float,
    /,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: dtype | None = None,
    device: Place = None,
) -> Tensor:
    """Evenly spaced values from start up to, not including, stop; arange(n) starts at 0. int64 for
    whole numbers, else float32. Raises ValueError for a step of 0.

    >>> engine.arange(2, 9, 3).tolist()
    [2, 5, 8]
    """
    return _C.arange(start, stop, step, dtype=dtype, device=device)


def linspace(
    start: complex,
    stop: complex,
    /,
    num: int,
    *,
    dtype: dtype | None = None,
    device: Place = None,
    endpoint: bool = True,
) -> Tensor:
    """num evenly spaced values from start to stop, which is the last one if ``endpoint``. float32,
    or complex64 for complex ends. Raises TypeError for an integer dtype, ValueError for num < 0.

    >>> engine.linspace(0, 1, 3).tolist()
    [0.0, 0.5, 1.0]
    """
    return _C.linspace(start, stop, num, dtype=dtype, device=device, endpoint=endpoint)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: dtype | None = None,
    device: Place = None,
) -> Tensor:
    """A matrix with ones on diagonal k (above the main one if positive), zeros elsewhere.

    >>> engine.eye(2, k=1).tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    return _C.eye(n_rows, n_cols, k=k, dtype=dtype, device=device)
