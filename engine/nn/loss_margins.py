"""Losses of distances, margins and sequences; see the functions for formulas and arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engine import Tensor
from engine.nn import functional as F
from engine.nn.loss_base import Loss


class HingeEmbeddingLoss(Loss):
    """L = x where the target is 1, max(0, margin - x) where it is -1.

    >>> HingeEmbeddingLoss()(engine.asarray([0.5]), engine.asarray([-1]))
    Tensor(0.5, dtype=float32)
    """

    def __init__(
        self,
        margin: float = 1.0,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction)
        self.margin = margin

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return F.hinge_embedding_loss(x, target, margin=self.margin, reduction=self.reduction)


class MarginRankingLoss(Loss):
    """L = max(0, -t (x1 - x2) + margin): a target t of 1 wants x1 above x2, -1 the opposite.

    >>> MarginRankingLoss()(engine.asarray([0.0]), engine.asarray([2.0]), engine.asarray([1.0]))
    Tensor(2., dtype=float32)
    """

    def __init__(
        self,
        margin: float = 0.0,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction)
        self.margin = margin

    def forward(self, x1: Tensor, x2: Tensor, target: Tensor) -> Tensor:
        return F.margin_ranking_loss(x1, x2, target, margin=self.margin, reduction=self.reduction)


class CosineEmbeddingLoss(Loss):
    """L = 1 - cos(x1, x2) where the target is 1, max(0, cos(x1, x2) - margin) where it is -1.

    >>> CosineEmbeddingLoss()(engine.ones((1, 2)), engine.ones((1, 2)), engine.asarray([-1])).shape
    ()
    """

    def __init__(
        self,
        margin: float = 0.0,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction)
        self.margin = margin

    def forward(self, x1: Tensor, x2: Tensor, target: Tensor) -> Tensor:
        return F.cosine_embedding_loss(x1, x2, target, margin=self.margin, reduction=self.reduction)


class TripletMarginLoss(Loss):
    """L = max(0, |anchor - positive|_p - |anchor - negative|_p + margin) (Schroff et al.,
    arXiv:1503.03832).

    >>> near, far = engine.zeros((1, 2)), engine.ones((1, 2))
    >>> TripletMarginLoss()(near, near, far).tolist()
    0.0
    """

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction)
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_loss(
            anchor,
            positive,
            negative,
            margin=self.margin,
            p=self.p,
            eps=self.eps,
            swap=self.swap,
            reduction=self.reduction,
        )


class MultiMarginLoss(Loss):
    """L = sum over classes j but the target t of max(0, margin - x_t + x_j)^p / C.

    >>> MultiMarginLoss()(engine.asarray([[0.0, 2.0]]), engine.asarray([0]))
    Tensor(1.5, dtype=float32)
    """

    weight: Tensor | None

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction)
        self.p = p
        self.margin = margin
        self.register_buffer("weight", weight)

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return F.multi_margin_loss(
            x, target, p=self.p, margin=self.margin, weight=self.weight, reduction=self.reduction
        )


class MultiLabelMarginLoss(Loss):
    """L = sum over targets t and other classes j of max(0, 1 - x_t + x_j) / C; targets end at -1.

    >>> MultiLabelMarginLoss()(engine.asarray([0.0, 2.0]), engine.asarray([0, -1]))
    Tensor(1.5, dtype=float32)
    """

    def __init__(
        self,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction)

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_margin_loss(x, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(Loss):
    """L = -(t log sigmoid(x) + (1 - t) log sigmoid(-x)), the mean over classes.

    >>> MultiLabelSoftMarginLoss()(engine.zeros((1, 3)), engine.ones((1, 3)))
    Tensor(0.6931472, dtype=float32)
    """

    weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction)
        self.register_buffer("weight", weight)

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_soft_margin_loss(
            x, target, weight=self.weight, reduction=self.reduction
        )


class SoftMarginLoss(Loss):
    """L = log(1 + exp(-t x)) for targets t of 1 and -1.

    >>> SoftMarginLoss()(engine.zeros(3), engine.ones(3))
    Tensor(0.6931472, dtype=float32)
    """

    def __init__(
        self,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction)

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return F.soft_margin_loss(x, target, reduction=self.reduction)


class CTCLoss(Loss):
    """-log of the probability that log_probs (T, N, C) read as the target (Graves et al.,
    ICML 2006); see ctc_loss.

    >>> CTCLoss()(engine.zeros((2, 1, 2)), engine.asarray([[1]]), [2], [1]).shape
    ()
    """

    def __init__(
        self,
        blank: int = 0,
        reduction: str = "mean",
        zero_infinity: bool = False,
    ) -> None:
        super().__init__(reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(
        self,
        x: Tensor,
        target: Tensor,
        input_lengths: Tensor | Sequence[int],
        target_lengths: Tensor | Sequence[int],
    ) -> Tensor:
        return F.ctc_loss(
            x,
            target,
            input_lengths,
            target_lengths,
            blank=self.blank,
            reduction=self.reduction,
            zero_infinity=self.zero_infinity,
        )


class TripletMarginWithDistanceLoss(Loss):
    """TripletMarginLoss with another distance than the Euclidean.

    >>> loss = TripletMarginWithDistanceLoss(margin=2.0)
    >>> loss(engine.zeros((1, 2)), engine.zeros((1, 2)), engine.ones((1, 2))).shape
    ()
    """

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction)
        self.distance_function = distance_function
        self.margin = margin
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )
