"""Normalisation."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

import engine
from engine import _C, Tensor
from engine.nn.functional.distance import vector_norm
from engine.nn.functional.padding import pad
from engine.nn.functional.pooling import avg_pool2d
from engine.nn.functional.sizes import is_channels_last


def batch_norm(
    x: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """(x - mean) / sqrt(var + eps) * weight + bias by channel, axis 1 of x.

    In training, mean and (biased) variance are the batch's, and the running ones move in place:
    running = (1 - momentum) * running + momentum * batch, with the unbiased variance.

    Raises:
        ValueError: in training, one value a channel; in inference, no running statistics.

    >>> batch_norm(engine.ones((2, 3, 4, 4)), engine.zeros(3), engine.ones(3)).shape
    (2, 3, 4, 4)
    """
    rows = x.reshape((*x.shape[:2], -1)) if x.ndim > 4 else x
    y = _C.batch_norm(rows, weight, bias, running_mean, running_var, training, momentum, eps)
    return y.reshape(x.shape) if x.ndim > 4 else y


def batch_norm_relu(
    x: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
    residual: Tensor | None = None,
) -> Tensor:
    """relu(batch_norm(x) + residual) in one pass over memory; the residual has x's shape.

    >>> batch_norm_relu(-engine.ones((2, 3, 4, 4)), engine.zeros(3), engine.ones(3)).max()
    Tensor(0., dtype=float32)
    """
    return _C.batch_norm(
        x, weight, bias, running_mean, running_var, training, momentum, eps, residual, True
    )


def layer_norm(
    x: Tensor,
    normalized_shape: int | Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """(x - mean) / sqrt(var + eps) * weight + bias over the last axes, of sizes normalized_shape.

    >>> layer_norm(engine.ones((2, 5, 8)), 8).shape
    (2, 5, 8)
    """
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    return _C.layer_norm(x, shape, weight, bias, eps)


def group_norm(
    x: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """(x - mean) / sqrt(var + eps) * weight + bias, the statistics over each of num_groups groups
    of the channels of each sample (Wu and He, arXiv:1803.08494); weight and bias by channel.

    Raises:
        ValueError: channels that are no multiple of num_groups.

    >>> group_norm(engine.ones((2, 6, 4, 4)), 3).shape
    (2, 6, 4, 4)
    """
    if x.ndim < 2 or num_groups < 1 or x.shape[1] % num_groups:
        raise ValueError(
            f"group_norm: x has shape {x.shape}, expected (N, C, ...) with C a multiple of "
            f"num_groups = {num_groups}"
        )
    width = math.prod(x.shape[1:]) // num_groups
    y = _C.layer_norm(x.reshape((-1, width)), (width,), None, None, eps).reshape(x.shape)
    y = _by_channel("group_norm", y, weight, bias)
    return y.contiguous("channels_last") if is_channels_last(x) else y


def instance_norm(
    x: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """batch_norm with statistics of each channel of each sample (Ulyanov et al.,
    arXiv:1607.08022). The running ones follow their mean over the samples.

    Args:
        use_input_stats: whether the statistics are x's own; else the running ones.

    Raises:
        ValueError: one value a channel, or neither own nor running statistics.

    >>> instance_norm(engine.ones((2, 3, 4, 4))).shape
    (2, 3, 4, 4)
    """
    if not use_input_stats:
        return batch_norm(x, running_mean, running_var, weight, bias, False, momentum, eps)
    if x.ndim < 3 or math.prod(x.shape[2:]) < 2:
        raise ValueError(
            f"instance_norm: x has shape {x.shape}, expected (N, C, ...) with two or more values "
            "a channel"
        )
    count = math.prod(x.shape[2:])
    rows = x.reshape((-1, count))
    y = _C.layer_norm(rows, (count,), None, None, eps).reshape(x.shape)
    if running_mean is not None and running_var is not None:
        with engine.no_grad():
            channels = rows.detach().reshape((*x.shape[:2], count))
            mean = channels.mean(axis=2).mean(axis=0)
            var = engine.var(channels, axis=2, correction=1).mean(axis=0)
            running_mean.copy_(running_mean * (1 - momentum) + mean * momentum)
            running_var.copy_(running_var * (1 - momentum) + var * momentum)
    y = _by_channel("instance_norm", y, weight, bias)
    return y.contiguous("channels_last") if is_channels_last(x) else y


def _by_channel(op: str, y: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    shape = (-1, *(1,) * (y.ndim - 2))
    for name, value in (("weight", weight), ("bias", bias)):
        if value is not None and value.shape != (y.shape[1],):
            raise ValueError(
                f"{op}: {name} has shape {value.shape}, expected ({y.shape[1]},): one number for "
                f"each channel of {y.shape}"
            )
    if weight is not None:
        y = y * weight.reshape(shape)
    return y if bias is None else y + bias.reshape(shape)


def rms_norm(
    x: Tensor,
    normalized_shape: int | Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    """x / sqrt(mean(x^2) + eps) * weight over the last axes, of sizes normalized_shape (Zhang and
    Sennrich, arXiv:1910.07467).

    Args:
        eps: None for the dtype's smallest step at 1.

    Raises:
        ValueError: last axes of other sizes.

    >>> rms_norm(engine.full((2, 8), 3.0), 8, eps=0.0).max()
    Tensor(1., dtype=float32)
    """
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    if not shape or x.shape[-len(shape) :] != shape:
        raise ValueError(f"rms_norm: x has shape {x.shape}, expected its last axes to be {shape}")
    if eps is None:
        eps = 2.0**-7 if x.dtype == engine.bfloat16 else float(np.finfo(str(x.dtype)).eps)
    axes = tuple(range(-len(shape), 0))
    y = x * engine.rsqrt(engine.square(x).mean(axis=axes, keepdims=True) + eps)
    return y if weight is None else y * weight


def local_response_norm(
    x: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """x / (k + alpha * mean of x^2 over `size` neighbouring channels)^beta (Krizhevsky et al.,
    NeurIPS 2012); zeros stand for channels beyond the ends.

    Raises:
        ValueError: x is not (N, C, ...), or size is below 1.

    >>> local_response_norm(engine.ones((1, 4, 2, 2)), 2).shape
    (1, 4, 2, 2)
    """
    if x.ndim < 3 or size < 1:
        raise ValueError(
            f"local_response_norm: x has shape {x.shape} and size={size}; expected (N, C, ...) of "
            "three axes or more, and a size of 1 or more"
        )
    n, c = x.shape[:2]
    squares = engine.square(x).reshape((n, 1, c, -1))
    squares = pad(squares, (0, 0, size // 2, (size - 1) // 2))
    mean = avg_pool2d(squares, (size, 1), 1).reshape(x.shape)
    return x / (mean * alpha + k) ** beta


def normalize(x: Tensor, p: float = 2.0, axis: int = 1, eps: float = 1e-12) -> Tensor:
    """x / max(|x|_p, eps) along an axis.

    >>> normalize(engine.asarray([[3.0, 4.0]])).tolist()
    [[0.6000000238418579, 0.800000011920929]]
    """
    return x / engine.maximum(vector_norm(x, p, axis, keepdims=True), eps)
