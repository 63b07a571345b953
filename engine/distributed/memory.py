"""The memory of a tensor as a flat numpy array, without a copy."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine import _C
from engine._C import Tensor


def in_memory_order(tensor: Tensor, operation: str) -> Tensor:
    """A tensor over the same memory, with its axes ordered so that it is contiguous.

    Args:
        tensor: without gaps, on any device; its axes may lie in any order.
        operation: for messages.

    Raises:
        ValueError: a slice of another tensor, or one that is expanded.

    >>> in_memory_order(engine.ones((2, 3)).permute_dims((1, 0)), "sum").shape
    (2, 3)
    """
    dense = tensor.detach().permute_dims(axes_in_memory(tensor))
    if not dense.is_contiguous():
        raise ValueError(
            f"{operation}: a tensor of shape {tensor.shape} with steps {tensor.strides()} has gaps "
            "in memory or shows some of it twice; expected one without: tensor.clone()"
        )
    return dense


def axes_in_memory(tensor: Tensor) -> list[int]:
    """The axes, that of the longest steps first: in this order the elements of a tensor without
    gaps lie one behind the other.

    >>> axes_in_memory(engine.ones((2, 3)).permute_dims((1, 0)))
    [1, 0]
    """
    steps = tensor.strides()
    return sorted(range(tensor.ndim), key=lambda axis: -steps[axis])


def flat(tensor: Tensor, operation: str) -> NDArray[Any]:
    """All elements in the order in which they lie in memory, over the same memory; those of
    bfloat16, which numpy does not have, as their bits in uint16.

    Args:
        tensor: on the CPU, without gaps; its axes may lie in any order.
        operation: for messages.

    Raises:
        ValueError: a slice of another tensor, or one that is expanded.

    >>> flat(engine.ones((2, 3)).permute_dims((1, 0)), "sum").shape
    (6,)
    """
    values = in_memory_order(tensor, operation)
    if values.dtype == _C.bfloat16:
        bits = (ctypes.c_uint16 * values.size).from_address(values.data_ptr())
        return np.ctypeslib.as_array(bits)
    return values.numpy().reshape(-1)


def narrow_tensor(bits: NDArray[np.uint16], dtype: Any) -> Tensor:
    """(n,) uint16 as a tensor of a type of two bytes, over the same memory.

    >>> narrow_tensor(np.array([0x3FC0], np.uint16), engine.bfloat16).tolist()
    [1.5]
    """
    return _C._tensor_over(bits.view(np.uint8), dtype, bits.shape, (1,), 0)


def changed(tensor: Tensor) -> None:
    """Count a change of the memory that the tape has not seen, so that a backward that needs the
    old values says so."""
    part = tensor.detach()
    if tensor.ndim:
        part = part[:0]  # of nothing, where that can be
    part.copy_(part.clone())
