"""Dtype names of weights files, and how bfloat16 is carried in numpy, which lacks it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

# A one-field record: views and slices are free, its name says what the bits are, and numpy refuses
# arithmetic on it, so nobody adds bfloat16 bits as if they were integers.
BFLOAT16 = np.dtype([("bfloat16", "<u2")])

# Names as the safetensors format spells them.
BY_NAME: dict[str, np.dtype[Any]] = {
    "BOOL": np.dtype("?"),
    "U8": np.dtype("u1"),
    "I8": np.dtype("i1"),
    "U16": np.dtype("<u2"),
    "I16": np.dtype("<i2"),
    "U32": np.dtype("<u4"),
    "I32": np.dtype("<i4"),
    "U64": np.dtype("<u8"),
    "I64": np.dtype("<i8"),
    "F16": np.dtype("<f2"),
    "F32": np.dtype("<f4"),
    "F64": np.dtype("<f8"),
    "BF16": BFLOAT16,
}
NAME_OF: dict[np.dtype[Any], str] = {dtype: name for name, dtype in BY_NAME.items()}


def bfloat16_to_float32(array: NDArray[Any]) -> NDArray[np.float32]:
    """Widen a `BFLOAT16` array to float32, exactly, in a new array of the same shape.

    Raises:
        TypeError: the array's dtype is not `BFLOAT16`.

    >>> bits = np.array([0x3FC0], np.uint16).view(BFLOAT16)
    >>> bfloat16_to_float32(bits)
    array([1.5], dtype=float32)
    """
    if array.dtype != BFLOAT16:
        raise TypeError(
            f"bfloat16_to_float32: expected dtype hub.BFLOAT16, got {array.dtype}; "
            "use array.astype(numpy.float32)"
        )
    # bfloat16 is the upper half of a float32.
    wide = array["bfloat16"].astype(np.uint32)
    wide <<= 16
    return wide.view(np.float32)
