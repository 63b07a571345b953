"""Look-up tables."""

from __future__ import annotations

import numpy as np

import engine
from engine import _C, Tensor
from engine.nn.functional.beside import beside_input
from engine.nn.functional.distance import vector_norm
from engine.nn.functional.sizes import check_one_of


@beside_input
def one_hot(idx: Tensor, num_classes: int = -1) -> Tensor:
    """int64 of shape idx.shape + (num_classes,): 1 at the class, 0 elsewhere.

    Args:
        num_classes: -1 for one more than the largest of idx.

    Raises:
        TypeError: idx holds no integers.
        ValueError: a number that is no class.

    >>> one_hot(engine.asarray([0, 2])).tolist()
    [[1, 0, 0], [0, 0, 1]]
    """
    if idx.dtype.is_floating_point or idx.dtype == engine.bool:
        raise TypeError(f"one_hot: idx is {idx.dtype} {idx.shape}, expected integers")
    if num_classes == -1:
        if idx.size == 0:
            raise ValueError("one_hot: idx is empty; give num_classes")
        num_classes = int(idx.max()) + 1
    if idx.size and not 0 <= int(idx.min()) <= int(idx.max()) < num_classes:
        raise ValueError(
            f"one_hot: idx holds {int(idx.min())} to {int(idx.max())}, expected 0 to "
            f"{num_classes - 1}"
        )
    classes = engine.arange(num_classes)
    return (engine.expand_dims(idx, axis=-1) == classes).astype(engine.int64)


def _renormalize(weight: Tensor, idx: Tensor, max_norm: float, norm_type: float) -> None:
    """Shrinks the rows that are read to max_norm, in place."""
    with engine.no_grad():
        rows = engine.asarray(np.unique(idx.to("cpu").numpy()), device=weight.device)
        values = engine.take(weight.detach(), rows, axis=0)
        norm = vector_norm(values, norm_type, -1, keepdims=True)
        weight.detach()[rows] = engine.where(
            norm > max_norm, values * (max_norm / (norm + 1e-7)), values
        )


def embedding(
    idx: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
) -> Tensor:
    """Rows of weight (V, D) by number: idx of integers -> idx.shape + (D,).

    Args:
        padding_idx: a row that gets no gradient; negative counts from the end.
        max_norm: rows that are read and have a larger norm are shrunk to it, in place.
        norm_type: the p of that norm.

    Raises:
        ValueError: padding_idx is no row.
        IndexError: a number that is no row.

    >>> embedding(engine.asarray([[0, 2]]), engine.ones((3, 5))).shape
    (1, 2, 5)
    """
    if padding_idx is not None:
        padding_idx = _row("embedding", padding_idx, weight)
    if max_norm is not None:
        _renormalize(weight, idx, max_norm, norm_type)
    y = _C.embedding(weight, idx)
    if padding_idx is None or not y.requires_grad:
        return y
    return engine.where(engine.expand_dims(idx == padding_idx, axis=-1), y.detach(), y)


def _row(op: str, number: int, weight: Tensor) -> int:
    rows = weight.shape[0]
    if not -rows <= number < rows:
        raise ValueError(f"{op}: padding_idx={number}; the table has {rows} rows")
    return number % rows


@beside_input
def embedding_bag(
    idx: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    mode: str = "mean",
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Sums, means or maxima of rows of weight (V, D), by bag: (bags, D). Empty bags give 0.

    Args:
        idx: (bags, K), or (K,) with offsets.
        offsets: (bags,): where each bag starts in idx.
        mode: "sum", "mean" or "max".
        per_sample_weights: of idx's shape, what each row is multiplied by; "sum" only.
        include_last_offset: whether offsets has one number more, the end of the last bag.
        padding_idx: rows of this number are in no bag.

    Raises:
        ValueError: shapes, offsets or a mode that do not fit.

    >>> embedding_bag(engine.asarray([0, 1, 1]), engine.eye(2), engine.asarray([0, 1])).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    check_one_of("embedding_bag", "mode", mode, ("sum", "mean", "max"))
    if per_sample_weights is not None and (mode != "sum" or per_sample_weights.shape != idx.shape):
        raise ValueError(
            f"embedding_bag: per_sample_weights of shape {per_sample_weights.shape} with mode "
            f"{mode!r}; expected the shape of idx, {idx.shape}, and mode 'sum'"
        )
    if (idx.ndim, offsets is None) not in ((2, True), (1, False)):
        raise ValueError(
            f"embedding_bag: idx has shape {idx.shape} and offsets are "
            f"{None if offsets is None else offsets.shape}; expected (bags, K) without offsets or "
            "(K,) with them"
        )
    places, inside = _bags(idx, offsets, include_last_offset)
    if max_norm is not None:
        _renormalize(weight, idx, max_norm, norm_type)
    numbers = idx.to("cpu").numpy().reshape(-1)
    chosen = numbers[places] if numbers.size else np.zeros(places.shape, np.int64)
    if padding_idx is not None:
        inside = inside & (chosen != _row("embedding_bag", padding_idx, weight))
    rows = _C.embedding(weight, engine.asarray(chosen))  # (bags, K, D)
    kept = engine.asarray(np.ascontiguousarray(inside[..., None]))
    counts = inside.sum(1)
    if mode == "max":
        if rows.shape[1] == 0:
            return rows.sum(axis=1)
        # An empty bag has 0 for its largest.
        lowest = np.where(counts == 0, 0.0, -np.inf)[:, None, None]
        return engine.where(kept, rows, engine.asarray(lowest).astype(rows.dtype)).max(axis=1)
    if per_sample_weights is not None:
        shares = engine.take(per_sample_weights.reshape((-1,)), engine.asarray(places))
        rows = rows * engine.expand_dims(shares, axis=-1)
    total = engine.where(kept, rows, 0.0).sum(axis=1)
    if mode == "sum":
        return total
    return total / engine.asarray(np.maximum(counts, 1)[:, None]).astype(total.dtype)


def _bags(
    idx: Tensor, offsets: Tensor | None, include_last_offset: bool
) -> tuple[np.ndarray, np.ndarray]:
    """(bags, longest): positions in idx, and whether they are in the bag."""
    if offsets is None:
        bags, width = idx.shape
        return np.arange(bags * width).reshape(bags, width), np.ones((bags, width), np.bool_)
    starts = offsets.to("cpu").numpy().astype(np.int64).reshape(-1)
    ends = starts[1:] if include_last_offset else np.append(starts[1:], idx.shape[0])
    starts = starts[: len(ends)]
    lengths = ends - starts
    if len(starts) and (starts[0] != 0 or lengths.min() < 0 or ends[-1] > idx.shape[0]):
        raise ValueError(
            f"embedding_bag: offsets {offsets.tolist()}; expected numbers from 0 up, none above "
            f"{idx.shape[0]}, the size of idx"
        )
    within = np.arange(int(lengths.max(initial=0)))
    inside = within < lengths[:, None]
    return np.where(inside, starts[:, None] + within, 0), inside
