"""Losses of numbers and of probabilities."""

from __future__ import annotations

import math

import engine
from engine import _C, Tensor
from engine.nn.functional.activation import logsigmoid
from engine.nn.functional.sizes import check_float, check_one_of, check_same_shape

REDUCTIONS = ("mean", "sum", "none")


def reduced(op: str, loss: Tensor, reduction: str) -> Tensor:
    """The mean of the losses, their sum, or ("none") they themselves.

    Raises:
        ValueError: another reduction.

    >>> reduced("mse_loss", engine.asarray([1.0, 3.0]), "mean")
    Tensor(2., dtype=float32)
    """
    check_one_of(op, "reduction", reduction, REDUCTIONS)
    if reduction == "none":
        return loss
    return loss.mean() if reduction == "mean" else loss.sum()


def _weighted(op: str, loss: Tensor, weight: Tensor | None, reduction: str) -> Tensor:
    return reduced(op, loss if weight is None else loss * weight, reduction)


def mse_loss(
    x: Tensor, target: Tensor, reduction: str = "mean", weight: Tensor | None = None
) -> Tensor:
    """(x - target)^2.

    Args:
        x, target: of one shape: (N, 1) against (N,) would compare all with all.
        reduction: "mean", "sum" or "none".
        weight: of each element, or None for ones.

    >>> mse_loss(engine.asarray([1.0, 2.0]), engine.asarray([1.0, 4.0]))
    Tensor(2., dtype=float32)
    """
    check_same_shape("mse_loss", x, target)
    return _weighted("mse_loss", engine.square(x - target), weight, reduction)


def l1_loss(
    x: Tensor, target: Tensor, reduction: str = "mean", weight: Tensor | None = None
) -> Tensor:
    """|x - target|; see mse_loss.

    >>> l1_loss(engine.asarray([1.0, 2.0]), engine.asarray([1.0, 4.0]))
    Tensor(1., dtype=float32)
    """
    check_same_shape("l1_loss", x, target)
    return _weighted("l1_loss", engine.abs(x - target), weight, reduction)


def smooth_l1_loss(x: Tensor, target: Tensor, reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """d^2 / (2 beta) where d = |x - target| is below beta, else d - beta / 2 (Girshick,
    arXiv:1504.08083).

    Raises:
        ValueError: shapes that differ, or a negative beta.

    >>> smooth_l1_loss(engine.asarray([0.0, 4.0]), engine.asarray([1.0, 0.0]), "none").tolist()
    [0.5, 3.5]
    """
    check_same_shape("smooth_l1_loss", x, target)
    if beta < 0:
        raise ValueError(f"smooth_l1_loss: beta={beta}; expected 0 or more")
    if beta == 0:
        return l1_loss(x, target, reduction)
    d = engine.abs(x - target)
    loss = engine.where(d < beta, engine.square(d) * (0.5 / beta), d - beta / 2)
    return reduced("smooth_l1_loss", loss, reduction)


def huber_loss(x: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0) -> Tensor:
    """d^2 / 2 where d = |x - target| is at most delta, else delta (d - delta / 2) (Huber, 1964).

    Raises:
        ValueError: shapes that differ, or a delta that is not positive.

    >>> huber_loss(engine.asarray([0.0, 4.0]), engine.asarray([1.0, 0.0]), "none", 2.0).tolist()
    [0.5, 6.0]
    """
    check_same_shape("huber_loss", x, target)
    if delta <= 0:
        raise ValueError(f"huber_loss: delta={delta}; expected more than 0")
    d = engine.abs(x - target)
    loss = engine.where(d <= delta, engine.square(d) * 0.5, (d - delta / 2) * delta)
    return reduced("huber_loss", loss, reduction)


def binary_cross_entropy(
    x: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean"
) -> Tensor:
    """-(t log x + (1 - t) log(1 - x)) for probabilities x; logarithms are at least -100.

    Raises:
        ValueError: shapes that differ, or an x that is no probability.

    >>> binary_cross_entropy(engine.asarray([0.5]), engine.asarray([1.0]))
    Tensor(0.6931472, dtype=float32)
    """
    check_float("binary_cross_entropy", x)
    check_same_shape("binary_cross_entropy", x, target)
    if x.size and not bool(((x >= 0) & (x <= 1)).all()):
        raise ValueError(
            "binary_cross_entropy: x has elements outside 0 to 1, expected probabilities; for "
            "logits there is binary_cross_entropy_with_logits"
        )

    def log(p: Tensor) -> Tensor:
        none = p == 0
        return engine.maximum(
            engine.where(none, -100.0, engine.log(engine.where(none, 1.0, p))), -100.0
        )

    loss = -(target * log(x) + (1.0 - target) * log(1.0 - x))
    return _weighted("binary_cross_entropy", loss, weight, reduction)


def binary_cross_entropy_with_logits(
    x: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """binary_cross_entropy(sigmoid(x), target) without overflow.

    Args:
        weight: of each element, broadcast to them.
        pos_weight: by how much more a target of 1 counts, broadcast to the elements.

    >>> binary_cross_entropy_with_logits(engine.asarray([0.0]), engine.asarray([1.0]))
    Tensor(0.6931472, dtype=float32)
    """
    op = "binary_cross_entropy_with_logits"
    check_float(op, x)
    check_same_shape(op, x, target)
    share = 1.0 if pos_weight is None else (pos_weight - 1.0) * target + 1.0
    loss = (1.0 - target) * x - logsigmoid(x) * share
    return _weighted(op, loss, weight, reduction)


def kl_div(x: Tensor, target: Tensor, reduction: str = "mean", log_target: bool = False) -> Tensor:
    """target * (log target - x), 0 where the target is: the Kullback-Leibler divergence of the
    distribution with logarithms x from the target.

    Args:
        reduction: "mean", "sum", "none", or "batchmean": the sum divided by N, the divergence.
        log_target: whether the target, too, is given by its logarithms.

    >>> kl_div(engine.log(engine.asarray([0.5, 0.5])), engine.asarray([0.5, 0.5]), "sum")
    Tensor(0., dtype=float32)
    """
    check_one_of("kl_div", "reduction", reduction, ("batchmean", *REDUCTIONS))
    if log_target:
        loss = engine.exp(target) * (target - x)
    else:
        none = target <= 0
        entropy = target * engine.log(engine.where(none, 1.0, target))
        loss = engine.where(none, 0.0, entropy) - target * x
    if reduction == "batchmean":
        return loss.sum() / max(x.shape[0] if x.ndim else 1, 1)
    return reduced("kl_div", loss, reduction)


def poisson_nll_loss(
    x: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    eps: float = 1e-8,
    reduction: str = "mean",
) -> Tensor:
    """-log of a Poisson distribution's probability of the target, but for the term log(target!).

    Args:
        x: the logarithm of its mean, or (log_input False) the mean.
        full: whether Stirling's approximation of the missing term is added.
        eps: keeps the logarithm of the mean finite.

    >>> poisson_nll_loss(engine.asarray([0.0]), engine.asarray([2.0]))
    Tensor(1., dtype=float32)
    """
    check_same_shape("poisson_nll_loss", x, target)
    loss = engine.exp(x) - target * x if log_input else x - target * engine.log(x + eps)
    if full:
        t = engine.where(target > 1, target, 1.0)
        stirling = t * engine.log(t) - t + 0.5 * engine.log(t * (2 * math.pi))
        loss = loss + engine.where(target > 1, stirling, 0.0)
    return reduced("poisson_nll_loss", loss, reduction)


def gaussian_nll_loss(
    x: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """(log v + (x - target)^2 / v) / 2 with v = max(var, eps): -log of a normal distribution's
    density (Nix and Weigend, 1994).

    Args:
        var: of x's shape, or without its last axis or with 1 for its size; or a number.
        full: whether log(2 pi) / 2 is added.

    Raises:
        ValueError: a negative variance, or a shape that does not fit.

    >>> gaussian_nll_loss(engine.asarray([0.0]), engine.asarray([2.0]), engine.asarray([1.0]))
    Tensor(2., dtype=float32)
    """
    if isinstance(var, float | int):
        var = engine.full_like(x, var)
    if var.shape != x.shape:
        if var.shape == x.shape[:-1]:
            var = engine.expand_dims(var, axis=-1)
        elif var.shape != (*x.shape[:-1], 1):
            raise ValueError(
                f"gaussian_nll_loss: var has shape {var.shape}, expected {x.shape}, or that "
                "without its last axis or with 1 for its size"
            )
    if bool((var < 0).any()):
        raise ValueError("gaussian_nll_loss: var has negative elements, expected variances")
    # The limit does not stop the gradient of the variance.
    held = var.detach()
    v = var + (engine.maximum(held, eps) - held)
    loss = 0.5 * (engine.log(v) + engine.square(x - target) / v)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return reduced("gaussian_nll_loss", loss, reduction)


def sigmoid_focal_loss(
    x: Tensor, target: Tensor, alpha: float = 0.25, gamma: float = 2.0, reduction: str = "none"
) -> Tensor:
    """binary_cross_entropy_with_logits times (1 - p)^gamma, p the probability given to the target
    (Lin et al., arXiv:1708.02002).

    Args:
        alpha: weight of targets of 1, 1 - alpha that of the others; negative for no weights.

    >>> sigmoid_focal_loss(engine.asarray([0.0]), engine.asarray([1.0]), -1.0, 1.0).shape
    (1,)
    """
    entropy = binary_cross_entropy_with_logits(x, target, reduction="none")
    p = _C.sigmoid(x)
    right = p * target + (1.0 - p) * (1.0 - target)
    loss = entropy * (1.0 - right) ** gamma
    if alpha >= 0:
        loss = loss * (alpha * target + (1 - alpha) * (1.0 - target))
    return reduced("sigmoid_focal_loss", loss, reduction)
