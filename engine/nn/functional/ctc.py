"""Connectionist temporal classification."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

import engine
from engine import _C, Tensor
from engine.nn.functional.beside import beside_input
from engine.nn.functional.loss import REDUCTIONS
from engine.nn.functional.sizes import check_float, check_one_of

_NEVER = -1e30  # the logarithm of no probability: finite, so that no difference of two is NaN


@beside_input
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int],
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """-log of the probability that a sequence of labels, blanks between them and each label as
    long as it likes, reads as the target (Graves et al., ICML 2006).

    The sum over all such sequences runs forward in time, in logarithms; its gradient is the
    tape's.

    Args:
        log_probs: (T, N, C), or (T, C) for one sequence: logarithms of probabilities.
        targets: (N, S) of class numbers, padded, or all of them end to end in one axis.
        input_lengths, target_lengths: (N,): how much of each is meant.
        blank: class number of the blank.
        reduction: "none"; "sum"; or "mean" of the losses divided by their targets' lengths.
        zero_infinity: whether a target that no sequence reads as counts 0, not infinity.

    Raises:
        ValueError: shapes or lengths that do not fit.
        IndexError: a target that is no class number.

    >>> log_probs = engine.log(engine.full((2, 1, 2), 0.5))
    >>> ctc_loss(log_probs, engine.asarray([[1]]), [2], [1])  # -log(3 / 4)
    Tensor(0.2876821, dtype=float32)
    """
    check_float("ctc_loss", log_probs, "log_probs")
    check_one_of("ctc_loss", "reduction", reduction, REDUCTIONS)
    narrow = log_probs.dtype
    if narrow in (engine.float16, engine.bfloat16):  # sums of logarithms outgrow them
        log_probs = log_probs.astype(engine.float32)
    single = log_probs.ndim == 2
    if single:
        log_probs = engine.expand_dims(log_probs, axis=1)
    if log_probs.ndim != 3:
        raise ValueError(
            f"ctc_loss: log_probs has shape {log_probs.shape}, expected (T, N, C) or (T, C)"
        )
    steps, n, classes = log_probs.shape
    given, wanted = (_lengths(v, n) for v in (input_lengths, target_lengths))
    if given.max(initial=0) > steps or min(given.min(initial=0), wanted.min(initial=0)) < 0:
        raise ValueError(
            f"ctc_loss: input_lengths {given.tolist()} and target_lengths {wanted.tolist()}; "
            f"expected 0 to {steps} and 0 or more"
        )
    labels = _padded(targets.to("cpu").numpy(), wanted, n)  # (N, S)
    real = np.arange(labels.shape[1]) < wanted[:, None]
    if real.any() and not (0 <= labels[real].min() and labels[real].max() < classes):
        raise IndexError(
            f"ctc_loss: targets hold {labels[real].min()} to {labels[real].max()}, expected class "
            f"numbers 0 to {classes - 1}"
        )
    if not 0 <= blank < classes:
        raise ValueError(f"ctc_loss: blank={blank}; expected a class number, 0 to {classes - 1}")
    loss = _negative_log(log_probs, np.where(real, labels, blank), given, wanted, blank)
    impossible = loss > -_NEVER / 2
    loss = engine.where(impossible, 0.0 if zero_infinity else math.inf, loss).astype(narrow)
    if reduction == "mean":
        return (loss / engine.asarray(np.maximum(wanted, 1)).astype(loss.dtype)).mean()
    return loss.sum() if reduction == "sum" else loss.reshape(()) if single else loss


def _negative_log(
    log_probs: Tensor, labels: np.ndarray, given: np.ndarray, wanted: np.ndarray, blank: int
) -> Tensor:
    steps, n, _ = log_probs.shape
    states = np.full((n, 2 * labels.shape[1] + 1), blank)  # blank, label, blank, label, ..., blank
    states[:, 1::2] = labels
    # A label follows the label before without a blank, unless they are the same.
    skips = np.zeros(states.shape, np.bool_)
    skips[:, 3::2] = labels[:, 1:] != labels[:, :-1]
    rows = engine.arange(n)
    emitted = log_probs[:, rows.reshape((n, 1)), engine.asarray(states)]  # (T, N, states)
    each = _C._chunks(emitted, steps, 0) if steps else ()
    never = engine.full((n, 2), _NEVER, dtype=log_probs.dtype)
    may_skip = engine.asarray(skips)
    # Before the first step: as if the state before the first blank had been read.
    start = np.full(states.shape, _NEVER)
    start[:, 0] = 0.0
    alpha = engine.asarray(start).astype(log_probs.dtype)
    for t, step in enumerate(each):
        longer = engine.concat([never, alpha], axis=1)  # (N, 2 + states)
        reached = engine.logaddexp(alpha, longer[:, 1:-1])
        if t > 0:
            reached = engine.logaddexp(reached, engine.where(may_skip, longer[:, :-2], _NEVER))
        following = reached + step.reshape(states.shape)
        runs = engine.asarray(given > t).reshape((n, 1))
        alpha = engine.where(runs, following, alpha)
    last = engine.asarray(2 * wanted)
    before = engine.asarray(np.maximum(2 * wanted - 1, 0))
    ends_in_label = engine.where(engine.asarray(wanted > 0), alpha[rows, before], _NEVER)
    return -engine.logaddexp(alpha[rows, last], ends_in_label)


def _lengths(value: Tensor | Sequence[int], n: int) -> np.ndarray:
    lengths = np.asarray(value.to("cpu").numpy() if isinstance(value, Tensor) else value, np.int64)
    lengths = lengths.reshape(-1)
    if len(lengths) != n:
        raise ValueError(f"ctc_loss: {len(lengths)} lengths for {n} sequences")
    return lengths


def _padded(targets: np.ndarray, lengths: np.ndarray, n: int) -> np.ndarray:
    """(N, S) of targets that come like that or end to end."""
    longest = int(lengths.max(initial=0))
    if targets.ndim == 2:
        if targets.shape[0] != n or targets.shape[1] < longest:
            raise ValueError(
                f"ctc_loss: targets have shape {targets.shape}, expected ({n}, S) with S at least "
                f"{longest}, the longest of target_lengths"
            )
        return targets[:, :longest].astype(np.int64)
    if targets.ndim != 1 or targets.size != lengths.sum():
        raise ValueError(
            f"ctc_loss: targets have shape {targets.shape}, expected (N, S), or one axis of "
            f"{lengths.sum()}, the sum of target_lengths"
        )
    padded = np.zeros((n, longest), np.int64)
    padded[np.arange(longest) < lengths[:, None]] = targets
    return padded
