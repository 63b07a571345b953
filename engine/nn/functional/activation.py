"""Activations: functions of one number, and of one axis."""

from __future__ import annotations

import engine
from engine import _C, Generator, Tensor
from engine.nn.functional.beside import beside_input
from engine.nn.functional.sizes import check_float


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


def softmin(x: Tensor, axis: int = -1) -> Tensor:
    """softmax(-x) along an axis.

    >>> softmin(engine.zeros((2, 4))).tolist()[0]
    [0.25, 0.25, 0.25, 0.25]
    """
    return _C.softmax(-x, axis)


def sigmoid(x: Tensor) -> Tensor:
    """1 / (1 + exp(-x)).

    >>> sigmoid(engine.asarray([0.0]))
    Tensor([0.5], dtype=float32)
    """
    return _C.sigmoid(x)


def tanh(x: Tensor) -> Tensor:
    """Hyperbolic tangent.

    >>> tanh(engine.asarray([0.0]))
    Tensor([0.], dtype=float32)
    """
    return _C.tanh(x)


def silu(x: Tensor) -> Tensor:
    """x * sigmoid(x) (Elfwing et al., arXiv:1702.03118).

    >>> silu(engine.asarray([0.0]))
    Tensor([0.], dtype=float32)
    """
    return _C.silu(x)


def mish(x: Tensor) -> Tensor:
    """x * tanh(log(1 + exp(x))) (Misra, arXiv:1908.08681).

    >>> mish(engine.asarray([0.0]))
    Tensor([0.], dtype=float32)
    """
    return _C.mish(x)


def relu6(x: Tensor) -> Tensor:
    """min(max(x, 0), 6).

    >>> relu6(engine.asarray([-1.0, 7.0]))
    Tensor([0., 6.], dtype=float32)
    """
    return _C.relu6(x)


def selu(x: Tensor) -> Tensor:
    """Scaled exponential linear unit (Klambauer et al., arXiv:1706.02515).

    >>> selu(engine.asarray([0.0]))
    Tensor([0.], dtype=float32)
    """
    return _C.selu(x)


def softsign(x: Tensor) -> Tensor:
    """x / (1 + |x|).

    >>> softsign(engine.asarray([1.0]))
    Tensor([0.5], dtype=float32)
    """
    return _C.softsign(x)


def tanhshrink(x: Tensor) -> Tensor:
    """x - tanh(x).

    >>> tanhshrink(engine.asarray([0.0]))
    Tensor([0.], dtype=float32)
    """
    return _C.tanhshrink(x)


def logsigmoid(x: Tensor) -> Tensor:
    """log(1 / (1 + exp(-x))), without overflow.

    >>> logsigmoid(engine.asarray([-1000.0]))
    Tensor([-1000.], dtype=float32)
    """
    return _C.logsigmoid(x)


def hardsigmoid(x: Tensor) -> Tensor:
    """min(max(x / 6 + 1 / 2, 0), 1) (Courbariaux et al., arXiv:1511.00363).

    >>> hardsigmoid(engine.asarray([0.0, 4.0]))
    Tensor([0.5, 1. ], dtype=float32)
    """
    return _C.hardsigmoid(x)


def hardswish(x: Tensor) -> Tensor:
    """x * hardsigmoid(x) (Howard et al., arXiv:1905.02244).

    >>> hardswish(engine.asarray([-4.0, 4.0]))
    Tensor([0., 4.], dtype=float32)
    """
    return _C.hardswish(x)


def leaky_relu(x: Tensor, negative_slope: float = 0.01) -> Tensor:
    """x, or negative_slope * x where x is negative (Maas et al., ICML 2013).

    >>> leaky_relu(engine.asarray([-2.0, 1.0]), 0.5)
    Tensor([-1.,  1.], dtype=float32)
    """
    return _C.leaky_relu(x, negative_slope)


def elu(x: Tensor, alpha: float = 1.0) -> Tensor:
    """x, or alpha * (exp(x) - 1) where x is not positive (Clevert et al., arXiv:1511.07289).

    >>> elu(engine.asarray([0.0, 1.0]))
    Tensor([0., 1.], dtype=float32)
    """
    return _C.elu(x, alpha)


def celu(x: Tensor, alpha: float = 1.0) -> Tensor:
    """x, or alpha * (exp(x / alpha) - 1) where x is not positive (Barron, arXiv:1704.07483).

    >>> celu(engine.asarray([0.0, 1.0]))
    Tensor([0., 1.], dtype=float32)
    """
    if alpha == 0:
        raise ValueError("celu: alpha=0; expected another number, exp(x / alpha) is taken")
    return _C.celu(x, alpha)


def hardtanh(x: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """x limited to [min_val, max_val]; no gradient at the ends.

    >>> hardtanh(engine.asarray([-2.0, 2.0]))
    Tensor([-1.,  1.], dtype=float32)
    """
    if min_val > max_val:
        raise ValueError(f"hardtanh: min_val={min_val} is above max_val={max_val}")
    return _C.hardtanh(x, min_val, max_val)


def softplus(x: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + exp(beta x)) / beta, or x where beta x is above threshold.

    >>> softplus(engine.asarray([100.0]))
    Tensor([100.], dtype=float32)
    """
    return _C.softplus(x, beta, threshold)


def softshrink(x: Tensor, lambd: float = 0.5) -> Tensor:
    """x moved lambd towards 0, at most to 0.

    >>> softshrink(engine.asarray([0.2, 1.0]))
    Tensor([0. , 0.5], dtype=float32)
    """
    if lambd < 0:
        raise ValueError(f"softshrink: lambd={lambd}; expected 0 or more")
    return _C.softshrink(x, lambd)


def hardshrink(x: Tensor, lambd: float = 0.5) -> Tensor:
    """x, or 0 where |x| is not above lambd.

    >>> hardshrink(engine.asarray([0.2, 1.0]))
    Tensor([0., 1.], dtype=float32)
    """
    return _C.hardshrink(x, lambd)


def threshold(x: Tensor, threshold: float, value: float) -> Tensor:
    """x, or value where x is not above threshold.

    >>> threshold(engine.asarray([0.2, 1.0]), 0.5, -1.0)
    Tensor([-1.,  1.], dtype=float32)
    """
    return _C.threshold(x, threshold, value)


def prelu(x: Tensor, weight: Tensor) -> Tensor:
    """x, or weight * x where x is negative (He et al., arXiv:1502.01852).

    Args:
        x: (N, C, ...).
        weight: (1,), or (C,) for a slope of its own a channel.

    Raises:
        ValueError: any other number of slopes.

    >>> prelu(engine.asarray([-2.0, 1.0]), engine.asarray([0.5]))
    Tensor([-1.,  1.], dtype=float32)
    """
    channels = x.shape[1] if x.ndim > 1 else 1
    if weight.size not in (1, channels):
        raise ValueError(
            f"prelu: weight has shape {weight.shape}, expected 1 slope or {channels}, one for each "
            f"channel of x of shape {x.shape}"
        )
    slope = weight.reshape((-1, *(1,) * (x.ndim - 2))) if x.ndim > 1 else weight.reshape(())
    return engine.where(x > 0, x, slope * x)


def rrelu(
    x: Tensor,
    lower: float = 1 / 8,
    upper: float = 1 / 3,
    training: bool = False,
    generator: Generator | None = None,
) -> Tensor:
    """x, or s * x where x is negative: s uniform in [lower, upper) for each element in training,
    their mean in inference (Xu et al., arXiv:1505.00853).

    >>> rrelu(engine.asarray([-2.0, 1.0]), 0.25, 0.75)
    Tensor([-1.,  1.], dtype=float32)
    """
    check_float("rrelu", x)
    if not training:
        return _C.leaky_relu(x, (lower + upper) / 2)
    slope = engine.uniform_(engine.empty_like(x), lower, upper, generator)
    return engine.where(x < 0, x * slope, x)


def glu(x: Tensor, axis: int = -1) -> Tensor:
    """a * sigmoid(b), where a and b are the halves of x along an axis (Dauphin et al.,
    arXiv:1612.08083).

    Raises:
        ValueError: an axis of odd size.

    >>> glu(engine.asarray([3.0, 0.0]))
    Tensor([1.5], dtype=float32)
    """
    if x.ndim == 0 or x.shape[axis] % 2:
        raise ValueError(f"glu: x has shape {x.shape}, expected an even size along axis {axis}")
    a, b = _C._chunks(x, 2, axis)
    return a * _C.sigmoid(b)


@beside_input
def gumbel_softmax(
    logits: Tensor,
    tau: float = 1.0,
    hard: bool = False,
    axis: int = -1,
    generator: Generator | None = None,
) -> Tensor:
    """softmax((logits + Gumbel noise) / tau) along an axis: samples of a category with gradients
    (Jang et al., arXiv:1611.01144).

    Args:
        hard: whether the values are one-hot; the gradients stay those of the soft ones.

    >>> gumbel_softmax(engine.zeros((2, 4)), hard=True).sum(axis=1).tolist()
    [1.0, 1.0]
    """
    check_float("gumbel_softmax", logits, "logits")
    tiny = 1e-10
    uniform = engine.uniform_(engine.empty_like(logits), tiny, 1.0, generator)
    soft = _C.softmax((logits - engine.log(-engine.log(uniform))) / tau, axis)
    if not hard:
        return soft
    value = soft.detach()
    largest = value.argmax(axis=axis, keepdims=True)
    shape = [1] * logits.ndim
    shape[axis] = -1
    classes = engine.arange(logits.shape[axis]).reshape(tuple(shape))
    return (classes == largest).astype(logits.dtype) - value + soft
