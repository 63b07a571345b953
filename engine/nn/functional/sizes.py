"""Arguments that are one number for all axes of a picture, or one an axis; and memory order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, overload

import engine
from engine import Tensor

IntOrPair = int | Sequence[int]
IntOrTriple = int | Sequence[int]

AXES = {1: "one int", 2: "two ints (rows, columns)", 3: "three ints (depth, rows, columns)"}


@overload
def ints(value: int | Sequence[int], count: Literal[1], name: str = ...) -> tuple[int]: ...
@overload
def ints(value: int | Sequence[int], count: Literal[2], name: str = ...) -> tuple[int, int]: ...
@overload
def ints(
    value: int | Sequence[int], count: Literal[3], name: str = ...
) -> tuple[int, int, int]: ...
@overload
def ints(value: int | Sequence[int], count: int, name: str = ...) -> tuple[int, ...]: ...
def ints(value: int | Sequence[int], count: int, name: str = "value") -> tuple[int, ...]:
    """`count` ints from an int or from that many of them.

    Raises:
        ValueError: anything else, naming the argument.

    >>> ints(3, 3), ints((1, 2), 2)
    ((3, 3, 3), (1, 2))
    """
    if isinstance(value, int):
        return (value,) * count
    if len(value) != count:
        raise ValueError(f"{name}: expected an int or {AXES[count]}, got {value!r}")
    return tuple(int(v) for v in value)


def pair(value: IntOrPair, name: str = "value") -> tuple[int, int]:
    """(rows, columns) of an int or of two ints.

    Raises:
        ValueError: anything else, naming the argument.

    >>> pair(3), pair((1, 2))
    ((3, 3), (1, 2))
    """
    rows, columns = ints(value, 2, name)
    return rows, columns


def is_channels_last(x: Tensor) -> bool:
    """Whether the memory of x (N, C, H, W) runs N, H, W, C, and not N, C, H, W as well.

    >>> is_channels_last(engine.ones((2, 3, 4, 4)).contiguous("channels_last"))
    True
    """
    return x.ndim == 4 and x.is_contiguous("channels_last") and not x.is_contiguous()


def with_batch(op: str, x: Tensor, axes: int) -> tuple[Tensor, bool]:
    """x as a batch (N, C, *axes), and whether it was a single sample (C, *axes).

    Raises:
        ValueError: neither number of axes.

    >>> with_batch("conv1d", engine.ones((3, 8)), 1)[0].shape
    (1, 3, 8)
    """
    if x.ndim == axes + 2:
        return x, False
    if x.ndim == axes + 1:
        return engine.expand_dims(x, axis=0), True
    picture = {1: "L", 2: "H, W", 3: "D, H, W"}[axes]
    raise ValueError(
        f"{op}: x has shape {x.shape}, expected (N, C, {picture}) or one sample (C, {picture})"
    )


def check_float(op: str, x: Tensor, name: str = "x") -> None:
    """
    Raises:
        TypeError: x is no float tensor; the message says what it is.

    >>> check_float("pad", engine.ones(3))
    """
    if not x.dtype.is_floating_point:
        raise TypeError(
            f"{op}: {name} is {x.dtype} {x.shape}, expected a floating-point tensor; "
            "convert it with .astype(engine.float32)"
        )


def check_same_shape(op: str, x: Tensor, y: Tensor, names: str = "x and target") -> None:
    """
    Raises:
        ValueError: the shapes differ, as happens by mistake where (N, 1) meets (N,).

    >>> check_same_shape("mse_loss", engine.ones(3), engine.ones(3))
    """
    if x.shape != y.shape:
        raise ValueError(f"{op}: {names} have shapes {x.shape} and {y.shape}, expected the same")


def check_one_of(op: str, name: str, value: object, allowed: Sequence[str]) -> None:
    """
    Raises:
        ValueError: value is none of those allowed.

    >>> check_one_of("pad", "mode", "constant", ("constant", "reflect"))
    """
    if value not in allowed:
        raise ValueError(f"{op}: {name}={value!r}; expected one of {', '.join(map(repr, allowed))}")
