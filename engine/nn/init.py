"""Initial values of parameters, in place. All return the tensor they fill.

Random numbers come from `generator`, or from the engine's own (engine.manual_seed). They depend on
the seed and on nothing else: not on threads, memory order or processor.

The fan-in of a weight is how many inputs one output sees, the fan-out how many outputs one input
reaches: for a linear weight (out, in) its sizes, for a convolution's (out, in / groups, kh, kw)
times kh * kw.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import engine
from engine import _C, Generator, Tensor

_left_empty: ContextVar[bool] = ContextVar("left_empty", default=False)


@contextmanager
def skip_random() -> Iterator[None]:
    """Inside, random initialisers leave tensors unfilled and draw no numbers.

    For models that are filled from a file next: drawing 60 million numbers first takes a second.

    >>> with skip_random():
    ...     model = engine.nn.Linear(4096, 4096)  # values are whatever the memory held
    """
    token = _left_empty.set(True)
    try:
        yield
    finally:
        _left_empty.reset(token)


def calculate_gain(nonlinearity: str, param: float = 0.0) -> float:
    """By how much to widen a weight so that the function behind it keeps the variance.

    Args:
        nonlinearity: "linear", "conv2d", "sigmoid", "tanh", "relu" or "leaky_relu".
        param: negative slope of leaky_relu.

    Raises:
        ValueError: another name.

    >>> calculate_gain("relu") ** 2
    2.0000000000000004
    """
    if nonlinearity in ("linear", "conv2d", "sigmoid"):
        return 1.0
    if nonlinearity == "tanh":
        return 5.0 / 3.0
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        return math.sqrt(2.0 / (1.0 + param**2))
    raise ValueError(
        f"calculate_gain: nonlinearity={nonlinearity!r}; expected linear, conv2d, sigmoid, tanh, "
        "relu or leaky_relu"
    )


def fans(tensor: Tensor) -> tuple[int, int]:
    """(fan-in, fan-out) of a weight.

    Raises:
        ValueError: fewer than 2 axes.

    >>> fans(engine.empty((8, 3, 5, 5)))
    (75, 200)
    """
    if tensor.ndim < 2:
        raise ValueError(
            f"init: fan-in and fan-out need a weight of at least 2 axes, got shape {tensor.shape}; "
            "for biases use zeros_ or constant_"
        )
    window = math.prod(tensor.shape[2:])
    return tensor.shape[1] * window, tensor.shape[0] * window


def uniform_(
    tensor: Tensor, low: float = 0.0, high: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Uniform in [low, high).

    >>> bool(uniform_(engine.empty(3), 2.0, 3.0).min() >= 2.0)
    True
    """
    return _fill(_C.uniform_, tensor, low, high, generator)


def normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Normal with that mean and deviation.

    >>> normal_(engine.empty((2, 3)), std=0.02).shape
    (2, 3)
    """
    return _fill(_C.normal_, tensor, mean, std, generator)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    low: float = -2.0,
    high: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Normal, drawn again outside [low, high] (values, not deviations).

    >>> bool(trunc_normal_(engine.empty(1000)).max() <= 2.0)
    True
    """
    if not low < high or std <= 0:
        raise ValueError(
            f"trunc_normal_: std={std}, low={low}, high={high}; expected std > 0 and low < high"
        )
    return _fill(_C.trunc_normal_, tensor, mean, std, low, high, generator)


def constant_(tensor: Tensor, value: float) -> Tensor:
    """Every element the same.

    >>> constant_(engine.empty(2), 3.0).tolist()
    [3.0, 3.0]
    """
    with engine.no_grad():
        return tensor.fill_(value)


def zeros_(tensor: Tensor) -> Tensor:
    """Every element 0.

    >>> zeros_(engine.empty(2)).tolist()
    [0.0, 0.0]
    """
    return constant_(tensor, 0.0)


def ones_(tensor: Tensor) -> Tensor:
    """Every element 1.

    >>> ones_(engine.empty(2)).tolist()
    [1.0, 1.0]
    """
    return constant_(tensor, 1.0)


def kaiming_normal_(
    tensor: Tensor,
    mode: str = "fan_in",
    nonlinearity: str = "relu",
    param: float = 0.0,
    generator: Generator | None = None,
) -> Tensor:
    """Normal with deviation gain / sqrt(fan) (He et al., arXiv:1502.01852).

    Args:
        mode: "fan_in" keeps the variance of activations, "fan_out" that of gradients.
        nonlinearity, param: of the function behind the weight; see calculate_gain.

    >>> kaiming_normal_(engine.empty((64, 3, 7, 7)), mode="fan_out").shape
    (64, 3, 7, 7)
    """
    std = calculate_gain(nonlinearity, param) / math.sqrt(_fan(tensor, mode))
    return normal_(tensor, 0.0, std, generator)


def kaiming_uniform_(
    tensor: Tensor,
    mode: str = "fan_in",
    nonlinearity: str = "relu",
    param: float = 0.0,
    generator: Generator | None = None,
) -> Tensor:
    """Uniform in +-gain * sqrt(3 / fan) (He et al., arXiv:1502.01852); see kaiming_normal_.

    >>> kaiming_uniform_(engine.empty((4, 3))).shape
    (4, 3)
    """
    bound = calculate_gain(nonlinearity, param) * math.sqrt(3.0 / _fan(tensor, mode))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Normal with deviation gain * sqrt(2 / (fan-in + fan-out)) (Glorot and Bengio, AISTATS 2010).

    >>> xavier_normal_(engine.empty((4, 3))).shape
    (4, 3)
    """
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(fans(tensor))), generator)


def xavier_uniform_(
    tensor: Tensor, gain: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Uniform in +-gain * sqrt(6 / (fan-in + fan-out)) (Glorot and Bengio, AISTATS 2010).

    >>> xavier_uniform_(engine.empty((4, 3))).shape
    (4, 3)
    """
    bound = gain * math.sqrt(6.0 / sum(fans(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def _fill(fill: Callable[..., Tensor], tensor: Tensor, *args: float | Generator | None) -> Tensor:
    if _left_empty.get():
        return tensor
    with engine.no_grad():
        return fill(tensor, *args)


def _fan(tensor: Tensor, mode: str) -> int:
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"init: mode={mode!r}; expected 'fan_in' or 'fan_out'")
    fan = fans(tensor)[mode == "fan_out"]
    if fan < 1:
        raise ValueError(f"init: a weight of shape {tensor.shape} has no {mode}")
    return fan
