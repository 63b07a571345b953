"""Losses of distances and of order."""

from __future__ import annotations

from collections.abc import Callable

import engine
from engine import Tensor
from engine.nn.functional.distance import pairwise_distance
from engine.nn.functional.loss import reduced
from engine.nn.functional.sizes import check_same_shape


def hinge_embedding_loss(
    x: Tensor, target: Tensor, margin: float = 1.0, reduction: str = "mean"
) -> Tensor:
    """x where the target is 1, max(0, margin - x) where it is -1, for distances x.

    >>> hinge_embedding_loss(engine.asarray([0.5, 0.5]), engine.asarray([1, -1]), 2.0, "none")
    Tensor([0.5, 1.5], dtype=float32)
    """
    near = engine.where(target != -1, x, 0.0)
    far = engine.where(target != 1, engine.relu(margin - x), 0.0)
    return reduced("hinge_embedding_loss", near + far, reduction)


def margin_ranking_loss(
    x1: Tensor, x2: Tensor, target: Tensor, margin: float = 0.0, reduction: str = "mean"
) -> Tensor:
    """max(0, -t (x1 - x2) + margin): a target t of 1 wants x1 above x2, -1 the opposite.

    Raises:
        ValueError: other numbers of axes than each other's.

    >>> margin_ranking_loss(engine.asarray([1.0]), engine.asarray([3.0]), engine.asarray([1.0]))
    Tensor(2., dtype=float32)
    """
    if not x1.ndim == x2.ndim == target.ndim:
        raise ValueError(
            f"margin_ranking_loss: x1 has shape {x1.shape}, x2 {x2.shape}, target {target.shape}; "
            "expected as many axes of each"
        )
    return reduced("margin_ranking_loss", engine.relu(margin - target * (x1 - x2)), reduction)


def cosine_embedding_loss(
    x1: Tensor, x2: Tensor, target: Tensor, margin: float = 0.0, reduction: str = "mean"
) -> Tensor:
    """1 - cos(x1, x2) where the target is 1, max(0, cos(x1, x2) - margin) where it is -1.

    Args:
        x1, x2: (N, D) or (D,).
        target: (N,) or ().

    Raises:
        ValueError: shapes that do not fit.

    >>> x = engine.asarray([[1.0, 0.0]])
    >>> cosine_embedding_loss(x, x, engine.asarray([-1]), margin=0.5)
    Tensor(0.5, dtype=float32)
    """
    check_same_shape("cosine_embedding_loss", x1, x2, "x1 and x2")
    if x1.ndim not in (1, 2) or target.shape != x1.shape[:-1]:
        raise ValueError(
            f"cosine_embedding_loss: x1 has shape {x1.shape}, target {target.shape}; expected "
            "(N, D) and (N,), or (D,) and ()"
        )
    eps = 1e-12  # within the root: no infinite slope at 0
    first, second = (engine.square(x).sum(axis=-1) + eps for x in (x1, x2))
    cosine = (x1 * x2).sum(axis=-1) / engine.sqrt(first * second)
    near = engine.where(target == 1, 1.0 - cosine, 0.0)
    far = engine.where(target == -1, engine.relu(cosine - margin), 0.0)
    return reduced("cosine_embedding_loss", near + far, reduction)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """max(0, |anchor - positive|_p - |anchor - negative|_p + margin) (Schroff et al.,
    arXiv:1503.03832).

    Args:
        anchor, positive, negative: (..., D).
        eps: added to each difference.
        swap: whether the negative's distance from the positive counts where it is smaller
            (Balntas et al., BMVC 2016).

    >>> near, far = engine.zeros((1, 2)), engine.ones((1, 2))
    >>> triplet_margin_loss(near, near, far, 2.0).shape
    ()
    """

    def distance(a: Tensor, b: Tensor) -> Tensor:
        return pairwise_distance(a, b, p, eps)

    return triplet_margin_with_distance_loss(
        anchor,
        positive,
        negative,
        distance_function=distance,
        margin=margin,
        swap=swap,
        reduction=reduction,
    )


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """triplet_margin_loss with another distance than the Euclidean.

    Args:
        distance_function: distances of two tensors, differentiable; None for pairwise_distance.

    Raises:
        ValueError: shapes that do not fit each other.

    >>> a, b = engine.zeros((1, 2)), engine.ones((1, 2))
    >>> far = lambda a, b: engine.abs(a - b).max(axis=-1)
    >>> triplet_margin_with_distance_loss(a, a, b, distance_function=far, margin=3.0)
    Tensor(2., dtype=float32)
    """
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise ValueError(
            f"triplet_margin_loss: anchor has shape {anchor.shape}, positive {positive.shape}, "
            f"negative {negative.shape}; expected as many axes of each"
        )
    distance = distance_function or pairwise_distance
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = engine.minimum(far, distance(positive, negative))
    return reduced("triplet_margin_loss", engine.relu(near - far + margin), reduction)
