"""Pooling over windows, in one, two and three dimensions.

One dimension is a picture of one row. Three are done one after the other, depth last: the largest
of largest values is the largest, and the windows' sizes multiply.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, overload

import numpy as np

import engine
from engine import _C, Tensor
from engine.nn.functional.sizes import IntOrPair, IntOrTriple, ints, pair, with_batch


@overload
def max_pool1d(
    x: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = ...,
    padding: int | Sequence[int] = ...,
    dilation: int | Sequence[int] = ...,
    ceil_mode: bool = ...,
    return_indices: Literal[False] = ...,
) -> Tensor: ...
@overload
def max_pool1d(
    x: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = ...,
    padding: int | Sequence[int] = ...,
    dilation: int | Sequence[int] = ...,
    ceil_mode: bool = ...,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]: ...
@overload
def max_pool1d(
    x: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = ...,
    padding: int | Sequence[int] = ...,
    dilation: int | Sequence[int] = ...,
    ceil_mode: bool = ...,
    return_indices: bool = ...,
) -> Tensor | tuple[Tensor, Tensor]: ...
def max_pool1d(
    x: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """Largest element of each window of x (N, C, L); see max_pool2d.

    >>> max_pool1d(engine.ones((1, 3, 8)), 2).shape
    (1, 3, 4)
    """
    x, single = with_batch("max_pool1d", x, 1)
    kernel = ints(kernel_size, 1, "kernel_size")
    y, where = _C._max_pool2d_with_indices(
        engine.expand_dims(x, axis=2),
        (1, *kernel),
        (1, *(kernel if stride is None else ints(stride, 1, "stride"))),
        (0, *ints(padding, 1, "padding")),
        (1, *ints(dilation, 1, "dilation")),
        ceil_mode,
    )
    return _largest(y, where, single, (2,), return_indices)


@overload
def max_pool2d(
    x: Tensor,
    kernel_size: IntOrPair,
    stride: IntOrPair | None = ...,
    padding: IntOrPair = ...,
    dilation: IntOrPair = ...,
    ceil_mode: bool = ...,
    return_indices: Literal[False] = ...,
) -> Tensor: ...
@overload
def max_pool2d(
    x: Tensor,
    kernel_size: IntOrPair,
    stride: IntOrPair | None = ...,
    padding: IntOrPair = ...,
    dilation: IntOrPair = ...,
    ceil_mode: bool = ...,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]: ...
@overload
def max_pool2d(
    x: Tensor,
    kernel_size: IntOrPair,
    stride: IntOrPair | None = ...,
    padding: IntOrPair = ...,
    dilation: IntOrPair = ...,
    ceil_mode: bool = ...,
    return_indices: bool = ...,
) -> Tensor | tuple[Tensor, Tensor]: ...
def max_pool2d(
    x: Tensor,
    kernel_size: IntOrPair,
    stride: IntOrPair | None = None,
    padding: IntOrPair = 0,
    dilation: IntOrPair = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """Largest element of each window of x (N, C, H, W); NaN if there is one.

    Args:
        stride: the kernel size if None.
        ceil_mode: also windows that stick out at the end.
        return_indices: also where each lies, row * W + column as int64: max_unpool2d wants them.

    >>> max_pool2d(engine.ones((1, 3, 8, 8)), 2).shape
    (1, 3, 4, 4)
    """
    single = x.ndim == 3
    kernel = pair(kernel_size, "kernel_size")
    y, where = _C._max_pool2d_with_indices(
        engine.expand_dims(x, axis=0) if single else x,
        kernel,
        kernel if stride is None else pair(stride, "stride"),
        pair(padding, "padding"),
        pair(dilation, "dilation"),
        ceil_mode,
    )
    if single or return_indices:
        return _largest(y, where, single, (), return_indices)
    return y


@overload
def max_pool3d(
    x: Tensor,
    kernel_size: IntOrTriple,
    stride: IntOrTriple | None = ...,
    padding: IntOrTriple = ...,
    dilation: IntOrTriple = ...,
    ceil_mode: bool = ...,
    return_indices: Literal[False] = ...,
) -> Tensor: ...
@overload
def max_pool3d(
    x: Tensor,
    kernel_size: IntOrTriple,
    stride: IntOrTriple | None = ...,
    padding: IntOrTriple = ...,
    dilation: IntOrTriple = ...,
    ceil_mode: bool = ...,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]: ...
@overload
def max_pool3d(
    x: Tensor,
    kernel_size: IntOrTriple,
    stride: IntOrTriple | None = ...,
    padding: IntOrTriple = ...,
    dilation: IntOrTriple = ...,
    ceil_mode: bool = ...,
    return_indices: bool = ...,
) -> Tensor | tuple[Tensor, Tensor]: ...
def max_pool3d(
    x: Tensor,
    kernel_size: IntOrTriple,
    stride: IntOrTriple | None = None,
    padding: IntOrTriple = 0,
    dilation: IntOrTriple = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """Largest element of each window of x (N, C, D, H, W); see max_pool2d.

    >>> max_pool3d(engine.ones((1, 3, 4, 8, 8)), 2).shape
    (1, 3, 2, 4, 4)
    """
    x, single = with_batch("max_pool3d", x, 3)
    k = ints(kernel_size, 3, "kernel_size")
    s = k if stride is None else ints(stride, 3, "stride")
    p, d = ints(padding, 3, "padding"), ints(dilation, 3, "dilation")
    y, where = _C._max_pool2d_with_indices(_frames(x), k[1:], s[1:], p[1:], d[1:], ceil_mode)
    size = y.shape[2:]
    columns = _columns(y, x.shape)
    best, depth = _C._max_pool2d_with_indices(
        columns, (k[0], 1), (s[0], 1), (p[0], 0), (d[0], 1), ceil_mode
    )
    y = best.reshape((*best.shape[:3], *size))
    return _largest(y, _where3d(where, depth, x.shape, size), single, (), return_indices)


def avg_pool1d(
    x: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """Mean of each window of x (N, C, L); see avg_pool2d.

    >>> avg_pool1d(engine.ones((1, 3, 8)), 2).shape
    (1, 3, 4)
    """
    x, single = with_batch("avg_pool1d", x, 1)
    kernel = ints(kernel_size, 1, "kernel_size")
    y = _C.avg_pool2d(
        engine.expand_dims(x, axis=2),
        (1, *kernel),
        (1, *(kernel if stride is None else ints(stride, 1, "stride"))),
        (0, *ints(padding, 1, "padding")),
        ceil_mode,
        count_include_pad,
    )
    return engine.squeeze(y, (0, 2) if single else 2)


def avg_pool2d(
    x: Tensor,
    kernel_size: IntOrPair,
    stride: IntOrPair | None = None,
    padding: IntOrPair = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """Mean of each window of x (N, C, H, W).

    Args:
        stride: the kernel size if None.
        ceil_mode: also windows that stick out at the end.
        count_include_pad: whether zeros of the padding count.
        divisor_override: what to divide each sum by instead of the count.

    Raises:
        ValueError: a divisor_override of 0.

    >>> avg_pool2d(engine.ones((1, 3, 8, 8)), 2).shape
    (1, 3, 4, 4)
    """
    single = x.ndim == 3
    pictures = engine.expand_dims(x, axis=0) if single else x
    kernel = pair(kernel_size, "kernel_size")
    step = kernel if stride is None else pair(stride, "stride")
    around = pair(padding, "padding")
    if divisor_override is None:
        y = _C.avg_pool2d(pictures, kernel, step, around, ceil_mode, count_include_pad)
    else:
        _check_divisor("avg_pool2d", divisor_override)
        y = _C._sum_pool2d(pictures, kernel, step, around, ceil_mode, divisor_override)
    return engine.squeeze(y, 0) if single else y


def avg_pool3d(
    x: Tensor,
    kernel_size: IntOrTriple,
    stride: IntOrTriple | None = None,
    padding: IntOrTriple = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """Mean of each window of x (N, C, D, H, W); see avg_pool2d.

    >>> avg_pool3d(engine.ones((1, 3, 4, 8, 8)), 2).shape
    (1, 3, 2, 4, 4)
    """
    x, single = with_batch("avg_pool3d", x, 3)
    k = ints(kernel_size, 3, "kernel_size")
    s = k if stride is None else ints(stride, 3, "stride")
    p = ints(padding, 3, "padding")

    def means(
        pictures: Tensor,
        kernel: Sequence[int],
        step: Sequence[int],
        around: Sequence[int],
        divisor: int,
    ) -> Tensor:
        sizes = pair(kernel), pair(step), pair(around)
        if divisor_override is None:
            return _C.avg_pool2d(pictures, *sizes, ceil_mode, count_include_pad)
        return _C._sum_pool2d(pictures, *sizes, ceil_mode, divisor)

    if divisor_override is not None:
        _check_divisor("avg_pool3d", divisor_override)
    y = means(_frames(x), k[1:], s[1:], p[1:], 1)
    size = y.shape[2:]
    y = means(_columns(y, x.shape), (k[0], 1), (s[0], 1), (p[0], 0), divisor_override or 1)
    y = y.reshape((*y.shape[:3], *size))
    return engine.squeeze(y, 0) if single else y


def lp_pool1d(
    x: Tensor,
    norm_type: float,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """(sum of x^p)^(1/p) of each window of x (N, C, L), p = norm_type; 0 where the sum is below 0.

    >>> lp_pool1d(engine.asarray([[[3.0, 4.0]]]), 2, 2).tolist()
    [[[5.0]]]
    """
    kernel = ints(kernel_size, 1, "kernel_size")
    mean = avg_pool1d(x**norm_type, kernel, stride, 0, ceil_mode)
    return _root(mean, math.prod(kernel), norm_type)


def lp_pool2d(
    x: Tensor,
    norm_type: float,
    kernel_size: IntOrPair,
    stride: IntOrPair | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """lp_pool1d for x (N, C, H, W).

    >>> lp_pool2d(engine.ones((1, 1, 4, 4)), 2, 2).tolist()
    [[[[2.0, 2.0], [2.0, 2.0]]]]
    """
    kernel = pair(kernel_size, "kernel_size")
    mean = avg_pool2d(x**norm_type, kernel, stride, 0, ceil_mode)
    return _root(mean, math.prod(kernel), norm_type)


def lp_pool3d(
    x: Tensor,
    norm_type: float,
    kernel_size: IntOrTriple,
    stride: IntOrTriple | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """lp_pool1d for x (N, C, D, H, W).

    >>> lp_pool3d(engine.ones((1, 1, 2, 2, 2)), 1, 2).tolist()
    [[[[[8.0]]]]]
    """
    kernel = ints(kernel_size, 3, "kernel_size")
    mean = avg_pool3d(x**norm_type, kernel, stride, 0, ceil_mode)
    return _root(mean, math.prod(kernel), norm_type)


def _root(mean: Tensor, count: int, p: float) -> Tensor:
    return (engine.sign(mean) * engine.relu(engine.abs(mean)) * count) ** (1 / p)


def _check_divisor(op: str, divisor: int) -> None:
    if divisor == 0:
        raise ValueError(f"{op}: divisor_override=0; expected another number, or None")


def _frames(x: Tensor) -> Tensor:
    """(N, C, D, H, W) -> (N * D, C, H, W)."""
    n, c, d, h, w = x.shape
    return engine.permute_dims(x, (0, 2, 1, 3, 4)).reshape((n * d, c, h, w))


def _columns(frames: Tensor, shape: Sequence[int]) -> Tensor:
    """Frames (N * D, C, h, w) of x of that shape -> (N, C, D, h * w)."""
    n, c, d = shape[:3]
    h, w = frames.shape[2:]
    return engine.permute_dims(frames.reshape((n, d, c, h, w)), (0, 2, 1, 3, 4)).reshape(
        (n, c, d, h * w)
    )


def _where3d(where: Tensor, depth: Tensor, shape: Sequence[int], size: Sequence[int]) -> Tensor:
    """(d H + row) W + column of each largest value, from where it is in its frame and its column.

    Positions have no gradients, so numpy may find them.
    """
    in_frame = _columns(where, shape).to("cpu").numpy().astype(np.int64)
    frame = depth.to("cpu").numpy().astype(np.int64) // (size[0] * size[1])
    at = frame * shape[3] * shape[4] + np.take_along_axis(in_frame, frame, 2)
    at = np.ascontiguousarray(at.reshape((*at.shape[:3], *size)))
    return engine.asarray(at, device=where.device)


def _largest(
    y: Tensor, where: Tensor, single: bool, gone: tuple[int, ...], return_indices: bool
) -> Tensor | tuple[Tensor, Tensor]:
    axes = (0, *gone) if single else gone
    y = engine.squeeze(y, axes) if axes else y
    if not return_indices:
        return y
    where = where.astype(engine.int64)
    return y, engine.squeeze(where, axes) if axes else where
