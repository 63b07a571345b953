"""Norms, powers and small products of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np

import engine
from engine._C import Tensor
from engine.routines.arguments import (
    Axes,
    at_least_ndim,
    check_floating,
    check_tensor,
    exactly_ndim,
    is_complex,
    many_axes,
    one_axis,
)
from engine.routines.lapack import call, matrices, real, square


def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor:
    """A diagonal of the last two axes, as the last axis of a view.

    >>> engine.linalg.diagonal(engine.eye(2))
    Tensor([1., 1.], dtype=float32)
    """
    at_least_ndim("diagonal", x, 2)
    return engine.diagonal(x, offset, -2, -1)


def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Every product of an element of x1 (N,) and one of x2 (M,): (N, M).

    >>> engine.linalg.outer(engine.ones(2), engine.ones(3)).shape
    (2, 3)
    """
    exactly_ndim("outer", x1, 1)
    exactly_ndim("outer", x2, 1)
    return engine.expand_dims(x1, 1) * x2


def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Cross products of vectors of 3 along an axis; the other axes broadcast.

    >>> engine.linalg.cross(engine.asarray([1, 0, 0]), engine.asarray([0, 1, 0]))
    Tensor([0, 0, 1], dtype=int64)
    """
    check_tensor("cross", x1, x2)
    a, b = one_axis("cross", axis, x1.ndim), one_axis("cross", axis, x2.ndim)
    if x1.shape[a] != 3 or x2.shape[b] != 3:
        raise ValueError(
            f"cross: expected vectors of 3 along axis {axis}, got {x1.shape[a]} and {x2.shape[b]}"
        )
    u, v = engine.moveaxis(x1, a, -1), engine.moveaxis(x2, b, -1)
    parts = [u[..., i] * v[..., j] - u[..., j] * v[..., i] for i, j in ((1, 2), (2, 0), (0, 1))]
    out = engine.stack(parts, axis=-1)
    return engine.moveaxis(out, -1, axis)


def _squares(x: Tensor) -> Tensor:
    if not is_complex(x.dtype):
        return x * x
    return engine.real(x) ** 2 + engine.imag(x) ** 2


def _root(total: Tensor) -> Tensor:
    """Square root whose gradient at 0 is 0: a norm has no slope there, and no NaN either."""
    zero = total == 0
    root = engine.sqrt(engine.where(zero, engine.ones((), dtype=total.dtype), total))
    return engine.where(zero, engine.zeros((), dtype=total.dtype), root)


def vector_norm(
    x: Tensor, /, *, axis: Axes = None, keepdims: bool = False, ord: float = 2
) -> Tensor:
    """Norms of vectors over the axes named, or of all elements: sum(|x|^ord)^(1/ord).

    Args:
        ord: any number; inf and -inf for the largest and smallest |x|, 0 for how many are not 0.

    The gradient at a zero vector is 0.

    >>> engine.linalg.vector_norm(engine.asarray([3.0, 4.0]))
    Tensor(5., dtype=float32)
    """
    check_floating("vector_norm", x)
    axes = many_axes("vector_norm", axis, x.ndim)
    if ord == 2:
        return _root(engine.sum(_squares(x), axis=axes, keepdims=keepdims))
    if ord == 0:
        return engine.sum((x != 0).astype(real(x).dtype), axis=axes, keepdims=keepdims)
    size = engine.abs(x)
    if ord in (inf, -inf):
        if ord == inf and 0 in [x.shape[a] for a in axes]:
            return engine.sum(size, axis=axes, keepdims=keepdims)
        return (engine.max if ord > 0 else engine.min)(size, axis=axes, keepdims=keepdims)
    if ord == 1:
        return engine.sum(size, axis=axes, keepdims=keepdims)
    total = engine.sum(engine.pow(size, float(ord)), axis=axes, keepdims=keepdims)
    zero = total == 0 if ord > 0 else engine.zeros_like(total, dtype=engine.bool)
    root = engine.pow(engine.where(zero, engine.ones((), dtype=total.dtype), total), 1.0 / ord)
    return engine.where(zero, engine.zeros((), dtype=total.dtype), root)


def matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: float | str | None = "fro") -> Tensor:
    """Norms of matrices, the last two axes.

    Args:
        ord: "fro" (or None) the root of the sum of squares, "nuc" the sum of singular values, 2
            and -2 the largest and smallest of them, 1 and -1 the largest and smallest sum of |x|
            of a column, inf and -inf of a row.

    >>> engine.linalg.matrix_norm(engine.ones((2, 2)))
    Tensor(2., dtype=float32)
    """
    check_floating("matrix_norm", x)
    at_least_ndim("matrix_norm", x, 2)
    if ord in ("fro", None):
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    if ord in ("nuc", 2, -2):
        values = engine.linalg.svdvals(x)
        if ord == "nuc":
            y = engine.sum(values, axis=-1)
        elif ord == 2 and values.shape[-1] == 0:
            y = engine.sum(values, axis=-1)
        else:
            y = (engine.max if ord == 2 else engine.min)(values, axis=-1)
        return engine.reshape(y, (*y.shape, 1, 1)) if keepdims else y
    if ord not in (1, -1, inf, -inf):
        raise ValueError(
            f"matrix_norm: ord is {ord!r}; expected 'fro', 'nuc', or 1, 2, inf with either sign"
        )
    summed, kept = (-2, -1) if abs(ord) == 1 else (-1, -2)  # type: ignore[arg-type]
    sums = engine.sum(engine.abs(x), axis=summed, keepdims=True)
    if ord > 0 and sums.shape[kept] == 0:  # type: ignore[operator]
        return engine.sum(sums, axis=(-2, -1), keepdims=keepdims)
    reduce = engine.max if ord > 0 else engine.min  # type: ignore[operator]
    return reduce(sums, axis=(-2, -1), keepdims=keepdims)


def norm(
    x: Tensor, /, *, axis: Axes = None, keepdims: bool = False, ord: float | str | None = None
) -> Tensor:
    """numpy's norm: of all elements; of vectors over one axis (vector_norm); of matrices over two,
    or if x has two and ord is given (matrix_norm).

    >>> engine.linalg.norm(engine.asarray([3.0, 4.0]))
    Tensor(5., dtype=float32)
    """
    check_floating("norm", x)
    if ord is None:
        return vector_norm(x, axis=axis, keepdims=keepdims)
    axes = many_axes("norm", axis, x.ndim)
    if len(axes) == 1:
        if isinstance(ord, str):
            raise ValueError(f"norm: ord {ord!r} is for matrices, axis {axis} names vectors")
        return vector_norm(x, axis=axes, keepdims=keepdims, ord=ord)
    if len(axes) != 2:
        raise ValueError(f"norm: ord {ord!r} needs one or two axes, got {len(axes)}")
    y = matrix_norm(engine.moveaxis(x, axes, (-2, -1)), ord=ord)
    if keepdims:
        y = engine.reshape(y, [1 if a in axes else n for a, n in enumerate(x.shape)])
    return y


def matrix_power(x: Tensor, n: int, /) -> Tensor:
    """Square matrices times themselves, n factors; the identity for 0, of the inverse below.

    >>> engine.linalg.matrix_power(engine.asarray([[1.0, 1.0], [0.0, 1.0]]), 3)[0, 1]
    Tensor(3., dtype=float32)
    """
    check_tensor("matrix_power", x)
    at_least_ndim("matrix_power", x, 2)
    if x.shape[-1] != x.shape[-2]:
        raise ValueError(f"matrix_power: expected square matrices, got shape {x.shape}")
    if n == 0:
        return engine.broadcast_to(
            engine.eye(x.shape[-1], dtype=x.dtype, device=x.device), x.shape
        ).clone()
    if n < 0:
        x, n = engine.linalg.inv(x), -n
    result: Tensor | None = None
    while n:
        if n % 2:
            result = x if result is None else engine.matmul(result, x)
        n //= 2
        if n:
            x = engine.matmul(x, x)
    assert result is not None
    return result


def matrix_rank(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """How many singular values of each matrix exceed rtol times its largest: int64.

    Args:
        rtol: max(m, n) times the dtype's precision by default.

    >>> engine.linalg.matrix_rank(engine.ones((2, 2)))
    Tensor(1, dtype=int64)
    """
    wide = matrices("matrix_rank", x)
    values = call("matrix_rank", np.linalg.svd, wide, compute_uv=False)
    if values.shape[-1] == 0:
        return engine.zeros(values.shape[:-1], dtype=engine.int64)
    if rtol is None:
        rtol = max(wide.shape[-2:]) * float(np.finfo(values.dtype).eps)
    limit = np.asarray(rtol.detach().numpy() if isinstance(rtol, Tensor) else rtol)
    count = (values > values.max(axis=-1, keepdims=True) * limit[..., None]).sum(axis=-1)
    return engine.asarray(np.asarray(count, np.int64))


def cond(x: Tensor, /, *, ord: float | str | None = None) -> Tensor:
    """Condition numbers: the norm of a matrix times that of its inverse; for ord None or 2 the
    largest singular value divided by the smallest.

    >>> engine.linalg.cond(engine.eye(2))
    Tensor(1., dtype=float32)
    """
    if ord in (None, 2):
        values = engine.linalg.svdvals(x)
        return values[..., 0] / values[..., -1]
    return matrix_norm(x, ord=ord) * matrix_norm(engine.linalg.inv(x), ord=ord)


def multi_dot(arrays: Sequence[Tensor], /) -> Tensor:
    """The product of several matrices, bracketed for the fewest multiplications (Cormen et al.,
    "Introduction to Algorithms", matrix-chain multiplication). The first and last may be vectors.

    >>> engine.linalg.multi_dot([engine.ones((2, 3)), engine.ones((3, 4)), engine.ones(4)]).shape
    (2,)
    """
    tensors = list(arrays)
    if len(tensors) < 2:
        raise ValueError(f"multi_dot: expected at least two tensors, got {len(tensors)}")
    first, last = tensors[0].ndim == 1, tensors[-1].ndim == 1
    if first:
        tensors[0] = engine.expand_dims(tensors[0], 0)
    if last:
        tensors[-1] = engine.expand_dims(tensors[-1], 1)
    for t in tensors:
        exactly_ndim("multi_dot", t, 2)
    n = len(tensors)
    sizes = [tensors[0].shape[0], *(t.shape[1] for t in tensors)]
    cost = [[0] * n for _ in range(n)]
    cut = [[0] * n for _ in range(n)]
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length - 1
            cost[i][j], cut[i][j] = min(
                (cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                for k in range(i, j)
            )

    def product(i: int, j: int) -> Tensor:
        if i == j:
            return tensors[i]
        return engine.matmul(product(i, cut[i][j]), product(cut[i][j] + 1, j))

    y = product(0, n - 1)
    if first:
        y = engine.squeeze(y, 0)
    return engine.squeeze(y, -1) if last else y


def matrix_exp(x: Tensor, /) -> Tensor:
    """The exponential of square matrices, sum(x^k / k!): scaled by a power of two to a norm below
    1/2, summed to degree 18, and squared again (Moler and Van Loan, "Nineteen dubious ways to
    compute the exponential of a matrix", 2003, method 3).

    >>> engine.linalg.matrix_exp(engine.zeros((2, 2)))[0, 0]
    Tensor(1., dtype=float32)
    """
    wide = square("matrix_exp", x)
    size = np.abs(wide.detach().numpy()).sum(axis=-1).max(initial=0.0)
    squarings = max(0, int(np.ceil(np.log2(max(float(size), 1e-300)))) + 1)
    if not np.isfinite(size):
        raise ValueError("matrix_exp: expected finite numbers")
    a = wide / float(2**squarings)
    unit = engine.eye(a.shape[-1], dtype=a.dtype, device=a.device)
    y = unit + a / 18.0
    for k in range(17, 0, -1):
        y = unit + engine.matmul(a, y) / float(k)
    for _ in range(squarings):
        y = engine.matmul(y, y)
    return y.astype(x.dtype)
