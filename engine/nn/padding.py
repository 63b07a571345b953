"""Padding layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from engine import Tensor
from engine.nn import functional as F
from engine.nn.module import Module


class _Pad(Module):
    """`padding` is one int for all ends, or (before, after) of the last axis, then of the one
    before it, and so on."""

    axes: ClassVar[int]
    mode: ClassVar[str] = "constant"

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__()
        count = 2 * self.axes
        widths = (padding,) * count if isinstance(padding, int) else tuple(padding)
        if len(widths) != count:
            raise ValueError(
                f"{type(self).__name__}: padding={padding!r}; expected an int or {count} ints, "
                "(before, after) of each axis, the last one first"
            )
        self.padding = widths
        self.value = 0.0

    def forward(self, x: Tensor) -> Tensor:
        if x.ndim not in (self.axes + 1, self.axes + 2):
            raise ValueError(
                f"{type(self).__name__}: x has shape {x.shape}, expected (N, C, ...) or (C, ...) "
                f"with {self.axes} axes after the channels"
            )
        return F.pad(x, self.padding, self.mode, self.value)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPad(_Pad):
    def __init__(self, padding: int | Sequence[int], value: float) -> None:
        super().__init__(padding)
        self.value = value

    def extra_repr(self) -> str:
        return f"{self.padding}, value={self.value}"


class ZeroPad1d(_Pad):
    """x (N, C, L) with zeros around it; see functional.pad.

    >>> ZeroPad1d(1)(engine.ones((1, 1, 2))).shape
    (1, 1, 4)
    """

    axes = 1


class ZeroPad2d(_Pad):
    """x (N, C, H, W) with zeros around it; see functional.pad.

    >>> ZeroPad2d(1)(engine.ones((1, 1, 2, 2))).shape
    (1, 1, 4, 4)
    """

    axes = 2


class ZeroPad3d(_Pad):
    """x (N, C, D, H, W) with zeros around it; see functional.pad.

    >>> ZeroPad3d(1)(engine.ones((1, 1, 2, 2, 2))).shape
    (1, 1, 4, 4, 4)
    """

    axes = 3


class ConstantPad1d(_ConstantPad):
    """x (N, C, L) with a number around it; see functional.pad.

    >>> ConstantPad1d(1, 0.5)(engine.ones((1, 1, 2))).shape
    (1, 1, 4)
    """

    axes = 1


class ConstantPad2d(_ConstantPad):
    """x (N, C, H, W) with a number around it; see functional.pad.

    >>> ConstantPad2d(1, 0.5)(engine.ones((1, 1, 2, 2))).shape
    (1, 1, 4, 4)
    """

    axes = 2


class ConstantPad3d(_ConstantPad):
    """x (N, C, D, H, W) with a number around it; see functional.pad.

    >>> ConstantPad3d(1, 0.5)(engine.ones((1, 1, 2, 2, 2))).shape
    (1, 1, 4, 4, 4)
    """

    axes = 3


class ReflectionPad1d(_Pad):
    """x (N, C, L) with the reflection of x, without its edge around it; see functional.pad.

    >>> ReflectionPad1d(1)(engine.ones((1, 1, 2))).shape
    (1, 1, 4)
    """

    axes = 1
    mode = "reflect"


class ReflectionPad2d(_Pad):
    """x (N, C, H, W) with the reflection of x, without its edge around it; see functional.pad.

    >>> ReflectionPad2d(1)(engine.ones((1, 1, 2, 2))).shape
    (1, 1, 4, 4)
    """

    axes = 2
    mode = "reflect"


class ReflectionPad3d(_Pad):
    """x (N, C, D, H, W) with the reflection of x, without its edge around it; see functional.pad.

    >>> ReflectionPad3d(1)(engine.ones((1, 1, 2, 2, 2))).shape
    (1, 1, 4, 4, 4)
    """

    axes = 3
    mode = "reflect"


class ReplicationPad1d(_Pad):
    """x (N, C, L) with the edge of x around it; see functional.pad.

    >>> ReplicationPad1d(1)(engine.ones((1, 1, 2))).shape
    (1, 1, 4)
    """

    axes = 1
    mode = "replicate"


class ReplicationPad2d(_Pad):
    """x (N, C, H, W) with the edge of x around it; see functional.pad.

    >>> ReplicationPad2d(1)(engine.ones((1, 1, 2, 2))).shape
    (1, 1, 4, 4)
    """

    axes = 2
    mode = "replicate"


class ReplicationPad3d(_Pad):
    """x (N, C, D, H, W) with the edge of x around it; see functional.pad.

    >>> ReplicationPad3d(1)(engine.ones((1, 1, 2, 2, 2))).shape
    (1, 1, 4, 4, 4)
    """

    axes = 3
    mode = "replicate"


class CircularPad1d(_Pad):
    """x (N, C, L) with the other end of x around it; see functional.pad.

    >>> CircularPad1d(1)(engine.ones((1, 1, 2))).shape
    (1, 1, 4)
    """

    axes = 1
    mode = "circular"


class CircularPad2d(_Pad):
    """x (N, C, H, W) with the other end of x around it; see functional.pad.

    >>> CircularPad2d(1)(engine.ones((1, 1, 2, 2))).shape
    (1, 1, 4, 4)
    """

    axes = 2
    mode = "circular"


class CircularPad3d(_Pad):
    """x (N, C, D, H, W) with the other end of x around it; see functional.pad.

    >>> CircularPad3d(1)(engine.ones((1, 1, 2, 2, 2))).shape
    (1, 1, 4, 4, 4)
    """

    axes = 3
    mode = "circular"
