"""Recurrent layers and their cells."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import engine
from engine import Tensor
from engine.nn import functional as F
from engine.nn import init
from engine.nn.functional.recurrent import Weights
from engine.nn.functional.sizes import check_one_of
from engine.nn.module import Module
from engine.nn.parameter import Parameter


class _Recurrent(Module):
    """Weights of all layers and directions, with the keys weight_ih_l0, weight_hh_l0, bias_ih_l0,
    bias_hh_l0, weight_ih_l0_reverse, ..., uniform in +-1 / sqrt(hidden_size) at the start."""

    gates: ClassVar[int]

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        if min(input_size, hidden_size, num_layers) < 1:
            raise ValueError(
                f"{name}: input_size={input_size}, hidden_size={hidden_size}, "
                f"num_layers={num_layers}; expected 1 or more of each"
            )
        if not 0 <= dropout <= 1:
            raise ValueError(f"{name}: dropout={dropout}; expected a probability, 0 to 1")
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = dropout
        self.bidirectional = bidirectional
        bound = 1 / math.sqrt(hidden_size)
        rows = self.gates * hidden_size
        for layer in range(num_layers):
            width = input_size if layer == 0 else hidden_size * (2 if bidirectional else 1)
            for suffix in self._suffixes(layer):
                shapes = {"weight_ih": (rows, width), "weight_hh": (rows, hidden_size)}
                if bias:
                    shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}  # type: ignore[dict-item]
                for kind, shape in shapes.items():
                    parameter = Parameter(engine.empty(shape))
                    init.uniform_(parameter, -bound, bound)
                    setattr(self, kind + suffix, parameter)

    def _suffixes(self, layer: int) -> list[str]:
        return [f"_l{layer}", *([f"_l{layer}_reverse"] if self.bidirectional else [])]

    def _weights(self) -> list[Weights]:
        suffixes = [s for layer in range(self.num_layers) for s in self._suffixes(layer)]
        kinds = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        return [tuple(getattr(self, kind + s, None) for kind in kinds) for s in suffixes]  # type: ignore[misc]

    def _forward(self, x: Tensor, states: list[Tensor] | None, count: int) -> tuple[Any, ...]:
        """Outputs and last states, batch axes as they came."""
        name = type(self).__name__
        if x.ndim not in (2, 3) or x.shape[-1] != self.input_size:
            order = "(N, T, I)" if self.batch_first else "(T, N, I)"
            raise ValueError(
                f"{name}: x has shape {x.shape}, expected {order}, or (T, I) for one sequence, "
                f"with I = {self.input_size}"
            )
        single = x.ndim == 2
        if single:
            x = engine.expand_dims(x, axis=1)
        elif self.batch_first:
            x = engine.swapaxes(x, 0, 1)
        shape = (self.num_layers * (2 if self.bidirectional else 1), x.shape[1], self.hidden_size)
        if states is None:
            states = [engine.zeros(shape, dtype=x.dtype, device=x.device)] * count
        elif single:
            states = [engine.expand_dims(h, axis=1) for h in states]
        y, last = self._sequence(x, states)
        if single:
            return engine.squeeze(y, 1), tuple(engine.squeeze(h, 1) for h in last)
        return (engine.swapaxes(y, 0, 1) if self.batch_first else y), last

    def _sequence(self, x: Tensor, states: list[Tensor]) -> tuple[Tensor, tuple[Tensor, ...]]:
        raise NotImplementedError

    def extra_repr(self) -> str:
        return (
            f"{self.input_size}, {self.hidden_size}, num_layers={self.num_layers}, "
            f"batch_first={self.batch_first}, bidirectional={self.bidirectional}"
        )


class RNN(_Recurrent):
    """h_t = act(W_ih x_t + b_ih + W_hh h_(t-1) + b_hh), layer upon layer (Elman, 1990).

    Args:
        input_size, hidden_size: I and H.
        num_layers: each reads the outputs of the one below.
        nonlinearity: "tanh" or "relu".
        bias: whether there are b.
        batch_first: whether x is (N, T, I) instead of (T, N, I), and y likewise.
        dropout: between layers, in training.
        bidirectional: whether each layer also runs back in time; the outputs stand side by side.

    Shapes: x (T, N, I) or (T, I), h0 (layers * directions, N, H) or None for zeros -> y (T, N,
    directions * H), h like h0.

    >>> y, h = RNN(3, 4)(engine.ones((5, 2, 3)))
    >>> y.shape, h.shape
    ((5, 2, 4), (1, 2, 4))
    """

    gates = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
    ) -> None:
        super().__init__(
            input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional
        )
        check_one_of("RNN", "nonlinearity", nonlinearity, ("tanh", "relu"))
        self.nonlinearity = nonlinearity

    def _sequence(self, x: Tensor, states: list[Tensor]) -> tuple[Tensor, tuple[Tensor, ...]]:
        y, h = F.rnn(
            x,
            states[0],
            self._weights(),
            self.nonlinearity,
            self.bidirectional,
            self.dropout,
            self.training,
        )
        return y, (h,)

    def forward(self, x: Tensor, h0: Tensor | None = None) -> tuple[Tensor, Tensor]:
        y, (h,) = self._forward(x, None if h0 is None else [h0], 1)
        return y, h


class LSTM(_Recurrent):
    """Long short-term memory (Hochreiter and Schmidhuber, 1997); arguments and shapes as RNN's,
    with the state (h, c).

    >>> y, (h, c) = LSTM(3, 4, num_layers=2)(engine.ones((5, 2, 3)))
    >>> y.shape, c.shape
    ((5, 2, 4), (2, 2, 4))
    """

    gates = 4

    def _sequence(self, x: Tensor, states: list[Tensor]) -> tuple[Tensor, tuple[Tensor, ...]]:
        return F.lstm(
            x,
            (states[0], states[1]),
            self._weights(),
            self.bidirectional,
            self.dropout,
            self.training,
        )

    def forward(
        self, x: Tensor, state: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        y, (h, c) = self._forward(x, None if state is None else list(state), 2)
        return y, (h, c)


class GRU(_Recurrent):
    """Gated recurrent unit (Cho et al., arXiv:1406.1078); arguments and shapes as RNN's.

    >>> y, h = GRU(3, 4, bidirectional=True)(engine.ones((5, 2, 3)))
    >>> y.shape, h.shape
    ((5, 2, 8), (2, 2, 4))
    """

    gates = 3

    def _sequence(self, x: Tensor, states: list[Tensor]) -> tuple[Tensor, tuple[Tensor, ...]]:
        y, h = F.gru(x, states[0], self._weights(), self.bidirectional, self.dropout, self.training)
        return y, (h,)

    def forward(self, x: Tensor, h0: Tensor | None = None) -> tuple[Tensor, Tensor]:
        y, (h,) = self._forward(x, None if h0 is None else [h0], 1)
        return y, h


class _Cell(Module):
    gates: ClassVar[int]

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        rows, bound = self.gates * hidden_size, 1 / math.sqrt(hidden_size)
        self.weight_ih = Parameter(engine.empty((rows, input_size)))
        self.weight_hh = Parameter(engine.empty((rows, hidden_size)))
        self.bias_ih = Parameter(engine.empty(rows)) if bias else None
        self.bias_hh = Parameter(engine.empty(rows)) if bias else None
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def _start(self, x: Tensor) -> Tensor:
        return engine.zeros((*x.shape[:-1], self.hidden_size), dtype=x.dtype)

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}"


class RNNCell(_Cell):
    """One step of an RNN: x (N, I), h (N, H) or None for zeros -> (N, H).

    >>> RNNCell(3, 4)(engine.ones((2, 3))).shape
    (2, 4)
    """

    gates = 1

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh"
    ) -> None:
        super().__init__(input_size, hidden_size, bias)
        self.nonlinearity = nonlinearity

    def forward(self, x: Tensor, h: Tensor | None = None) -> Tensor:
        h = self._start(x) if h is None else h
        return F.rnn_cell(
            x, h, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh, self.nonlinearity
        )


class LSTMCell(_Cell):
    """One step of an LSTM: x (N, I), (h, c) of (N, H) each or None for zeros -> (h, c).

    >>> h, c = LSTMCell(3, 4)(engine.ones((2, 3)))
    >>> h.shape
    (2, 4)
    """

    gates = 4

    def forward(
        self, x: Tensor, state: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        state = (self._start(x), self._start(x)) if state is None else state
        return F.lstm_cell(x, state, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)


class GRUCell(_Cell):
    """One step of a GRU: x (N, I), h (N, H) or None for zeros -> (N, H).

    >>> GRUCell(3, 4)(engine.ones((2, 3))).shape
    (2, 4)
    """

    gates = 3

    def forward(self, x: Tensor, h: Tensor | None = None) -> Tensor:
        h = self._start(x) if h is None else h
        return F.gru_cell(x, h, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
