"""Batch norm over the parts of a batch that several ranks hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import engine
from engine import _C, Tensor
from engine.autograd import Function
from engine.autograd.function import once_differentiable

if TYPE_CHECKING:
    from engine.nn.norm import BatchNorm2d


class _Statistics(Function):
    """(mean, biased variance) by channel, (C,) each, of x (N, C, ...) over all ranks; the number of
    values of a channel goes into `count`. A rank may have no samples."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, group: Any, count: list[float]) -> tuple[Tensor, Tensor]:
        channels = x.shape[1]
        here = x.size // max(channels, 1)
        axes = [axis for axis in range(x.ndim) if axis != 1]
        own = np.zeros(1 + 2 * channels)
        if here:
            own[0] = here
            own[1 : 1 + channels] = _on_host(x.mean(axis=axes))
            own[1 + channels :] = _on_host(_C.var(x, axis=axes))
        rows = group.all_gather(engine.from_numpy(own), label="statistics of a batch norm").numpy()
        # Parts are joined by rank, so that all ranks get the same bits (Chan, Golub and LeVeque,
        # "Updating formulae and a pairwise algorithm for computing sample variances", 1979).
        weights = rows[:, :1]
        total = float(weights.sum())
        means, variances = rows[:, 1 : 1 + channels], rows[:, 1 + channels :]
        mean = (weights * means).sum(axis=0) / total
        variance = (weights * (variances + (means - mean) ** 2)).sum(axis=0) / total
        count.append(total)
        ctx.group, ctx.total, ctx.mean = group, total, mean
        ctx.save_for_backward(x)
        return _beside(x, mean), _beside(x, variance)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_mean: Tensor, grad_variance: Tensor) -> tuple[Any, None, None]:
        (x,) = ctx.saved_tensors
        both = np.concatenate([_on_host(grad_mean), _on_host(grad_variance)]).astype(np.float64)
        ctx.group.all_reduce(engine.from_numpy(both), label="gradients of a batch norm")
        by_mean, by_variance = np.split(both, 2)
        # d mean / d x = 1 / total, d variance / d x = 2 (x - mean) / total.
        slope = 2 * by_variance / ctx.total
        offset = by_mean / ctx.total - slope * ctx.mean
        wide = (1, -1, *[1] * (x.ndim - 2))
        return x * _beside(x, slope.reshape(wide)) + _beside(x, offset.reshape(wide)), None, None


# Statistics are numbers of the host: few, and ranks add them up in float64.


def _on_host(values: Tensor) -> NDArray[Any]:
    return values.to("cpu").numpy()


def _beside(x: Tensor, values: NDArray[Any]) -> Tensor:
    return engine.asarray(values, dtype=x.dtype, device=x.device)


def synced_batch_norm(
    norm: BatchNorm2d, x: Tensor, momentum: float, residual: Tensor | None, relu: bool
) -> Tensor:
    """What a BatchNorm2d in training makes of x, with the mean and the variance of the parts of all
    ranks of `norm.group`; the running ones follow likewise, equal on all ranks.

    Args:
        x: this rank's part, (N, C, ...); N may be 0.
        momentum: weight of the batch in the running statistics.
        residual, relu: as BatchNorm2d.forward.

    Raises:
        ValueError: all parts together hold fewer than 2 values of a channel.

    >>> synced_batch_norm(norm, x, 0.1, None, False).shape      # doctest: +SKIP
    (2, 3, 4, 4)
    """
    count: list[float] = []
    mean, variance = _Statistics.apply(x, norm.group, count)
    (total,) = count
    if total < 2:
        raise ValueError(
            f"batch_norm: in training all ranks together have {total:.0f} value(s) of each channel "
            f"of x {x.shape}, and the variance needs at least 2. Use a larger batch"
        )
    y = _C.batch_norm(
        x, norm.weight, norm.bias, mean, variance, False, 0.0, norm.eps, residual, relu
    )
    with engine.no_grad():
        for running, batch, factor in (
            (norm.running_mean, mean, 1.0),
            (norm.running_var, variance, total / (total - 1)),
        ):
            if running is not None:
                moved = batch.detach().astype(running.dtype) * (momentum * factor)
                running.copy_(running * (1 - momentum) + moved)
    return y
