"""Dropout of elements and of whole channels."""

from __future__ import annotations

import math

import engine
from engine import _C, Generator, Tensor
from engine.nn.functional.beside import beside_input
from engine.nn.functional.sizes import check_float, with_batch

# What SELU tends to on its negative side: alpha dropout sets elements to it.
_SELU_FLOOR = -1.7580993408473766


def _check_p(op: str, p: float) -> None:
    if not 0 <= p <= 1:
        raise ValueError(f"{op}: p={p}; expected a probability, 0 to 1")


def dropout(
    x: Tensor, p: float = 0.5, training: bool = True, generator: Generator | None = None
) -> Tensor:
    """Zeroes each element with probability p and divides the rest by 1 - p; x itself in inference.

    >>> dropout(engine.ones(4), 0.5, training=False)
    Tensor([1., 1., 1., 1.], dtype=float32)
    """
    return _C.dropout(x, p, generator) if training and p > 0 else x


def _channels(
    op: str, x: Tensor, axes: int, p: float, training: bool, generator: Generator | None
) -> Tensor:
    check_float(op, x)
    _check_p(op, p)
    batch, _ = with_batch(op, x, axes)
    if not training or p == 0:
        return x
    kept = _C.dropout(engine.ones((*batch.shape[:2], *(1,) * axes), dtype=x.dtype), p, generator)
    return x * (kept if x.ndim == batch.ndim else engine.squeeze(kept, 0))


@beside_input
def dropout1d(
    x: Tensor, p: float = 0.5, training: bool = True, generator: Generator | None = None
) -> Tensor:
    """dropout of whole channels of x (N, C, L) or (C, L) (Tompson et al., arXiv:1411.4280).

    >>> dropout1d(engine.ones((1, 2, 3)), 1.0).sum()
    Tensor(0., dtype=float32)
    """
    return _channels("dropout1d", x, 1, p, training, generator)


@beside_input
def dropout2d(
    x: Tensor, p: float = 0.5, training: bool = True, generator: Generator | None = None
) -> Tensor:
    """dropout of whole channels of x (N, C, H, W) or (C, H, W) (Tompson et al., arXiv:1411.4280).

    >>> dropout2d(engine.ones((1, 2, 3, 3)), 1.0).sum()
    Tensor(0., dtype=float32)
    """
    return _channels("dropout2d", x, 2, p, training, generator)


@beside_input
def dropout3d(
    x: Tensor, p: float = 0.5, training: bool = True, generator: Generator | None = None
) -> Tensor:
    """dropout of whole channels of x (N, C, D, H, W) or (C, D, H, W).

    >>> dropout3d(engine.ones((1, 2, 3, 3, 3)), 1.0).sum()
    Tensor(0., dtype=float32)
    """
    return _channels("dropout3d", x, 3, p, training, generator)


def _alpha(x: Tensor, p: float, shape: tuple[int, ...], generator: Generator | None) -> Tensor:
    if p == 1:
        return x * 0.0
    kept = _C.dropout(engine.ones(shape, dtype=x.dtype), p, generator) * (1 - p)  # 0 or 1
    scale = 1 / math.sqrt((1 - p) * (1 + p * _SELU_FLOOR**2))
    shift = -scale * p * _SELU_FLOOR
    return (x * kept + (1.0 - kept) * _SELU_FLOOR) * scale + shift


@beside_input
def alpha_dropout(
    x: Tensor, p: float = 0.5, training: bool = False, generator: Generator | None = None
) -> Tensor:
    """Sets each element with probability p to SELU's floor, then scales and shifts so that mean 0
    and variance 1 stay (Klambauer et al., arXiv:1706.02515); x itself in inference.

    >>> alpha_dropout(engine.ones(2), 0.5)
    Tensor([1., 1.], dtype=float32)
    """
    check_float("alpha_dropout", x)
    _check_p("alpha_dropout", p)
    return _alpha(x, p, x.shape, generator) if training and p > 0 else x


@beside_input
def feature_alpha_dropout(
    x: Tensor, p: float = 0.5, training: bool = False, generator: Generator | None = None
) -> Tensor:
    """alpha_dropout of whole channels of x (N, C, ...).

    Raises:
        ValueError: x has fewer than two axes.

    >>> feature_alpha_dropout(engine.ones((1, 2, 3)), 0.5).shape
    (1, 2, 3)
    """
    check_float("feature_alpha_dropout", x)
    _check_p("feature_alpha_dropout", p)
    if x.ndim < 2:
        raise ValueError(f"feature_alpha_dropout: x has shape {x.shape}, expected (N, C, ...)")
    shape = (*x.shape[:2], *(1,) * (x.ndim - 2))
    return _alpha(x, p, shape, generator) if training and p > 0 else x
