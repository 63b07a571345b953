"""Questions about dtypes, under the names of the Python array API standard."""

from __future__ import annotations

from typing import NamedTuple

from engine import _C
from engine._C import Device, Tensor, dtype

_SIGNED = ("int8", "int16", "int32", "int64")
_UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
_REAL = ("float16", "bfloat16", "float32", "float64")
_COMPLEX = ("complex64", "complex128")
KINDS = {
    "bool": ("bool",),
    "signed integer": _SIGNED,
    "unsigned integer": _UNSIGNED,
    "integral": _SIGNED + _UNSIGNED,
    "real floating": _REAL,
    "complex floating": _COMPLEX,
    "numeric": _SIGNED + _UNSIGNED + _REAL + _COMPLEX,
}


def isdtype(dtype: dtype, kind: str | dtype | tuple[str | dtype, ...]) -> bool:
    """Whether a dtype is of a kind: "bool", "signed integer", "unsigned integer", "integral",
    "real floating", "complex floating", "numeric", another dtype, or any of a tuple of these.

    Raises ValueError for a kind of another name.

    >>> engine.isdtype(engine.float32, "real floating")
    True
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, k) for k in kind)
    if isinstance(kind, str):
        if kind not in KINDS:
            raise ValueError(f"isdtype: expected one of {', '.join(KINDS)}, got '{kind}'")
        return dtype.name in KINDS[kind]
    return bool(dtype == kind)


def result_type(*arrays_and_dtypes: Tensor | dtype | complex) -> dtype:
    """The dtype of an operation between tensors, dtypes and Python numbers. A number is weak: it
    takes the dtype of what it meets, where that can hold its kind.

    Raises ValueError without arguments.

    >>> engine.result_type(engine.int8, engine.asarray([1.0]), 2j)
    complex64
    """
    if not arrays_and_dtypes:
        raise ValueError("result_type: expected at least one tensor, dtype or number")
    strong: dtype | None = None
    numbers = []
    for given in arrays_and_dtypes:
        # numpy's scalars are such numbers too, but have a dtype.
        if isinstance(given, (bool, int, float, complex)) and not hasattr(given, "dtype"):
            numbers.append(given)
            continue
        own = given.dtype if isinstance(given, Tensor) else _as_dtype(given)
        strong = own if strong is None else _C.promote_types(strong, own)
    for number in numbers:
        strong = _meet(strong, number)
    assert strong is not None
    return strong


def _as_dtype(given: object) -> dtype:
    return _C.empty(0, dtype=getattr(given, "dtype", given)).dtype  # type: ignore[arg-type]


def _meet(strong: dtype | None, number: complex) -> dtype:
    if isinstance(number, bool):
        return _C.bool if strong is None else strong
    if isinstance(number, int):
        return _C.int64 if strong is None or strong == _C.bool else strong
    if isinstance(number, float):
        inexact = strong is not None and isdtype(strong, ("real floating", "complex floating"))
        return strong if inexact else _C.float32  # type: ignore[return-value]
    if strong is not None and isdtype(strong, "complex floating"):
        return strong
    return _C.complex128 if strong == _C.float64 else _C.complex64


def can_cast(from_: dtype | Tensor, to: dtype, /) -> bool:
    """Whether promotion leads from one dtype to the other, so that nothing of it is lost. An
    integer tensor's values play no part.

    >>> engine.can_cast(engine.int8, engine.int32), engine.can_cast(engine.float64, engine.float32)
    (True, False)
    """
    source = from_.dtype if isinstance(from_, Tensor) else from_
    if isdtype(source, "integral") and not isdtype(to, "integral"):
        return False  # the standard mixes no kinds, and 2**60 + 1 is no float
    return bool(_C.promote_types(source, to) == to)


class finfo_object(NamedTuple):
    """Limits of a floating-point dtype: see finfo."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: dtype


class iinfo_object(NamedTuple):
    """Limits of an integer dtype: see iinfo."""

    bits: int
    max: int
    min: int
    dtype: dtype


def finfo(type: dtype | Tensor, /) -> finfo_object:
    """Limits of a floating-point dtype, or of the parts of a complex one: bits, eps, max, min,
    smallest_normal and dtype.

    Raises TypeError for other dtypes.

    >>> engine.finfo(engine.float32).eps
    1.1920928955078125e-07
    """
    own = type.dtype if isinstance(type, Tensor) else _as_dtype(type)
    if own == _C.bfloat16:
        largest = float.fromhex("0x1.fep127")
        return finfo_object(16, 2.0**-7, largest, -largest, 2.0**-126, own)
    if not isdtype(own, ("real floating", "complex floating")):
        raise TypeError(f"finfo: expected a floating-point dtype, got {own}; see iinfo")
    import numpy as np

    f = np.finfo(own.name)
    part = _as_dtype(f.dtype)
    return finfo_object(
        int(f.bits), float(f.eps), float(f.max), float(f.min), float(f.smallest_normal), part
    )


def iinfo(type: dtype | Tensor, /) -> iinfo_object:
    """Limits of an integer dtype: bits, max, min and dtype.

    Raises TypeError for other dtypes.

    >>> engine.iinfo(engine.int8).max
    127
    """
    own = type.dtype if isinstance(type, Tensor) else _as_dtype(type)
    if not isdtype(own, "integral"):
        raise TypeError(f"iinfo: expected an integer dtype, got {own}; see finfo")
    import numpy as np

    i = np.iinfo(own.name)
    return iinfo_object(int(i.bits), int(i.max), int(i.min), own)


def astype(
    x: Tensor, dtype: dtype, /, *, copy: bool = True, device: Device | str | None = None
) -> Tensor:
    """The elements of ``x`` in another dtype, differentiable between floating-point dtypes.

    Args:
        x: tensor of any shape.
        dtype: the dtype wanted. From complex to real numbers: TypeError; take engine.real first.
        copy: False returns ``x`` itself where it already has that dtype.
        device: where the result lives; where ``x`` does if None.

    >>> engine.astype(engine.asarray([1.5]), engine.int64).tolist()
    [1]
    """
    out = x.astype(dtype)
    if device is not None:
        out = out.to(Device(device))
    return x.clone() if copy and out.dtype == x.dtype and out.device == x.device else out
