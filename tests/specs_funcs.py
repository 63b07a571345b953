"""Op specs of the routines that move, find and pick elements."""

from __future__ import annotations

import itertools

import numpy as np

from tests.op_specs import (
    ANY,
    FLOAT32_64,
    FLOATS,
    NUMBERS,
    Op,
    apart,
    mixed,
    real,
    rng,
    s,
)

BOTH = FLOAT32_64
MOVED = (*FLOATS, "int64", "int32", "int16", "int8")


def _flat(function):
    """numpy's function, its list of arrays as a tuple."""
    return lambda *args, **kwargs: tuple(function(*args, **kwargs))


def _movers() -> list[Op]:
    x = real(2, 3, 4)
    return [
        Op("moveaxis", np.moveaxis, [s(x, 0, -1), s(x, (0, 2), (1, 0)), s(real(0, 2), 0, 1)], BOTH,
           errors=[((np.ones((2, 3)), (0, 1), (0,)), ValueError, "2 axes"),
                   ((np.ones(2), 1, 0), IndexError, "axis 1")]),
        Op("movedim", np.moveaxis, [s(x, 0, 1)], BOTH),
        Op("swapdims", np.swapaxes, [s(x, 0, 1)], BOTH),
        Op("matrix_transpose", np.matrix_transpose, [s(x), s(real(2, 3))], BOTH,
           errors=[((np.ones(2),), ValueError, "2 dimensions")]),
        Op("repeat", lambda x, r, axis=None: np.repeat(x, r, axis),
           [s(x, 2), s(x, 3, axis=1), s(x, np.array([0, 2, 1]), axis=1), s(real(0, 2), 2, axis=0),
            s(real(3), np.array([2]))], BOTH,
           errors=[((np.ones(3), -1), ValueError, "negative"),
                   ((np.ones(3), np.array([1, 2])), ValueError, "3 of them")]),
        Op("roll", lambda x, shift, axis=None: np.roll(x, shift, axis),
           [s(x, 1), s(x, -2, axis=2), s(x, (1, 2), axis=(0, 2)), s(real(0, 2), 1, axis=0)], BOTH),
        Op("tile", np.tile, [s(x, (2,)), s(x, (2, 1, 3)), s(real(3), (2, 2)), s(real(2), (0,))],
           BOTH, errors=[((np.ones(3), (-1,)), ValueError, "negative")]),
        Op("unstack", lambda x, axis=0: np.unstack(x, axis=axis), [s(x), s(x, axis=-1)], BOTH,
           errors=[((np.array(1.0),), ValueError, "1 dimension")]),
        Op("ravel", np.ravel, [s(x), s(real())], BOTH),
        Op("flatten", lambda x, a=0, b=-1: x.reshape(x.shape[:a] + (-1,) + x.shape[b:][1:]),
           [s(x, 1, 2), s(x, 0, 1), s(real(3))], BOTH,
           errors=[((np.ones((2, 3)), 1, 0), ValueError, "behind")]),
        Op("unflatten", lambda x, axis, sizes: x.reshape(
            *x.shape[:axis], *sizes, *x.shape[axis:][1:]), [s(real(2, 6), 1, (3, 2))], BOTH,
           errors=[((np.ones(5), 0, (2, 2)), ValueError, "do not fill")]),
        Op("atleast_1d", np.atleast_1d, [s(real()), s(x)], BOTH),
        Op("atleast_2d", np.atleast_2d, [s(real()), s(real(3)), s(x)], BOTH),
        Op("atleast_3d", np.atleast_3d, [s(real()), s(real(3)), s(real(2, 3)), s(x)], BOTH),
        Op("rot90", np.rot90, [s(x, k) for k in range(-1, 4)] + [s(x, 1, (1, 2))], BOTH),
        Op("fliplr", np.fliplr, [s(x)], BOTH, errors=[((np.ones(2),), ValueError, "2")]),
        Op("flipud", np.flipud, [s(x)], BOTH, errors=[((np.array(1.0),), ValueError, "1")]),
        Op("narrow", lambda x, axis, start, n: np.take(x, range(start, start + n), axis),
           [s(x, 1, 1, 2), s(x, 2, 0, 0)], BOTH,
           errors=[((np.ones(3), 0, 2, 2), IndexError, "leave axis 0")]),
        Op("select", lambda x, axis, i: np.take(x, i, axis), [s(x, 1, -1), s(x, 0, 0)], BOTH,
           errors=[((np.ones(3), 0, 3), IndexError, "3")]),
    ]  # fmt: skip


def _diag_embed(x, offset=0, axis1=-2, axis2=-1):
    n = x.shape[-1] + abs(offset)
    y = np.zeros((*x.shape[:-1], n, n), x.dtype)
    i = np.arange(x.shape[-1])
    y[..., i + max(0, -offset), i + max(0, offset)] = x
    return np.moveaxis(y, (-2, -1), (axis1, axis2))


def _diagonals() -> list[Op]:
    x = real(2, 3, 4)
    return [
        Op("tril", lambda x, k=0: np.tril(x, k), [s(x), s(x, k=1), s(x, k=-2), s(real(0, 3))],
           NUMBERS[:6], errors=[((np.ones(2),), ValueError, "2 dimensions")]),
        Op("triu", lambda x, k=0: np.triu(x, k), [s(x), s(x, k=1), s(x, k=-2), s(real(0, 3))],
           NUMBERS[:6], errors=[((np.ones(2),), ValueError, "2 dimensions")]),
        Op("tril_indices", lambda n, m=None, k=0: np.array(np.tril_indices(n, k, m)),
           [s(3), s(3, 4, 1)], ("float64",), grad=False),
        Op("triu_indices", lambda n, m=None, k=0: np.array(np.triu_indices(n, k, m)),
           [s(3), s(3, 4, 1)], ("float64",), grad=False),
        Op("diag_embed", _diag_embed, [s(real(3)), s(real(2, 3), offset=1), s(real(2, 0)),
                                       s(real(2, 3), offset=-2, axis1=0, axis2=2)], BOTH,
           errors=[((np.array(1.0),), ValueError, "1 dimension")]),
        Op("diag", lambda x, k=0: np.diag(x, k), [s(real(3)), s(real(3), k=1), s(real(3, 4), k=-1)],
           BOTH, errors=[((np.ones((2, 2, 2)),), ValueError, "2 dimensions")]),
        Op("diagflat", lambda x, k=0: np.diagflat(x, k), [s(real(2, 2)), s(real(2), k=-1)], BOTH),
        Op("trace", lambda x, offset=0: np.trace(x, offset, -2, -1), [s(x), s(x, offset=1),
                                                                       s(real(0, 0))],
           (*BOTH, "int32"), errors=[((np.ones(2),), ValueError, "2 dimensions")]),
        Op("vander", lambda x, n=None, increasing=False: np.vander(x, n, increasing),
           [s(real(3)), s(real(4), 2), s(real(3), 0), s(real(2), 3, increasing=True)], BOTH,
           errors=[((np.ones((2, 2)),), ValueError, "1 dimension")]),
    ]  # fmt: skip


def _grid(x, y):
    return tuple(np.meshgrid(x, y))


def _split(x, size, axis=0):
    n = x.shape[axis]
    sizes = [size] * -(-n // size) if isinstance(size, int) else size
    return tuple(np.split(x, np.cumsum(sizes)[:-1], axis))


def _chunk(x, k, axis=0):
    return _split(x, max(1, -(-x.shape[axis] // k)), axis)


def _block_diag(*blocks):
    y = np.zeros(np.sum([b.shape for b in blocks], 0))
    i = j = 0
    for b in blocks:
        y[i : i + b.shape[0], j : j + b.shape[1]] = b
        i, j = i + b.shape[0], j + b.shape[1]
    return y


def _joining() -> list[Op]:
    x, pair = real(2, 7), [real(2, 3), real(2, 3)]
    return [
        Op("split", _split, [s(x, 3, 1), s(x, (2, 5), 1), s(real(4), 2)], BOTH,
           errors=[((np.ones(3), (1, 1)), ValueError, "do not fill"),
                   ((np.ones(3), 0), ValueError, "at least one")]),
        Op("chunk", _chunk, [s(x, 3, 1), s(x, 9, 1)], BOTH,
           errors=[((np.ones(3), 0), ValueError, "at least one")]),
        Op("array_split", _flat(np.array_split), [s(x, 3, 1), s(x, (2, 4), 1)], BOTH,
           errors=[((np.ones(3), 0), ValueError, "at least one")]),
        Op("hstack", np.hstack, [s(pair), s([real(2), real(3)])], BOTH),
        Op("vstack", np.vstack, [s(pair), s([real(3), real(3)])], BOTH),
        Op("dstack", np.dstack, [s(pair), s([real(3), real(3)])], BOTH),
        Op("column_stack", np.column_stack, [s(pair), s([real(3), real(3)])], BOTH),
        Op("block_diag", _block_diag, [s(real(2, 2), real(1, 3)), s(real(0, 2), real(2, 1))], BOTH),
        Op("cartesian_prod", lambda *a: np.array(list(itertools.product(*a))),
           [s(real(2), real(3), real(2))], BOTH),
        Op("combinations", lambda x, r=2, w=False: np.array(list(
            (itertools.combinations_with_replacement if w else itertools.combinations)(x, r))),
           [s(real(4)), s(real(3), 3), s(real(3), 2, True)], BOTH,
           errors=[((np.ones((2, 2)),), ValueError, "1 dimension")]),
        Op("meshgrid", _grid, [s(real(2), real(3))], BOTH,
           errors=[((np.ones((2, 2)),), ValueError, "1 dimension")]),
        Op("broadcast_arrays", lambda x, y: tuple(np.broadcast_arrays(x, y)),
           [s(real(2, 1), real(3))], BOTH,
           errors=[((np.ones(2), np.ones(3)), ValueError, "do not broadcast")]),
    ]  # fmt: skip


def _gather(x, axis, index):
    where = [np.arange(n) for n in index.shape]
    grid = list(np.meshgrid(*where, indexing="ij"))
    grid[axis] = index
    return x[tuple(grid)]


def _scatter(x, axis, index, source, add=False):
    y = x.copy()
    for place in np.ndindex(*index.shape):
        to = list(place)
        to[axis] = index[place]
        value = source[place] if np.ndim(source) else source
        y[tuple(to)] = y[tuple(to)] + value if add else value
    return y


def _index_rows(x, axis, index, source, mode):
    y = x.copy()
    view = np.moveaxis(y, axis, 0)
    for k, i in enumerate(index):
        row = np.moveaxis(source, axis, 0)[k] if np.ndim(source) else source
        view[i] = view[i] + row if mode == "add" else row
    return y


def _picking() -> list[Op]:
    x = real(3, 4)
    at = np.array([[2, 0, 2, 1], [0, 0, -1, 1]])
    small = np.array([[3], [3]])
    rows = np.array([2, 0, 2])
    outside = ((np.ones((2, 2)), 0, np.array([[2, 0]])), IndexError, "2 .* axis 0 of size 2")
    mask = rng.random((3, 4)) > 0.5
    return [
        Op("gather", _gather, [s(x, 0, at), s(x, 1, small), s(real(5), 0, rows),
                               s(real(2, 3, 4), 1, np.ones((2, 5, 3), np.int64))], MOVED,
           errors=[outside, ((np.ones(2), 0, np.ones(2)), TypeError, "integers"),
                   ((np.ones(2), 0, np.zeros((1, 1), int)), ValueError, "do not fit")]),
        Op("scatter", _scatter, [s(x, 0, at, real(2, 4)), s(x, 1, small, real(2, 2)),
                                 s(real(5), 0, rows, real(3)), s(real(5), 0, rows, 2.0)], MOVED,
           errors=[((*outside[0], np.ones((1, 2))), *outside[1:]),
                   ((np.ones(2), 0, np.zeros(2, int), np.ones(1)), ValueError, "source")]),
        Op("scatter_add", lambda *a: _scatter(*a, add=True),
           [s(x, 0, at, real(2, 4)), s(x, 1, small, real(2, 2)), s(real(5), 0, rows, real(3)),
            s(real(0), 0, np.zeros(0, int), real(0))], MOVED,
           errors=[((*outside[0], np.ones((1, 2))), *outside[1:])]),
        Op("take_along_axis", lambda x, i, axis=-1: np.take_along_axis(x, i, axis),
           [s(x, at[:1].repeat(3, 0)), s(x, at[:1], axis=0), s(x, np.array([[0], [3], [1]]))],
           MOVED,
           errors=[((np.ones((2, 2)), np.array([0])), ValueError, "number of dimensions"),
                   ((np.ones(2), np.array([2])), IndexError, "2")]),
        Op("put_along_axis", lambda x, i, v, axis=-1: _scatter(x, axis, i, np.broadcast_to(
            v, i.shape)), [s(x, np.array([[0], [3], [0]]), real(3, 1)),
                           s(x, at, real(4), axis=0)], BOTH),
        Op("index_select", lambda x, axis, i: np.take(x, i, axis), [s(x, 1, rows), s(x, 0, rows)],
           BOTH, errors=[((np.ones(3), 0, np.zeros((1, 1), int)), ValueError, "1 dimension")]),
        Op("index_add", lambda x, a, i, v, alpha=1: _index_rows(x, a, i, alpha * v, "add"),
           [s(x, 0, rows, real(3, 4)), s(x, 1, rows, real(3, 3), alpha=2.0)], BOTH,
           errors=[((np.ones(3), 0, np.array([0]), np.ones(2)), ValueError, r"\(1,\)")]),
        Op("index_copy", lambda x, a, i, v: _index_rows(x, a, i, v, "copy"),
           [s(x, 0, rows, real(3, 4)), s(x, 1, rows[:2], real(3, 2))], BOTH),
        Op("index_fill", lambda x, a, i, v: _index_rows(x, a, i, v, "copy"), [s(x, 0, rows, 2.0)],
           BOTH),
        Op("masked_fill", lambda x, m, v: np.where(m, v, x), [s(x, mask, 2.0), s(x, mask[0], -1.0)],
           BOTH, errors=[((np.ones(2), np.ones(2), 1.0), TypeError, "bool")]),
        Op("masked_select", lambda x, m: np.broadcast_arrays(x, m)[0][np.broadcast_to(m, x.shape)],
           [s(x, mask), s(x, mask[0])], BOTH,
           errors=[((np.ones(2), np.ones(2)), TypeError, "bool")]),
    ]  # fmt: skip


def _topk(x, k, axis=-1, largest=True):
    order = np.argsort(-x if largest else x, axis, kind="stable")
    order = np.take(order, range(k), axis)
    return np.take_along_axis(x, order, axis), order


def _kth(x, k, axis=-1, keepdims=False):
    out = [np.take(t, [k - 1], axis) for t in _topk(x, k, axis, False)]
    return tuple(t if keepdims else np.squeeze(t, axis) for t in out)


def _sorted(x, axis=-1, descending=False):
    if not descending:
        return np.sort(x, axis)
    return np.flip(np.sort(x, axis), axis)


def _order(x, axis=-1, descending=False):
    if not descending:
        return np.argsort(x, axis, kind="stable")
    back = np.argsort(np.flip(x, axis), axis, kind="stable")
    return np.flip(x.shape[axis] - 1 - back, axis)


def _searching() -> list[Op]:
    x, tied = apart(3, 4, 5), mixed(4, 70)
    edges = np.array([-1.0, 0.0, 0.0, 1.0])
    missing = np.array([1.0, np.nan, -np.inf, np.nan, 0.0, np.inf])
    samples = [s(x), s(x, axis=1), s(x, axis=0, descending=True), s(apart(0, 3), axis=0),
               s(apart(5000)), s(apart(2, 5000), descending=True)]  # fmt: skip
    several = [s(mixed(3, 4)), s(mixed(3, 4), axis=1), s(mixed(3, 4), axis=(0, 1), keepdims=True)]
    return [
        Op("sort", _sorted, samples, BOTH),
        Op("sort", _sorted, [s(tied), s(missing), s(mixed(5000), descending=True)], FLOATS,
           grad=False),
        Op("sort", _sorted, [s(mixed(4, 6)), s(mixed(5000), descending=True)], ANY, grad=False),
        Op("argsort", _order, [*samples, s(tied), s(tied, descending=True), s(missing)], BOTH,
           grad=False),
        Op("argsort", _order, [s(mixed(4, 6)), s(mixed(5000), descending=True)], ANY, grad=False),
        Op("sort_with_indices", lambda *a, **k: (_sorted(*a, **k), _order(*a, **k)),
           [s(x), s(x, 0, descending=True)], BOTH),
        Op("topk", _topk, [s(x, 3), s(x, 2, 0), s(x, 2, 1, largest=False), s(apart(200), 5),
                           s(apart(3), 0)], BOTH,
           errors=[((np.ones(3), 4), ValueError, "k is 4")]),
        Op("topk", _topk, [s(tied, 4), s(tied, 60, largest=False)], BOTH, grad=False),
        Op("kthvalue", _kth, [s(x, 2), s(x, 3, 0, keepdims=True)], BOTH,
           errors=[((np.ones(3), 0), ValueError, "from 1")]),
        Op("searchsorted", lambda a, v, side="left": np.searchsorted(a, v, side),
           [s(edges, mixed(3, 4) - 1), s(edges, real(5), side="right"), s(edges, missing),
            s(np.zeros(0), real(2))], BOTH, grad=False,
           errors=[((np.ones((2, 2)), np.ones(1)), ValueError, "1 dimension")]),
        Op("bucketize", lambda x, b, right=False: np.searchsorted(b, x, "right" if right else
                                                                  "left"),
           [s(real(3, 4), edges), s(mixed(6), edges, right=True)], BOTH, grad=False),
        Op("digitize", np.digitize, [s(mixed(6) - 1, edges), s(mixed(6) - 1, edges, right=True),
                                     s(mixed(6) - 1, edges[::-1].copy()),
                                     s(mixed(6) - 1, edges[::-1].copy(), right=True)], BOTH,
           grad=False),
        Op("count_nonzero", np.count_nonzero, several, ANY, grad=False),
        Op("argwhere", np.argwhere, [s(mixed(3, 4)), s(mixed(0, 2))], ANY, grad=False),
        Op("unique_values", np.unique, [s(tied), s(mixed(0))], ANY, grad=False),
        Op("unique_counts", lambda x: np.unique(x, return_counts=True), [s(tied), s(mixed(0, 2))],
           ANY, grad=False),
        Op("unique_inverse", lambda x: np.unique(x, return_inverse=True), [s(tied), s(mixed(0, 2))],
           ANY, grad=False),
        Op("unique_all", lambda x: np.unique(x, True, True, True), [s(tied), s(mixed(0, 2))], ANY,
           grad=False),
        Op("unique_values", np.unique, [s(apart(3, 4))], BOTH),
        Op("unique_consecutive", _runs, [s(tied), s(np.array([1.0, 1.0, 2.0, 1.0])), s(mixed(0))],
           BOTH, grad=False),
        Op("isin", lambda x, y, invert=False: np.isin(x, y, invert=invert),
           [s(mixed(3, 4), np.array([0.0, 2.0])), s(mixed(3), np.zeros(0)),
            s(mixed(3, 4), np.array([1.0]), invert=True)], ANY, grad=False),
        Op("bincount", lambda x, w=None, minlength=0: np.bincount(x, w, minlength),
           [s(np.array([0, 3, 3, 1])), s(np.array([0, 3, 3, 1]), minlength=6),
            s(np.array([0, 3, 3, 1]), real(4)), s(np.zeros(0, int), minlength=2)], BOTH,
           errors=[((np.array([-1]),), ValueError, "-1 at position 0"),
                   ((np.ones(2),), TypeError, "integers"),
                   ((np.ones((1, 1), int),), ValueError, "1 dimension")]),
    ]  # fmt: skip


def _runs(x):
    flat = x.reshape(-1)
    starts = np.flatnonzero(np.concatenate([[True][: flat.size], flat[1:] != flat[:-1]]))
    counts = np.diff([*starts, flat.size])
    inverse = np.repeat(np.arange(starts.size), counts).reshape(x.shape)
    return flat[starts], starts, inverse, counts[: starts.size]


OPS = [*_movers(), *_diagonals(), *_joining(), *_picking(), *_searching()]
OTHERWISE_TESTED: dict[str, set[str]] = {
    "tests/engine/test_distributions.py": {
        "uniform", "normal", "log_normal", "exponential", "laplace", "cauchy", "gumbel", "logistic",
        "weibull", "pareto", "gamma", "chi2", "student_t", "beta", "dirichlet", "poisson",
        "binomial", "geometric", "multinomial", "shuffle", "choice",
    },
}  # fmt: skip
