"""The memory of a tensor as a flat numpy array, without a copy."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine import _C
from engine._C import Tensor


def axes_in_memory(array: NDArray[Any]) -> list[int]:
    """The axes, that of the longest steps first: in this order the elements of an array without
    gaps lie one behind the other.

    >>> axes_in_memory(np.ones((2, 3)).T)
    [1, 0]
    """
    return sorted(range(array.ndim), key=lambda axis: -array.strides[axis])


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
    values = tensor.detach()
    if values.dtype == _C.bfloat16:
        bits = (ctypes.c_uint16 * values.size).from_address(values.data_ptr())
        shown = np.ctypeslib.as_array(bits)
        strides = [2 * step for step in values.strides()]
        array = np.lib.stride_tricks.as_strided(shown, values.shape, strides)
    else:
        array = values.numpy()
    dense = array.transpose(axes_in_memory(array))
    if not dense.flags.c_contiguous:
        raise ValueError(
            f"{operation}: a tensor of shape {tensor.shape} with steps {tensor.strides()} has gaps "
            "in memory or shows some of it twice; expected one without: tensor.clone()"
        )
    return dense.reshape(-1)


def narrow_tensor(bits: NDArray[np.uint16], dtype: Any) -> Tensor:
    """(n,) uint16 as a tensor of a type of two bytes, over the same memory.

    >>> narrow_tensor(np.array([0x3FC0], np.uint16), engine.bfloat16).tolist()
    [1.5]
    """
    return _C._tensor_over(bits.view(np.uint8), dtype, bits.shape, (1,), 0)


def changed(tensor: Tensor) -> None:
    """Count a change of the memory that the tape has not seen, so that a backward that needs the
    old values says so."""
    with_none = tensor.detach()
    if tensor.ndim:
        with_none = with_none[:0]
        with_none.copy_(_C.zeros(with_none.shape, dtype=tensor.dtype))
    else:
        with_none.copy_(with_none.clone())
