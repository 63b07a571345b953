"""Recurrent networks: one step, and whole sequences.

Weights are those of one layer and direction: weight_ih (G H, I), weight_hh (G H, H), biases (G H,)
or None, where G is 1 (plain), 3 (GRU) or 4 (LSTM) and H the size of the state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import engine
from engine import _C, Tensor
from engine.nn.functional.drop import dropout
from engine.nn.functional.sizes import check_one_of

# weight_ih, weight_hh, bias_ih, bias_hh
Weights = tuple[Tensor, Tensor, Tensor | None, Tensor | None]
# One step: (share of the input in the gates, state, weights) -> state, its first the output.
Step = Callable[[Tensor, tuple[Tensor, ...], Weights], tuple[Tensor, ...]]


def _plain_step(nonlinearity: str) -> Step:
    act = _C.tanh if nonlinearity == "tanh" else _C.relu

    def step(gates: Tensor, state: tuple[Tensor, ...], w: Weights) -> tuple[Tensor, ...]:
        return (act(gates + _C.linear(state[0], w[1], w[3])),)

    return step


def _lstm_step(gates: Tensor, state: tuple[Tensor, ...], w: Weights) -> tuple[Tensor, ...]:
    h, c = state
    i, f, g, o = _C._chunks(gates + _C.linear(h, w[1], w[3]), 4, -1)
    c = _C.sigmoid(f) * c + _C.sigmoid(i) * _C.tanh(g)
    return _C.sigmoid(o) * _C.tanh(c), c


def _gru_step(gates: Tensor, state: tuple[Tensor, ...], w: Weights) -> tuple[Tensor, ...]:
    (h,) = state
    reset, update, new = _C._chunks(gates, 3, -1)
    reset_h, update_h, new_h = _C._chunks(_C.linear(h, w[1], w[3]), 3, -1)
    new = _C.tanh(new + _C.sigmoid(reset + reset_h) * new_h)
    return (new + _C.sigmoid(update + update_h) * (h - new),)


def _check(op: str, x: Tensor, h: Tensor, w: Weights, gates: int) -> None:
    size = h.shape[-1] if h.ndim else 0
    if (
        x.ndim == 0
        or w[0].shape != (gates * size, x.shape[-1])
        or w[1].shape != (gates * size, size)
    ):
        raise ValueError(
            f"{op}: x {x.shape}, state {h.shape}, weight_ih {w[0].shape} and weight_hh "
            f"{w[1].shape}; expected (..., I), (..., H), ({gates} H, I) and ({gates} H, H)"
        )


def rnn_cell(
    x: Tensor,
    h: Tensor,
    weight_ih: Tensor,
    weight_hh: Tensor,
    bias_ih: Tensor | None = None,
    bias_hh: Tensor | None = None,
    nonlinearity: str = "tanh",
) -> Tensor:
    """h' = act(W_ih x + b_ih + W_hh h + b_hh), act tanh or ReLU (Elman, 1990).

    Args:
        x: (N, I) or (I,).
        h: (N, H) or (H,).
        nonlinearity: "tanh" or "relu".

    Raises:
        ValueError: shapes that do not fit.

    >>> rnn_cell(engine.ones((2, 3)), engine.ones((2, 4)), engine.ones((4, 3)),
    ...          engine.ones((4, 4))).shape
    (2, 4)
    """
    check_one_of("rnn_cell", "nonlinearity", nonlinearity, ("tanh", "relu"))
    w = (weight_ih, weight_hh, bias_ih, bias_hh)
    _check("rnn_cell", x, h, w, 1)
    return _plain_step(nonlinearity)(_C.linear(x, weight_ih, bias_ih), (h,), w)[0]


def lstm_cell(
    x: Tensor,
    state: tuple[Tensor, Tensor],
    weight_ih: Tensor,
    weight_hh: Tensor,
    bias_ih: Tensor | None = None,
    bias_hh: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """i, f, g, o = W_ih x + b_ih + W_hh h + b_hh; c' = s(f) c + s(i) tanh(g); h' = s(o) tanh(c'),
    s the sigmoid (Hochreiter and Schmidhuber, 1997).

    Args:
        x: (N, I) or (I,).
        state: h and c, (N, H) or (H,) each.

    Returns:
        h' and c'.

    Raises:
        ValueError: shapes that do not fit.

    >>> h, c = lstm_cell(engine.ones((2, 3)), (engine.ones((2, 1)), engine.ones((2, 1))),
    ...                  engine.ones((4, 3)), engine.ones((4, 1)))
    >>> h.shape
    (2, 1)
    """
    w = (weight_ih, weight_hh, bias_ih, bias_hh)
    _check("lstm_cell", x, state[0], w, 4)
    h, c = _lstm_step(_C.linear(x, weight_ih, bias_ih), tuple(state), w)
    return h, c


def gru_cell(
    x: Tensor,
    h: Tensor,
    weight_ih: Tensor,
    weight_hh: Tensor,
    bias_ih: Tensor | None = None,
    bias_hh: Tensor | None = None,
) -> Tensor:
    """r, z = s(W x + W' h + b) each; n = tanh(W x + b + r (W' h + b')); h' = (1 - z) n + z h, s the
    sigmoid (Cho et al., arXiv:1406.1078).

    Args:
        x: (N, I) or (I,).
        h: (N, H) or (H,).

    Raises:
        ValueError: shapes that do not fit.

    >>> gru_cell(engine.ones((2, 3)), engine.ones((2, 1)), engine.ones((3, 3)),
    ...          engine.ones((3, 1))).shape
    (2, 1)
    """
    w = (weight_ih, weight_hh, bias_ih, bias_hh)
    _check("gru_cell", x, h, w, 3)
    return _gru_step(_C.linear(x, weight_ih, bias_ih), (h,), w)[0]


def _direction(
    step: Step, x: Tensor, state: tuple[Tensor, ...], w: Weights, backwards: bool
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """The outputs (T, N, H) and the last state. The inputs of all steps are multiplied at once."""
    steps = x.shape[0]
    inputs = _C._chunks(_C.linear(x, w[0], w[2]), steps, 0)  # (1, N, G H) each
    outputs: list[Tensor] = [state[0]] * steps
    for t in reversed(range(steps)) if backwards else range(steps):
        state = step(engine.squeeze(inputs[t], 0), state, w)
        outputs[t] = state[0]
    return engine.stack(outputs), state


def _layers(
    op: str,
    step: Step,
    gates: int,
    x: Tensor,
    state: Sequence[Tensor],
    weights: Sequence[Weights],
    bidirectional: bool,
    p: float,
    training: bool,
) -> tuple[Tensor, tuple[Tensor, ...]]:
    directions = 2 if bidirectional else 1
    if len(weights) == 0 or len(weights) % directions:
        raise ValueError(
            f"{op}: {len(weights)} weights, expected one set for each layer and direction"
        )
    if x.ndim != 3 or x.shape[0] == 0:
        raise ValueError(f"{op}: x has shape {x.shape}, expected (T, N, I) with T of 1 or more")
    expected = (len(weights), x.shape[1], weights[0][1].shape[1])
    for h in state:
        if h.shape != expected:
            raise ValueError(f"{op}: the state has shape {h.shape}, expected {expected}")
    first = [_C._chunks(h, len(weights), 0) for h in state]
    last: list[tuple[Tensor, ...]] = []
    for layer in range(len(weights) // directions):
        outputs = []
        for direction in range(directions):
            k = layer * directions + direction
            start = tuple(engine.squeeze(h[k], 0) for h in first)
            _check(op, x, start[0], weights[k], gates)
            y, end = _direction(step, x, start, weights[k], direction == 1)
            outputs.append(y)
            last.append(end)
        x = outputs[0] if directions == 1 else engine.concat(outputs, axis=-1)
        if layer < len(weights) // directions - 1:
            x = dropout(x, p, training)
    return x, tuple(engine.stack([end[i] for end in last]) for i in range(len(state)))


def rnn(
    x: Tensor,
    h: Tensor,
    weights: Sequence[Weights],
    nonlinearity: str = "tanh",
    bidirectional: bool = False,
    dropout: float = 0.0,
    training: bool = False,
) -> tuple[Tensor, Tensor]:
    """rnn_cell over sequences, layer upon layer.

    Args:
        x: (T, N, I).
        h: (layers * directions, N, H), where each starts.
        weights: (weight_ih, weight_hh, bias_ih, bias_hh) for each of these, directions within
            layers.
        bidirectional: whether each layer also runs back in time; the outputs stand side by side.
        dropout: between layers, in training.

    Returns:
        Outputs (T, N, directions * H), and the last state, like h.

    Raises:
        ValueError: shapes that do not fit.

    >>> w = (engine.ones((4, 3)), engine.ones((4, 4)), None, None)
    >>> rnn(engine.ones((5, 2, 3)), engine.ones((1, 2, 4)), [w])[0].shape
    (5, 2, 4)
    """
    check_one_of("rnn", "nonlinearity", nonlinearity, ("tanh", "relu"))
    step = _plain_step(nonlinearity)
    y, (h,) = _layers("rnn", step, 1, x, (h,), weights, bidirectional, dropout, training)
    return y, h


def lstm(
    x: Tensor,
    state: tuple[Tensor, Tensor],
    weights: Sequence[Weights],
    bidirectional: bool = False,
    dropout: float = 0.0,
    training: bool = False,
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """lstm_cell over sequences; see rnn. state is h and c.

    >>> w = (engine.ones((4, 3)), engine.ones((4, 1)), None, None)
    >>> start = engine.ones((1, 2, 1))
    >>> lstm(engine.ones((5, 2, 3)), (start, start), [w])[0].shape
    (5, 2, 1)
    """
    y, (h, c) = _layers(
        "lstm", _lstm_step, 4, x, tuple(state), weights, bidirectional, dropout, training
    )
    return y, (h, c)


def gru(
    x: Tensor,
    h: Tensor,
    weights: Sequence[Weights],
    bidirectional: bool = False,
    dropout: float = 0.0,
    training: bool = False,
) -> tuple[Tensor, Tensor]:
    """gru_cell over sequences; see rnn.

    >>> w = (engine.ones((3, 3)), engine.ones((3, 1)), None, None)
    >>> gru(engine.ones((5, 2, 3)), engine.ones((1, 2, 1)), [w])[0].shape
    (5, 2, 1)
    """
    y, (h,) = _layers("gru", _gru_step, 3, x, (h,), weights, bidirectional, dropout, training)
    return y, h
