"""Layers as functions of tensors; see the classes of the same names for formulas and papers.

All are differentiable in their floating-point tensors. Pictures have the logical shape (N, C, H, W)
whatever their memory order; results are channels-last in memory. Arguments that take "int or pair"
apply an int to rows and columns alike.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine import _C
from engine._C import Generator, Tensor

__all__ = [
    "adaptive_avg_pool2d",
    "avg_pool2d",
    "batch_norm",
    "batch_norm_relu",
    "conv2d",
    "cross_entropy",
    "dropout",
    "embedding",
    "gelu",
    "layer_norm",
    "linear",
    "log_softmax",
    "max_pool2d",
    "normalize_images",
    "relu",
    "softmax",
]

IntOrPair = int | Sequence[int]


def pair(value: IntOrPair, name: str = "value") -> tuple[int, int]:
    """(rows, columns) of an int or of two ints.

    Raises:
        ValueError: anything else, naming the argument.

    >>> pair(3), pair((1, 2))
    ((3, 3), (1, 2))
    """
    if isinstance(value, int):
        return value, value
    if len(value) != 2:
        raise ValueError(f"{name}: expected an int or two ints (rows, columns), got {value!r}")
    return int(value[0]), int(value[1])


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x W^T + b: x (..., in), weight (out, in), bias (out,) -> (..., out).

    >>> linear(engine.ones((2, 3)), engine.ones((4, 3))).shape
    (2, 4)
    """
    return _C.linear(x, weight, bias)


def conv2d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: IntOrPair = 1,
    padding: IntOrPair = 0,
    dilation: IntOrPair = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation of x (N, in, H, W) with weight (out, in / groups, kh, kw).

    >>> conv2d(engine.ones((1, 3, 8, 8)), engine.ones((4, 3, 3, 3)), stride=2, padding=1).shape
    (1, 4, 4, 4)
    """
    return _C.conv2d(
        x,
        weight,
        bias,
        pair(stride, "stride"),
        pair(padding, "padding"),
        pair(dilation, "dilation"),
        groups,
    )


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
    return _C.batch_norm(x, weight, bias, running_mean, running_var, training, momentum, eps)


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


def max_pool2d(
    x: Tensor,
    kernel_size: IntOrPair,
    stride: IntOrPair | None = None,
    padding: IntOrPair = 0,
    dilation: IntOrPair = 1,
    ceil_mode: bool = False,
) -> Tensor:
    """Largest element of each window of x (N, C, H, W); NaN if there is one.

    Args:
        stride: the kernel size if None.
        ceil_mode: also windows that stick out at the end.

    >>> max_pool2d(engine.ones((1, 3, 8, 8)), 2).shape
    (1, 3, 4, 4)
    """
    kernel = pair(kernel_size, "kernel_size")
    return _C.max_pool2d(
        x,
        kernel,
        kernel if stride is None else pair(stride, "stride"),
        pair(padding, "padding"),
        pair(dilation, "dilation"),
        ceil_mode,
    )


def avg_pool2d(
    x: Tensor,
    kernel_size: IntOrPair,
    stride: IntOrPair | None = None,
    padding: IntOrPair = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """Mean of each window of x (N, C, H, W).

    Args:
        stride: the kernel size if None.
        ceil_mode: also windows that stick out at the end.
        count_include_pad: whether zeros of the padding count.

    >>> avg_pool2d(engine.ones((1, 3, 8, 8)), 2).shape
    (1, 3, 4, 4)
    """
    kernel = pair(kernel_size, "kernel_size")
    return _C.avg_pool2d(
        x,
        kernel,
        kernel if stride is None else pair(stride, "stride"),
        pair(padding, "padding"),
        ceil_mode,
        count_include_pad,
    )


def adaptive_avg_pool2d(x: Tensor, output_size: IntOrPair) -> Tensor:
    """Means of x (N, C, H, W) over output_size windows that cover it evenly.

    >>> adaptive_avg_pool2d(engine.ones((1, 3, 7, 5)), 1).shape
    (1, 3, 1, 1)
    """
    return _C.adaptive_avg_pool2d(x, pair(output_size, "output_size"))


def relu(x: Tensor) -> Tensor:
    """max(x, 0); NaN stays NaN.

    >>> relu(engine.asarray([-1.0, 2.0]))
    Tensor([0., 2.], dtype=float32)
    """
    return _C.relu(x)


def gelu(x: Tensor, approximate: str = "none") -> Tensor:
    """x * Phi(x), Phi the normal distribution's cumulative function.

    Args:
        approximate: "none" for the exact function, "tanh" for the approximation GPT-2 uses.

    Raises:
        ValueError: any other value of approximate.

    >>> gelu(engine.asarray([0.0]))
    Tensor([0.], dtype=float32)
    """
    if approximate == "none":
        return _C.gelu(x)
    if approximate == "tanh":
        return _C.gelu_tanh(x)
    raise ValueError(f"gelu: approximate={approximate!r}; expected 'none' or 'tanh'")


def softmax(x: Tensor, axis: int = -1) -> Tensor:
    """exp(x) / sum(exp(x)) along an axis, without overflow.

    >>> softmax(engine.zeros((2, 4))).tolist()[0]
    [0.25, 0.25, 0.25, 0.25]
    """
    return _C.softmax(x, axis)


def log_softmax(x: Tensor, axis: int = -1) -> Tensor:
    """log(softmax(x)) along an axis, exact where softmax underflows.

    >>> log_softmax(engine.asarray([[0.0, 1000.0]])).tolist()
    [[-1000.0, 0.0]]
    """
    return _C.log_softmax(x, axis)


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


def dropout(
    x: Tensor, p: float = 0.5, training: bool = True, generator: Generator | None = None
) -> Tensor:
    """Zeroes each element with probability p and divides the rest by 1 - p; x itself in inference.

    >>> dropout(engine.ones(4), 0.5, training=False)
    Tensor([1., 1., 1., 1.], dtype=float32)
    """
    return _C.dropout(x, p, generator) if training and p > 0 else x


def embedding(idx: Tensor, weight: Tensor) -> Tensor:
    """Rows of weight (V, D) by number: idx of integers -> idx.shape + (D,).

    >>> embedding(engine.asarray([[0, 2]]), engine.ones((3, 5))).shape
    (1, 2, 5)
    """
    return _C.embedding(weight, idx)


def normalize_images(x: Tensor, mean: Sequence[float], std: Sequence[float]) -> Tensor:
    """(x / 255 - mean) / std by channel: uint8 (N, C, H, W) of any strides -> float32.

    Args:
        mean, std: one number a channel, as fractions of full scale.

    >>> normalize_images(engine.zeros((1, 3, 2, 2), dtype="uint8"), [0.5] * 3, [0.5] * 3).min()
    Tensor(-1., dtype=float32)
    """
    return _C.normalize_images(x, list(mean), list(std))
