"""Moving axes and elements without changing them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

import engine
from engine._C import Tensor
from engine.routines.arguments import (
    Axes,
    at_least_ndim,
    check_tensor,
    exactly_ndim,
    many_axes,
    one_axis,
)


def moveaxis(x: Tensor, source: int | Sequence[int], destination: int | Sequence[int], /) -> Tensor:
    """The axes `source` moved to the places `destination`, the others in their order; a view.

    Raises ValueError if the two differ in length or name an axis twice.

    >>> engine.moveaxis(engine.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    check_tensor("moveaxis", x)
    sources = many_axes("moveaxis", source, x.ndim)
    places = many_axes("moveaxis", destination, x.ndim)
    if len(sources) != len(places):
        raise ValueError(
            f"moveaxis: {len(sources)} axes {source} for {len(places)} places {destination}"
        )
    order = [a for a in range(x.ndim) if a not in sources]
    for place, axis in sorted(zip(places, sources, strict=True)):
        order.insert(place, axis)
    return engine.permute_dims(x, order)


def movedim(x: Tensor, source: int | Sequence[int], destination: int | Sequence[int], /) -> Tensor:
    """moveaxis under PyTorch's name.

    >>> engine.movedim(engine.zeros((2, 3)), 0, 1).shape
    (3, 2)
    """
    return moveaxis(x, source, destination)


def swapdims(x: Tensor, axis1: int, axis2: int, /) -> Tensor:
    """swapaxes under PyTorch's name: two axes exchanged, as a view.

    >>> engine.swapdims(engine.zeros((2, 3)), 0, 1).shape
    (3, 2)
    """
    return engine.swapaxes(x, axis1, axis2)


def matrix_transpose(x: Tensor, /) -> Tensor:
    """The last two axes exchanged, as a view. Raises ValueError below 2 dimensions.

    >>> engine.matrix_transpose(engine.zeros((5, 2, 3))).shape
    (5, 3, 2)
    """
    at_least_ndim("matrix_transpose", x, 2)
    return engine.swapaxes(x, -1, -2)


def repeat(x: Tensor, repeats: int | Tensor, /, *, axis: int | None = None) -> Tensor:
    """Each element several times in a row along an axis; x is flattened first if axis is None.

    Args:
        repeats: how often, at least 0: one number, or a 1-d integer tensor of one per element.

    >>> engine.repeat(engine.asarray([1, 2]), 2)
    Tensor([1, 1, 2, 2], dtype=int64)
    """
    check_tensor("repeat", x)
    if axis is None:
        x, axis = engine.reshape(x, (-1,)), 0
    axis = one_axis("repeat", axis, x.ndim)
    n = x.shape[axis]
    if isinstance(repeats, Tensor):
        counts = np.atleast_1d(repeats.detach().to("cpu").numpy())
        if counts.ndim != 1 or counts.dtype.kind not in "iu" or counts.size not in (1, n):
            raise ValueError(
                f"repeat: expected one integer or {n} of them for axis {axis} of shape {x.shape}, "
                f"got {repeats.dtype} of shape {repeats.shape}"
            )
        if counts.size and counts.min() < 0:
            raise ValueError(f"repeat: counts must not be negative, got {counts.min()}")
        if counts.size == 1:
            return repeat(x, int(counts[0]), axis=axis)
        return engine.take(
            x, engine.asarray(np.repeat(np.arange(n), counts), device=x.device), axis=axis
        )
    if repeats < 0:
        raise ValueError(f"repeat: counts must not be negative, got {repeats}")
    head, tail = x.shape[: axis + 1], x.shape[axis + 1 :]
    wide = engine.broadcast_to(engine.expand_dims(x, axis + 1), (*head, repeats, *tail))
    return engine.reshape(wide, (*head[:-1], n * repeats, *tail), copy=True)


def roll(x: Tensor, /, shift: int | Sequence[int], *, axis: Axes = None) -> Tensor:
    """Elements moved by `shift` places along axes, those pushed out coming in again at the other
    end; along the flattened tensor if axis is None.

    Raises ValueError unless there is one shift, or one an axis.

    >>> engine.roll(engine.asarray([1, 2, 3]), 1)
    Tensor([3, 1, 2], dtype=int64)
    """
    check_tensor("roll", x)
    shifts = [shift] if isinstance(shift, int) else list(shift)
    if axis is None:
        flat = engine.reshape(x, (-1,))
        return engine.reshape(roll(flat, sum(shifts), axis=0), x.shape)
    axes = [axis] if isinstance(axis, int) else list(axis)
    if len(shifts) == 1:
        shifts = shifts * len(axes)
    if len(axes) == 1:
        axes = axes * len(shifts)
    if len(shifts) != len(axes):
        raise ValueError(f"roll: {len(shifts)} shifts {shift} for {len(axes)} axes {axis}")
    moved = False
    for by, a in zip(shifts, axes, strict=True):
        a = one_axis("roll", a, x.ndim)
        n = x.shape[a]
        cut = (n - by) % n if n else 0
        if cut:
            x = engine.concat([narrow(x, a, cut, n - cut), narrow(x, a, 0, cut)], axis=a)
            moved = True
    return x if moved else x.clone()


def tile(x: Tensor, repetitions: Sequence[int], /) -> Tensor:
    """x laid out several times along each axis. The shorter of shape and repetitions is filled up
    with ones in front.

    >>> engine.tile(engine.asarray([1, 2]), (2, 2)).shape
    (2, 4)
    """
    check_tensor("tile", x)
    counts = (repetitions,) if isinstance(repetitions, int) else tuple(repetitions)
    if any(r < 0 for r in counts):
        raise ValueError(f"tile: repetitions must not be negative, got {counts}")
    ndim = max(len(counts), x.ndim)
    counts = (1,) * (ndim - len(counts)) + counts
    shape = (1,) * (ndim - x.ndim) + x.shape
    apart = [v for n in shape for v in (1, n)]
    wide = [v for r, n in zip(counts, shape, strict=True) for v in (r, n)]
    out = [r * n for r, n in zip(counts, shape, strict=True)]
    return engine.reshape(engine.broadcast_to(engine.reshape(x, apart), wide), out, copy=True)


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """The slices of x along an axis, without that axis; views.

    >>> len(engine.unstack(engine.zeros((2, 3)), axis=1))
    3
    """
    at_least_ndim("unstack", x, 1)
    front = moveaxis(x, axis, 0)
    return tuple(front[i] for i in range(front.shape[0]))


def broadcast_arrays(*arrays: Tensor) -> list[Tensor]:
    """Views of all tensors in their common shape. Raises ValueError if there is none.

    >>> [t.shape for t in engine.broadcast_arrays(engine.zeros((2, 1)), engine.zeros(3))]
    [(2, 3), (2, 3)]
    """
    check_tensor("broadcast_arrays", *arrays)
    shapes = [t.shape for t in arrays]
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        raise ValueError(f"broadcast_arrays: shapes {shapes} do not broadcast") from None
    return [engine.broadcast_to(t, shape) for t in arrays]


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The common shape of operands under broadcasting. Raises ValueError if there is none.

    >>> engine.broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    try:
        return tuple(np.broadcast_shapes(*(tuple(s) for s in shapes)))
    except ValueError:
        raise ValueError(f"broadcast_shapes: {shapes} do not broadcast") from None


def meshgrid(*arrays: Tensor, indexing: str = "xy") -> list[Tensor]:
    """Coordinates of a grid: each 1-d tensor spread over the axes of all.

    Args:
        indexing: "ij" for axes in the order of the tensors; "xy" exchanges the first two.

    >>> [t.shape for t in engine.meshgrid(engine.zeros(2), engine.zeros(3))]
    [(3, 2), (3, 2)]
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing is {indexing!r}; expected 'xy' or 'ij'")
    n = len(arrays)
    places = list(range(n))
    if indexing == "xy" and n > 1:
        places[0], places[1] = 1, 0
    spread = []
    for t, place in zip(arrays, places, strict=True):
        exactly_ndim("meshgrid", t, 1)
        spread.append(engine.reshape(t, [-1 if d == place else 1 for d in range(n)]))
    if len({str(t.dtype) for t in arrays}) > 1:
        raise ValueError(f"meshgrid: dtypes differ: {[str(t.dtype) for t in arrays]}")
    return broadcast_arrays(*spread)


def ravel(x: Tensor, /) -> Tensor:
    """All elements in one axis, in reading order; a view where memory allows.

    >>> engine.ravel(engine.zeros((2, 3))).shape
    (6,)
    """
    return engine.reshape(x, (-1,))


def flatten(x: Tensor, start_axis: int = 0, end_axis: int = -1) -> Tensor:
    """The axes from start_axis to end_axis, both included, as one.

    >>> engine.flatten(engine.zeros((2, 3, 4)), 1).shape
    (2, 12)
    """
    check_tensor("flatten", x)
    if x.ndim == 0:
        return engine.reshape(x, (1,))
    a, b = one_axis("flatten", start_axis, x.ndim), one_axis("flatten", end_axis, x.ndim)
    if a > b:
        raise ValueError(f"flatten: start_axis {start_axis} lies behind end_axis {end_axis}")
    return engine.reshape(x, (*x.shape[:a], math.prod(x.shape[a : b + 1]), *x.shape[b + 1 :]))


def unflatten(x: Tensor, axis: int, sizes: Sequence[int]) -> Tensor:
    """One axis cut into several; one size may be -1. Raises ValueError if they do not fill it.

    >>> engine.unflatten(engine.zeros((2, 12)), 1, (3, 4)).shape
    (2, 3, 4)
    """
    check_tensor("unflatten", x)
    a = one_axis("unflatten", axis, x.ndim)
    known = math.prod(s for s in sizes if s != -1)
    n = x.shape[a]
    if list(sizes).count(-1) > 1 or (known != n and (-1 not in sizes or not known or n % known)):
        raise ValueError(f"unflatten: sizes {tuple(sizes)} do not fill axis {a} of size {n}")
    full = [n // known if s == -1 else s for s in sizes]
    return engine.reshape(x, (*x.shape[:a], *full, *x.shape[a + 1 :]))


def _at_least(x: Tensor, front: int, ndim: int, back: int) -> Tensor:
    return x if x.ndim >= ndim else engine.reshape(x, (1,) * front + x.shape + (1,) * back)


def atleast_1d(x: Tensor, /) -> Tensor:
    """x, or a number as a tensor of one element.

    >>> engine.atleast_1d(engine.asarray(1.0)).shape
    (1,)
    """
    check_tensor("atleast_1d", x)
    return _at_least(x, 1, 1, 0)


def atleast_2d(x: Tensor, /) -> Tensor:
    """x with new axes in front, up to 2.

    >>> engine.atleast_2d(engine.zeros(3)).shape
    (1, 3)
    """
    check_tensor("atleast_2d", x)
    return _at_least(x, 2 - min(2, x.ndim), 2, 0)


def atleast_3d(x: Tensor, /) -> Tensor:
    """x with new axes, up to 3: a vector (N,) becomes (1, N, 1), a matrix (M, N, 1).

    >>> engine.atleast_3d(engine.zeros(3)).shape
    (1, 3, 1)
    """
    check_tensor("atleast_3d", x)
    front, back = {0: (1, 2), 1: (1, 1), 2: (0, 1)}.get(x.ndim, (0, 0))
    return _at_least(x, front, 3, back)


def rot90(x: Tensor, k: int = 1, axes: Sequence[int] = (0, 1)) -> Tensor:
    """Turned by k quarters from the first of two axes towards the second.

    >>> engine.rot90(engine.asarray([[1, 2], [3, 4]]))
    Tensor([[2, 4],
            [1, 3]], dtype=int64)
    """
    check_tensor("rot90", x)
    first, second = many_axes("rot90", axes, x.ndim)
    k %= 4
    if k == 0:
        return x.clone()
    if k == 2:
        return engine.flip(x, axis=(first, second))
    turned = engine.flip(x, axis=second) if k == 1 else x
    turned = engine.swapaxes(turned, first, second)
    return turned if k == 1 else engine.flip(turned, axis=second)


def fliplr(x: Tensor, /) -> Tensor:
    """Axis 1 reversed; a view. Raises ValueError below 2 dimensions.

    >>> engine.fliplr(engine.asarray([[1, 2]]))
    Tensor([[2, 1]], dtype=int64)
    """
    at_least_ndim("fliplr", x, 2)
    return engine.flip(x, axis=1)


def flipud(x: Tensor, /) -> Tensor:
    """Axis 0 reversed; a view. Raises ValueError for 0-d.

    >>> engine.flipud(engine.asarray([1, 2]))
    Tensor([2, 1], dtype=int64)
    """
    at_least_ndim("flipud", x, 1)
    return engine.flip(x, axis=0)


def narrow(x: Tensor, axis: int, start: int, length: int) -> Tensor:
    """`length` places of an axis from `start` on; a view. Raises IndexError outside the axis.

    >>> engine.narrow(engine.asarray([1, 2, 3]), 0, 1, 2)
    Tensor([2, 3], dtype=int64)
    """
    check_tensor("narrow", x)
    a = one_axis("narrow", axis, x.ndim)
    n = x.shape[a]
    first = start + n if start < 0 else start
    if not (0 <= first <= n and 0 <= length <= n - first):
        raise IndexError(f"narrow: {length} places from {start} leave axis {a} of size {n}")
    return x[(slice(None),) * a + (slice(first, first + length),)]


def select(x: Tensor, axis: int, index: int) -> Tensor:
    """One place of an axis, without that axis; a view. Raises IndexError outside it.

    >>> engine.select(engine.asarray([[1, 2], [3, 4]]), 1, 0)
    Tensor([1, 3], dtype=int64)
    """
    check_tensor("select", x)
    return x[(slice(None),) * one_axis("select", axis, x.ndim) + (index,)]
