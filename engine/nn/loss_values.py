"""Losses of numbers and of probabilities; see the functions for formulas and arguments."""

from __future__ import annotations

from engine import Tensor
from engine.nn import functional as F
from engine.nn.functional.loss import REDUCTIONS
from engine.nn.loss_base import Loss


class MSELoss(Loss):
    """L = (x - target)^2.

    >>> MSELoss()(engine.asarray([0.0]), engine.asarray([2.0]))
    Tensor(4., dtype=float32)
    """

    def __init__(
        self,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction)

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(x, target, reduction=self.reduction)


class L1Loss(Loss):
    """L = |x - target|.

    >>> L1Loss()(engine.asarray([0.0]), engine.asarray([2.0]))
    Tensor(2., dtype=float32)
    """

    def __init__(
        self,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction)

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return F.l1_loss(x, target, reduction=self.reduction)


class SmoothL1Loss(Loss):
    """L = d^2 / (2 beta) where d = |x - target| is below beta, else d - beta / 2 (Girshick,
    arXiv:1504.08083).

    >>> SmoothL1Loss()(engine.asarray([0.0]), engine.asarray([2.0]))
    Tensor(1.5, dtype=float32)
    """

    def __init__(
        self,
        reduction: str = "mean",
        beta: float = 1.0,
    ) -> None:
        super().__init__(reduction)
        self.beta = beta

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return F.smooth_l1_loss(x, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(Loss):
    """L = d^2 / 2 where d = |x - target| is at most delta, else delta (d - delta / 2).

    >>> HuberLoss()(engine.asarray([0.0]), engine.asarray([2.0]))
    Tensor(1.5, dtype=float32)
    """

    def __init__(
        self,
        reduction: str = "mean",
        delta: float = 1.0,
    ) -> None:
        super().__init__(reduction)
        self.delta = delta

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return F.huber_loss(x, target, reduction=self.reduction, delta=self.delta)


class NLLLoss(Loss):
    """L = -x[target] for logarithms of probabilities x (N, C, ...); see CrossEntropyLoss.

    >>> NLLLoss()(engine.asarray([[-1.0, -2.0]]), engine.asarray([1]))
    Tensor(2., dtype=float32)
    """

    weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        ignore_index: int = -100,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction)
        self.register_buffer("weight", weight)
        self.ignore_index = ignore_index

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return F.nll_loss(
            x, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction
        )


class BCELoss(Loss):
    """L = -(t log x + (1 - t) log(1 - x)) for probabilities x.

    >>> BCELoss()(engine.asarray([0.5]), engine.asarray([1.0]))
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
        return F.binary_cross_entropy(x, target, weight=self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(Loss):
    """BCELoss of sigmoid(x), without overflow; pos_weight says how much more a target of 1 counts.

    >>> BCEWithLogitsLoss()(engine.asarray([0.0]), engine.asarray([1.0]))
    Tensor(0.6931472, dtype=float32)
    """

    weight: Tensor | None

    pos_weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(
            x, target, weight=self.weight, reduction=self.reduction, pos_weight=self.pos_weight
        )


class KLDivLoss(Loss):
    """L = target * (log target - x): the divergence of the distribution with logarithms x from the
    target. The reduction "batchmean" divides the sum by N.

    >>> KLDivLoss()(engine.asarray([0.0]), engine.asarray([1.0]))
    Tensor(0., dtype=float32)
    """

    def __init__(
        self,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__(reduction, ("batchmean", *REDUCTIONS))
        self.log_target = log_target

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return F.kl_div(x, target, reduction=self.reduction, log_target=self.log_target)


class PoissonNLLLoss(Loss):
    """-log of a Poisson distribution's probability; x is the logarithm of its mean, or the mean.

    >>> PoissonNLLLoss()(engine.asarray([0.0]), engine.asarray([2.0]))
    Tensor(1., dtype=float32)
    """

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        eps: float = 1e-8,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return F.poisson_nll_loss(
            x,
            target,
            log_input=self.log_input,
            full=self.full,
            eps=self.eps,
            reduction=self.reduction,
        )


class GaussianNLLLoss(Loss):
    """L = (log var + (x - target)^2 / var) / 2 (Nix and Weigend, 1994).

    >>> GaussianNLLLoss()(engine.asarray([0.0]), engine.asarray([2.0]), engine.asarray([1.0]))
    Tensor(2., dtype=float32)
    """

    def __init__(
        self,
        full: bool = False,
        eps: float = 1e-6,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction)
        self.full = full
        self.eps = eps

    def forward(self, x: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        return F.gaussian_nll_loss(
            x, target, var, full=self.full, eps=self.eps, reduction=self.reduction
        )
