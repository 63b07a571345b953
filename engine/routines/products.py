"""Sums of products: contractions and distances."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

import engine
from engine._C import Tensor
from engine.routines.arguments import (
    at_least_ndim,
    check_floating,
    check_tensor,
    exactly_ndim,
    is_complex,
    many_axes,
    one_axis,
)


def tensordot(
    x1: Tensor, x2: Tensor, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2
) -> Tensor:
    """Sums of products over pairs of axes: the last `axes` of x1 with the first of x2, or those
    named. The result has the other axes of x1, then those of x2.

    Raises ValueError where paired axes differ in size.

    >>> engine.tensordot(engine.ones((2, 3)), engine.ones((3, 4)), axes=1).shape
    (2, 4)
    """
    check_tensor("tensordot", x1, x2)
    if isinstance(axes, int):
        if not 0 <= axes <= min(x1.ndim, x2.ndim):
            raise ValueError(f"tensordot: no {axes} axes to pair in {x1.shape} and {x2.shape}")
        first, second = tuple(range(x1.ndim - axes, x1.ndim)), tuple(range(axes))
    else:
        first = many_axes("tensordot", axes[0], x1.ndim)
        second = many_axes("tensordot", axes[1], x2.ndim)
    sizes = [x1.shape[a] for a in first]
    if sizes != [x2.shape[a] for a in second]:
        raise ValueError(
            f"tensordot: axes {first} of {x1.shape} and {second} of {x2.shape} do not fit"
        )
    rows = [a for a in range(x1.ndim) if a not in first]
    columns = [a for a in range(x2.ndim) if a not in second]
    head, tail = [x1.shape[a] for a in rows], [x2.shape[a] for a in columns]
    left = engine.reshape(engine.permute_dims(x1, (*rows, *first)), (prod(head), prod(sizes)))
    right = engine.reshape(engine.permute_dims(x2, (*second, *columns)), (prod(sizes), prod(tail)))
    return engine.reshape(engine.matmul(left, right), (*head, *tail))


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Dot products along an axis, x1 conjugated if complex; the other axes broadcast.

    Args:
        axis: counted from the end in both, so negative; or from the front if they have as many
            dimensions.

    >>> engine.vecdot(engine.asarray([1, 2]), engine.asarray([3, 4]))
    Tensor(11, dtype=int64)
    """
    check_tensor("vecdot", x1, x2)
    a, b = one_axis("vecdot", axis, x1.ndim), one_axis("vecdot", axis, x2.ndim)
    if x1.shape[a] != x2.shape[b]:
        raise ValueError(
            f"vecdot: axis {axis} of {x1.shape} has size {x1.shape[a]}, of {x2.shape} {x2.shape[b]}"
        )
    first, second = engine.moveaxis(x1, a, -1), engine.moveaxis(x2, b, -1)
    if is_complex(first.dtype):
        first = engine.conj(first)
    products = first * second
    return engine.sum(products, axis=-1, dtype=products.dtype)


def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Every product of an element of x1 and one of x2, both flattened: (N, M).

    >>> engine.outer(engine.asarray([1, 2]), engine.asarray([3, 4, 5])).shape
    (2, 3)
    """
    check_tensor("outer", x1, x2)
    return engine.reshape(x1, (-1, 1)) * engine.reshape(x2, (1, -1))


def inner(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Sums of products over the last axis of both; with a number the product.

    >>> engine.inner(engine.ones((2, 3)), engine.ones((4, 3))).shape
    (2, 4)
    """
    check_tensor("inner", x1, x2)
    if x1.ndim == 0 or x2.ndim == 0:
        return x1 * x2
    return tensordot(x1, x2, axes=((-1,), (-1,)))


def dot(x1: Tensor, x2: Tensor, /) -> Tensor:
    """numpy's dot: the product for a number, else sums over the last axis of x1 and the
    last but one of x2 (its only one, if a vector).

    >>> engine.dot(engine.asarray([1, 2]), engine.asarray([3, 4]))
    Tensor(11, dtype=int64)
    """
    check_tensor("dot", x1, x2)
    if x1.ndim == 0 or x2.ndim == 0:
        return x1 * x2
    return tensordot(x1, x2, axes=((-1,), (-min(2, x2.ndim),)))


def mv(x: Tensor, v: Tensor, /) -> Tensor:
    """Matrix (N, M) times vector (M,).

    >>> engine.mv(engine.ones((2, 3)), engine.ones(3)).shape
    (2,)
    """
    exactly_ndim("mv", x, 2)
    exactly_ndim("mv", v, 1)
    return engine.matmul(x, v)


def mm(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Matrix (N, K) times matrix (K, M).

    >>> engine.mm(engine.ones((2, 3)), engine.ones((3, 4))).shape
    (2, 4)
    """
    exactly_ndim("mm", x1, 2)
    exactly_ndim("mm", x2, 2)
    return engine.matmul(x1, x2)


def bmm(x1: Tensor, x2: Tensor, /) -> Tensor:
    """A batch of matrices (B, N, K) times a batch (B, K, M).

    >>> engine.bmm(engine.ones((5, 2, 3)), engine.ones((5, 3, 4))).shape
    (5, 2, 4)
    """
    exactly_ndim("bmm", x1, 3)
    exactly_ndim("bmm", x2, 3)
    if x1.shape[0] != x2.shape[0]:
        raise ValueError(f"bmm: batches of {x1.shape[0]} and {x2.shape[0]} matrices")
    return engine.matmul(x1, x2)


def _plus(x: Tensor, product: Tensor, alpha: float, beta: float) -> Tensor:
    product = product if alpha == 1 else product * alpha
    return product if beta == 0 else (x if beta == 1 else x * beta) + product


def addmm(x: Tensor, x1: Tensor, x2: Tensor, /, *, alpha: float = 1, beta: float = 1) -> Tensor:
    """beta * x + alpha * (x1 @ x2) for matrices; with beta 0 x is not read.

    >>> engine.addmm(engine.zeros(4), engine.ones((2, 3)), engine.ones((3, 4))).shape
    (2, 4)
    """
    return _plus(x, mm(x1, x2), alpha, beta)


def addmv(x: Tensor, matrix: Tensor, v: Tensor, /, *, alpha: float = 1, beta: float = 1) -> Tensor:
    """beta * x + alpha * (matrix @ v); with beta 0 x is not read.

    >>> engine.addmv(engine.zeros(2), engine.ones((2, 3)), engine.ones(3)).shape
    (2,)
    """
    return _plus(x, mv(matrix, v), alpha, beta)


def baddbmm(x: Tensor, x1: Tensor, x2: Tensor, /, *, alpha: float = 1, beta: float = 1) -> Tensor:
    """beta * x + alpha * (x1 @ x2) for batches of matrices; with beta 0 x is not read.

    >>> engine.baddbmm(engine.zeros(4), engine.ones((5, 2, 3)), engine.ones((5, 3, 4))).shape
    (5, 2, 4)
    """
    return _plus(x, bmm(x1, x2), alpha, beta)


def kron(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Kronecker product: a copy of x2 for each element of x1, times it.

    >>> engine.kron(engine.ones((2, 2)), engine.ones((3, 1))).shape
    (6, 2)
    """
    check_tensor("kron", x1, x2)
    n = max(x1.ndim, x2.ndim)
    a, b = (1,) * (n - x1.ndim) + x1.shape, (1,) * (n - x2.ndim) + x2.shape
    left = engine.reshape(x1, [v for s in a for v in (s, 1)])
    right = engine.reshape(x2, [v for s in b for v in (1, s)])
    return engine.reshape(left * right, [s * t for s, t in zip(a, b, strict=True)])


# ---- einsum -------------------------------------------------------------------------------------


def _parse(equation: str, operands: Sequence[Tensor]) -> tuple[list[list[str]], list[str]]:
    """Labels of each operand's axes and of the result's; those under an ellipsis are numbers,
    counted from the last axis so that they broadcast."""
    text = equation.replace(" ", "")
    given, arrow, wanted = text.partition("->")
    terms = given.split(",")
    if len(terms) != len(operands):
        raise ValueError(f"einsum: {equation!r} has {len(terms)} terms for {len(operands)} tensors")
    widest = 0
    labels: list[list[str]] = []
    for term, t in zip(terms, operands, strict=True):
        head, dots, tail = term.partition("...")
        names = head + tail
        if not all(c.isascii() and c.isalpha() for c in names):
            raise ValueError(f"einsum: {term!r} in {equation!r} may hold letters and one '...'")
        hidden = t.ndim - len(names)
        if hidden < 0 or (hidden > 0 and not dots):
            raise ValueError(f"einsum: {term!r} does not fit a tensor of shape {t.shape}")
        widest = max(widest, hidden)
        labels.append([*head, *(str(i) for i in range(hidden - 1, -1, -1)), *tail])
    dotted = [str(i) for i in range(widest - 1, -1, -1)]
    if arrow:
        head, dots, tail = wanted.partition("...")
        out = [*head, *(dotted if dots else []), *tail]
    else:
        every = [c for names in labels for c in names]
        out = dotted + sorted(c for c in set(every) if c.isalpha() and every.count(c) == 1)
    known = {c for names in labels for c in names}
    if len(set(out)) != len(out) or not set(out) <= known:
        raise ValueError(
            f"einsum: the result {wanted!r} of {equation!r} repeats or invents a label"
        )
    return labels, out


def _without_repeats(t: Tensor, labels: list[str]) -> tuple[Tensor, list[str]]:
    """Axes of one label become their diagonal."""
    names = list(labels)
    while len(set(names)) < len(names):
        c = next(c for c in names if names.count(c) > 1)
        first = names.index(c)
        second = names.index(c, first + 1)
        if t.shape[first] != t.shape[second]:
            raise ValueError(
                f"einsum: label {c!r} has sizes {t.shape[first]} and {t.shape[second]}"
            )
        t = engine.diagonal(t, 0, first, second)
        names = [*names[:first], *names[first + 1 : second], *names[second + 1 :], c]
    return t, names


def _sum_over(t: Tensor, names: list[str], drop: set[str]) -> tuple[Tensor, list[str]]:
    axes = tuple(i for i, c in enumerate(names) if c in drop)
    if axes:
        t = engine.sum(t, axis=axes, dtype=t.dtype)
    return t, [c for c in names if c not in drop]


def _pair(
    a: Tensor, la: list[str], b: Tensor, lb: list[str], keep: set[str]
) -> tuple[Tensor, list[str]]:
    """Two operands contracted over what only they need: one batched matrix product."""
    a, la = _sum_over(a, la, set(la) - set(lb) - keep)
    b, lb = _sum_over(b, lb, set(lb) - set(la) - keep)
    sizes = {c: max(n, m) for c, n, m in
             ((c, dict(zip(la, a.shape, strict=True)).get(c, 1),
               dict(zip(lb, b.shape, strict=True)).get(c, 1)) for c in {*la, *lb})}  # fmt: skip
    for t, names in ((a, la), (b, lb)):
        for c, n in zip(names, t.shape, strict=True):
            if n == 0:
                sizes[c] = 0
    for t, names in ((a, la), (b, lb)):
        for c, n in zip(names, t.shape, strict=True):
            if n not in (sizes[c], 1):
                raise ValueError(f"einsum: label {c!r} has sizes {n} and {sizes[c]}")
    batch = [c for c in la if c in lb and c in keep]
    both = [c for c in la if c in lb and c not in keep]
    rows = [c for c in la if c not in lb]
    columns = [c for c in lb if c not in la]

    def arranged(t: Tensor, names: list[str], order: list[str], groups: list[list[str]]) -> Tensor:
        t = engine.permute_dims(t, [names.index(c) for c in order])
        t = engine.broadcast_to(t, [sizes[c] for c in order])
        return engine.reshape(t, [prod(sizes[c] for c in group) for group in groups])

    left = arranged(a, la, [*batch, *rows, *both], [batch, rows, both])
    right = arranged(b, lb, [*batch, *both, *columns], [batch, both, columns])
    names = [*batch, *rows, *columns]
    return engine.reshape(engine.matmul(left, right), [sizes[c] for c in names]), names


def einsum(equation: str, *operands: Tensor) -> Tensor:
    """Sums of products in Einstein's notation: a letter an axis, letters missing from the result
    summed over, '...' for axes that broadcast; without '->' the letters that occur once, in
    alphabetical order.

    Several operands are contracted pair by pair, in the order numpy's path finder picks, each pair
    as one batched matrix product. Raises ValueError where letters and shapes do not fit.

    >>> engine.einsum("bij,bjk->bik", engine.ones((5, 2, 3)), engine.ones((5, 3, 4))).shape
    (5, 2, 4)
    """
    if not operands:
        raise ValueError("einsum: expected at least one tensor")
    check_tensor("einsum", *operands)
    labels, out = _parse(equation, operands)
    terms = [_without_repeats(t, names) for t, names in zip(operands, labels, strict=True)]
    path = [(0, 1)] * (len(terms) - 1)
    if len(terms) > 2:
        letters = {c: i for i, c in enumerate(dict.fromkeys(c for n in labels for c in n))}
        plan = [v for t, names in terms
                for v in (np.broadcast_to(0.0, t.shape), [letters[c] for c in names])]  # fmt: skip
        path = np.einsum_path(*plan, [letters[c] for c in out], optimize="greedy")[0][1:]
    for step in path:
        pair = [terms.pop(i) for i in sorted(step, reverse=True)]
        while len(pair) > 1:
            (b, lb), (a, la) = pair.pop(0), pair.pop(0)
            keep = {*out, *(c for _, names in (*terms, *pair) for c in names)}
            pair.insert(0, _pair(a, la, b, lb, keep))
        terms.append(pair[0])
    t, names = _sum_over(*terms[0], set(terms[0][1]) - set(out))
    return engine.permute_dims(t, [names.index(c) for c in out])


# ---- distances ----------------------------------------------------------------------------------


def cdist(x1: Tensor, x2: Tensor, /, *, p: float = 2.0) -> Tensor:
    """Distances between every row of x1 (..., N, D) and every row of x2 (..., M, D): (..., N, M).

    Args:
        p: the norm's order, at least 0; inf for the largest difference.

    Equal rows have gradient 0.

    >>> engine.cdist(engine.zeros((2, 3)), engine.ones((4, 3))).shape
    (2, 4)
    """
    check_floating("cdist", x1)
    check_floating("cdist", x2)
    at_least_ndim("cdist", x1, 2)
    at_least_ndim("cdist", x2, 2)
    if x1.shape[-1] != x2.shape[-1]:
        raise ValueError(f"cdist: rows of {x1.shape[-1]} and {x2.shape[-1]} values")
    if p < 0:
        raise ValueError(f"cdist: p is {p}; expected at least 0")
    apart = engine.expand_dims(x1, -2) - engine.expand_dims(x2, -3)
    return engine.linalg.vector_norm(apart, axis=-1, ord=p)


def pairwise_distance(
    x1: Tensor, x2: Tensor, /, *, p: float = 2.0, eps: float = 1e-6, keepdims: bool = False
) -> Tensor:
    """The norm of x1 - x2 + eps along the last axis; the others broadcast.

    >>> engine.pairwise_distance(engine.zeros((2, 3)), engine.ones((2, 3))).shape
    (2,)
    """
    check_floating("pairwise_distance", x1)
    check_floating("pairwise_distance", x2)
    return engine.linalg.vector_norm(x1 - x2 + eps, axis=-1, ord=p, keepdims=keepdims)
