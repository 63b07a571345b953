"""Losses of classes."""

from __future__ import annotations

import numpy as np

import engine
from engine import _C, Tensor
from engine.nn.functional.activation import logsigmoid
from engine.nn.functional.beside import beside_input
from engine.nn.functional.loss import REDUCTIONS, reduced
from engine.nn.functional.sizes import check_float, check_one_of, check_same_shape


def cross_entropy(
    logits: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """-log softmax(logits)[target], fused.

    Args:
        logits: (N, C, ...) floats.
        target: (N, ...) integers, class numbers.
        weight: (C,) weight of each class, or None for ones.
        ignore_index: targets that count for nothing.
        reduction: "mean" (over the weights of the targets), "sum" or "none".
        label_smoothing: share of each target's mass spread evenly over all classes, 0 to 1.

    >>> cross_entropy(engine.zeros((1, 2)), engine.asarray([1]))
    Tensor(0.6931472, dtype=float32)
    """
    return _C.cross_entropy(logits, target, weight, ignore_index, reduction, label_smoothing)


def linear_cross_entropy(
    x: Tensor,
    weight: Tensor,
    target: Tensor,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """cross_entropy(linear(x, weight), target) without the logits of all rows.

    The head of a language model: rows are taken a few at a time, and the gradients of x and weight
    are made while their logits are at hand, so that memory holds at most 64 MiB of logits and the
    gradients themselves (as in Hsu et al., arXiv:2410.10989).

    Args:
        x: (..., width) floats.
        weight: (classes, width) of the same dtype.
        target: (...) integers, class numbers.
        ignore_index: targets that count for nothing.
        reduction: "mean" (over the rows that count) or "sum".
        label_smoothing: share of each target's mass spread evenly over all classes, 0 to 1.

    Raises:
        ValueError: shapes that do not fit, another reduction.
        IndexError: a target that is no class number.

    >>> linear_cross_entropy(engine.zeros((1, 3)), engine.zeros((2, 3)), engine.asarray([1]))
    Tensor(0.6931472, dtype=float32)
    """
    return _C._linear_cross_entropy(x, weight, target, ignore_index, reduction, label_smoothing)


def _check_classes(op: str, x: Tensor, target: Tensor) -> None:
    if x.ndim == 0 or target.shape != (*x.shape[:1], *x.shape[2:])[x.ndim == 1 :]:
        raise ValueError(
            f"{op}: x has shape {x.shape}, target {target.shape}; expected (N, C, ...) and "
            "(N, ...), or (C,) and ()"
        )
    if target.dtype.is_floating_point or target.dtype == engine.bool:
        raise TypeError(f"{op}: target is {target.dtype}, expected integers: class numbers")


@beside_input
def nll_loss(
    x: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """-x[target] for logarithms of probabilities x; see cross_entropy, which takes logits.

    Raises:
        ValueError: shapes that do not fit.
        IndexError: a target that is no class number.

    >>> nll_loss(engine.asarray([[-1.0, -2.0]]), engine.asarray([1]))
    Tensor(2., dtype=float32)
    """
    check_float("nll_loss", x)
    _check_classes("nll_loss", x, target)
    check_one_of("nll_loss", "reduction", reduction, REDUCTIONS)
    shape, classes = target.shape, x.shape[min(1, x.ndim - 1)]
    rows = x.reshape((1, classes)) if x.ndim == 1 else x
    if x.ndim > 2:
        rows = engine.permute_dims(x, (0, *range(2, x.ndim), 1)).reshape((-1, classes))
    t = target.reshape((-1,)).astype(engine.int64)
    kept = t != ignore_index
    t = engine.where(kept, t, 0)
    if t.size and not bool(((t >= 0) & (t < classes)).all()):
        raise IndexError(
            f"nll_loss: target holds numbers from {int(t.min())} to {int(t.max())}, expected "
            f"class numbers 0 to {classes - 1}, or ignore_index {ignore_index}"
        )
    share = kept.astype(x.dtype)
    if weight is not None:
        if weight.shape != (classes,):
            raise ValueError(
                f"nll_loss: weight has shape {weight.shape}, expected ({classes},): one number "
                "for each class"
            )
        share = share * engine.take(weight, t)
    picked = rows[engine.arange(rows.shape[0]), t]
    # An ignored -inf must not become NaN.
    loss = engine.where(kept, -picked, 0.0) * share
    if reduction == "none":
        return loss.reshape(shape)
    return loss.sum() / share.sum() if reduction == "mean" else loss.sum()


@beside_input
def multi_margin_loss(
    x: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    reduction: str = "mean",
) -> Tensor:
    """sum over classes j but the target t of max(0, margin - x_t + x_j)^p, times weight[t] / C.

    Args:
        x: (N, C) or (C,).
        target: (N,) or () of class numbers.
        p: 1 or 2.

    >>> multi_margin_loss(engine.asarray([[0.0, 2.0]]), engine.asarray([0]))
    Tensor(1.5, dtype=float32)
    """
    check_float("multi_margin_loss", x)
    _check_classes("multi_margin_loss", x, target)
    if p not in (1, 2) or x.ndim > 2:
        raise ValueError(
            f"multi_margin_loss: x has shape {x.shape} and p={p}; expected (N, C) or (C,), and "
            "a p of 1 or 2"
        )
    rows, t = x.reshape((-1, x.shape[-1])), target.reshape((-1, 1)).astype(engine.int64)
    is_target = engine.arange(rows.shape[1]) == t  # (N, C)
    own = rows[engine.arange(rows.shape[0]), t.reshape((-1,))].reshape((-1, 1))
    over = engine.relu(margin - own + rows)
    if p == 2:
        over = engine.square(over)
    if weight is not None:
        over = over * engine.take(weight, t)
    loss = engine.where(is_target, 0.0, over).sum(axis=1) / rows.shape[1]
    return reduced("multi_margin_loss", loss if x.ndim > 1 else loss.reshape(()), reduction)


@beside_input
def multilabel_margin_loss(x: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """sum over targets t and other classes j of max(0, 1 - x_t + x_j), divided by C.

    Args:
        x: (N, C) or (C,).
        target: the same shape, integers: class numbers up to the first -1.

    >>> x, target = engine.asarray([0.0, 2.0]), engine.asarray([0, -1])
    >>> multilabel_margin_loss(x, target)
    Tensor(1.5, dtype=float32)
    """
    check_float("multilabel_margin_loss", x)
    check_same_shape("multilabel_margin_loss", x, target)
    rows, classes = x.reshape((-1, x.shape[-1])), x.shape[-1]
    t = target.to("cpu").numpy().reshape(-1, classes).astype(np.int64)
    listed = np.cumsum(t < 0, axis=1) == 0  # before the first -1
    if t[listed].max(initial=0) >= classes:
        raise IndexError(
            f"multilabel_margin_loss: target {t[listed].max()} is no class number: there are "
            f"{classes}"
        )
    is_target = np.zeros(t.shape, np.bool_)
    sample, place = np.nonzero(listed)
    is_target[sample, t[sample, place]] = True
    own = rows[engine.asarray(sample), engine.asarray(t[sample, place])]  # (K,)
    every = engine.take(rows, engine.asarray(sample), axis=0)  # (K, C)
    over = engine.relu(1.0 - own.reshape((-1, 1)) + every)
    over = engine.where(engine.asarray(is_target[sample]), 0.0, over).sum(axis=1) / classes
    # Which sample each of the K belongs to, as a matrix of ones: sums by sample.
    belongs = engine.asarray(np.arange(len(t))[:, None] == sample).astype(x.dtype)
    loss = engine.matmul(belongs, over)
    return reduced("multilabel_margin_loss", loss if x.ndim > 1 else loss.reshape(()), reduction)


def multilabel_soft_margin_loss(
    x: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean"
) -> Tensor:
    """-(t log sigmoid(x) + (1 - t) log sigmoid(-x)), the mean over the classes (the last axis).

    >>> multilabel_soft_margin_loss(engine.zeros((1, 3)), engine.ones((1, 3)))
    Tensor(0.6931472, dtype=float32)
    """
    check_same_shape("multilabel_soft_margin_loss", x, target)
    loss = -(target * logsigmoid(x) + (1.0 - target) * logsigmoid(-x))
    if weight is not None:
        loss = loss * weight
    return reduced("multilabel_soft_margin_loss", loss.mean(axis=-1), reduction)


def soft_margin_loss(x: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """log(1 + exp(-t x)) for targets t of 1 and -1.

    >>> soft_margin_loss(engine.zeros(3), engine.ones(3))
    Tensor(0.6931472, dtype=float32)
    """
    check_same_shape("soft_margin_loss", x, target)
    return reduced("soft_margin_loss", -logsigmoid(x * target), reduction)
