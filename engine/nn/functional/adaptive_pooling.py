"""Pooling to a given size, and undoing max pooling."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, overload

import engine
from engine import _C, Tensor
from engine.nn.functional.beside import beside_input
from engine.nn.functional.pooling import _columns, _frames, _largest, _where3d
from engine.nn.functional.sizes import AXES, ints, with_batch

Size = int | None | Sequence[int | None]


def _output_size(value: Size, x: Tensor, axes: int) -> Any:
    """As many ints as axes; None stands for "as it is"."""
    many = (value,) * axes if isinstance(value, int) or value is None else tuple(value)
    if len(many) != axes:
        raise ValueError(f"output_size: expected an int or {AXES[axes]}, got {value!r}")
    own = x.shape[-axes:]
    return tuple(int(n) if v is None else int(v) for v, n in zip(many, own, strict=True))


def adaptive_avg_pool1d(x: Tensor, output_size: Size) -> Tensor:
    """Means of x (N, C, L) over output_size windows that cover it evenly.

    >>> adaptive_avg_pool1d(engine.ones((1, 3, 7)), 2).shape
    (1, 3, 2)
    """
    x, single = with_batch("adaptive_avg_pool1d", x, 1)
    size = _output_size(output_size, x, 1)
    y = _C.adaptive_avg_pool2d(engine.expand_dims(x, axis=2), (1, *size))
    return engine.squeeze(y, (0, 2) if single else 2)


def adaptive_avg_pool2d(x: Tensor, output_size: Size) -> Tensor:
    """Means of x (N, C, H, W) over output_size windows that cover it evenly.

    Args:
        output_size: rows and columns; None keeps as many as x has.

    >>> adaptive_avg_pool2d(engine.ones((1, 3, 7, 5)), 1).shape
    (1, 3, 1, 1)
    """
    single = x.ndim == 3
    size = _output_size(output_size, x, 2)
    y = _C.adaptive_avg_pool2d(engine.expand_dims(x, axis=0) if single else x, size)
    return engine.squeeze(y, 0) if single else y


def adaptive_avg_pool3d(x: Tensor, output_size: Size) -> Tensor:
    """Means of x (N, C, D, H, W) over output_size windows that cover it evenly.

    >>> adaptive_avg_pool3d(engine.ones((1, 3, 4, 7, 5)), (2, 1, 1)).shape
    (1, 3, 2, 1, 1)
    """
    x, single = with_batch("adaptive_avg_pool3d", x, 3)
    depth, rows, columns = _output_size(output_size, x, 3)
    y = _C.adaptive_avg_pool2d(_frames(x), (rows, columns))
    y = _C.adaptive_avg_pool2d(_columns(y, x.shape), (depth, rows * columns))
    y = y.reshape((*y.shape[:3], rows, columns))
    return engine.squeeze(y, 0) if single else y


@overload
def adaptive_max_pool1d(
    x: Tensor,
    output_size: Size,
    return_indices: Literal[False] = ...,
) -> Tensor: ...
@overload
def adaptive_max_pool1d(
    x: Tensor,
    output_size: Size,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]: ...
@overload
def adaptive_max_pool1d(
    x: Tensor,
    output_size: Size,
    return_indices: bool = ...,
) -> Tensor | tuple[Tensor, Tensor]: ...
def adaptive_max_pool1d(
    x: Tensor, output_size: Size, return_indices: bool = False
) -> Tensor | tuple[Tensor, Tensor]:
    """Largest elements of x (N, C, L) over output_size windows; see adaptive_max_pool2d.

    >>> adaptive_max_pool1d(engine.ones((1, 3, 7)), 2).shape
    (1, 3, 2)
    """
    x, single = with_batch("adaptive_max_pool1d", x, 1)
    size = _output_size(output_size, x, 1)
    y, where = _C._adaptive_max_pool2d(engine.expand_dims(x, axis=2), (1, *size))
    return _largest(y, where, single, (2,), return_indices)


@overload
def adaptive_max_pool2d(
    x: Tensor,
    output_size: Size,
    return_indices: Literal[False] = ...,
) -> Tensor: ...
@overload
def adaptive_max_pool2d(
    x: Tensor,
    output_size: Size,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]: ...
@overload
def adaptive_max_pool2d(
    x: Tensor,
    output_size: Size,
    return_indices: bool = ...,
) -> Tensor | tuple[Tensor, Tensor]: ...
def adaptive_max_pool2d(
    x: Tensor, output_size: Size, return_indices: bool = False
) -> Tensor | tuple[Tensor, Tensor]:
    """Largest elements of x (N, C, H, W) over output_size windows that cover it evenly.

    Args:
        return_indices: also where each lies, row * W + column as int64.

    >>> adaptive_max_pool2d(engine.ones((1, 3, 7, 5)), (2, 2)).shape
    (1, 3, 2, 2)
    """
    x, single = with_batch("adaptive_max_pool2d", x, 2)
    y, where = _C._adaptive_max_pool2d(x, _output_size(output_size, x, 2))
    return _largest(y, where, single, (), return_indices)


@overload
def adaptive_max_pool3d(
    x: Tensor,
    output_size: Size,
    return_indices: Literal[False] = ...,
) -> Tensor: ...
@overload
def adaptive_max_pool3d(
    x: Tensor,
    output_size: Size,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]: ...
@overload
def adaptive_max_pool3d(
    x: Tensor,
    output_size: Size,
    return_indices: bool = ...,
) -> Tensor | tuple[Tensor, Tensor]: ...
def adaptive_max_pool3d(
    x: Tensor, output_size: Size, return_indices: bool = False
) -> Tensor | tuple[Tensor, Tensor]:
    """Largest elements of x (N, C, D, H, W) over output_size windows; see adaptive_max_pool2d.

    >>> adaptive_max_pool3d(engine.ones((1, 3, 4, 7, 5)), 1).shape
    (1, 3, 1, 1, 1)
    """
    x, single = with_batch("adaptive_max_pool3d", x, 3)
    depth, rows, columns = _output_size(output_size, x, 3)
    y, where = _C._adaptive_max_pool2d(_frames(x), (rows, columns))
    best, at = _C._adaptive_max_pool2d(_columns(y, x.shape), (depth, rows * columns))
    y = best.reshape((*best.shape[:3], rows, columns))
    where = _where3d(where, at, x.shape, (rows, columns))
    return _largest(y, where, single, (), return_indices)


def _max_unpool(
    op: str,
    x: Tensor,
    indices: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None,
    padding: int | Sequence[int],
    output_size: Sequence[int] | None,
    axes: int,
) -> Tensor:
    if indices.shape != x.shape:
        raise ValueError(f"{op}: x has shape {x.shape}, indices {indices.shape}; expected the same")
    kernel = ints(kernel_size, axes, "kernel_size")
    step = kernel if stride is None else ints(stride, axes, "stride")
    around = ints(padding, axes, "padding")
    batch = x.shape[:-axes]
    size = [
        (n - 1) * s - 2 * p + k
        for n, s, p, k in zip(x.shape[-axes:], step, around, kernel, strict=True)
    ]
    if output_size is not None:
        wanted = [int(n) for n in output_size][-axes:]
        near = zip(wanted, size, step, strict=True)
        if len(wanted) != axes or any(abs(n - given) >= s for n, given, s in near):
            raise ValueError(
                f"{op}: output_size {tuple(output_size)}, expected less than the stride away from "
                f"{tuple(size)}"
            )
        size = wanted
    rows = math.prod(batch)
    out = engine.zeros((rows, math.prod(size)), dtype=x.dtype)
    each = engine.arange(rows).reshape((rows, 1))
    out[each, indices.reshape((rows, -1))] = x.reshape((rows, -1))
    return out.reshape((*batch, *size))


@beside_input
def max_unpool1d(
    x: Tensor,
    indices: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Puts the values of max_pool1d(..., return_indices=True) back, zeros elsewhere.

    >>> max_unpool1d(engine.ones((1, 1, 2)), engine.asarray([[[1, 2]]]), 2).tolist()
    [[[0.0, 1.0, 1.0, 0.0]]]
    """
    return _max_unpool("max_unpool1d", x, indices, kernel_size, stride, padding, output_size, 1)


@beside_input
def max_unpool2d(
    x: Tensor,
    indices: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Puts the values of max_pool2d(..., return_indices=True) back, zeros elsewhere (Zeiler and
    Fergus, arXiv:1311.2901).

    Args:
        output_size: rows and columns of the result, where several sizes give pictures like x.

    Raises:
        ValueError: indices of another shape than x, or an output_size that pooling does not allow.
        IndexError: an index outside the result.

    >>> max_unpool2d(engine.ones((1, 1, 1, 1)), engine.asarray([[[[3]]]]), 2).tolist()
    [[[[0.0, 0.0], [0.0, 1.0]]]]
    """
    return _max_unpool("max_unpool2d", x, indices, kernel_size, stride, padding, output_size, 2)


@beside_input
def max_unpool3d(
    x: Tensor,
    indices: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Puts the values of max_pool3d(..., return_indices=True) back, zeros elsewhere.

    >>> max_unpool3d(engine.ones((1, 1, 1, 1, 1)), engine.asarray([[[[[7]]]]]), 2).shape
    (1, 1, 2, 2, 2)
    """
    return _max_unpool("max_unpool3d", x, indices, kernel_size, stride, padding, output_size, 3)
