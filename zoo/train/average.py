"""Averages of a model's weights over its training: EMA and SWA."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

import engine
from zoo.placement import host_array

if TYPE_CHECKING:
    from engine.nn import Module

_SOON = 10  # steps after which an exponential average forgets its start in earnest


class WeightAverage:
    """The average of a model's floating-point state: parameters, and buffers such as the running
    averages of batch norm. What never changes stays as it is, to the bit.

    kind "ema": exponential, after every step: average += (1 - decay) (weights - average), with a
    decay of (1 + n) / (10 + n) for the first steps n, since the start says little (as TensorFlow's
    ExponentialMovingAverage does).
    kind "swa": the plain mean over the ends of epochs (Izmailov et al., "Averaging weights leads to
    wider optima", arXiv:1803.05407).

    Args:
        model: whose state is averaged.
        kind: "ema" or "swa".
        decay: of "ema", 0 to 1.

    Attributes:
        count: updates so far; 0 for an average that has nothing in it yet.

    >>> average = WeightAverage(model, "ema", 0.999)      # doctest: +SKIP
    >>> average.update()                                  # doctest: +SKIP
    >>> with replaced_state(model, average.tensors()):    # doctest: +SKIP
    ...     evaluate(model, loader)
    """

    def __init__(self, model: Module, kind: str, decay: float = 0.999) -> None:
        self.model = model
        self.kind = kind
        self.decay = decay
        self.count = 0
        self._means: dict[str, NDArray[Any]] = {
            name: array.copy() for name, array in self._floats().items()
        }

    def update(self) -> None:
        """Take the present weights in."""
        self.count += 1
        if self.kind == "swa":
            part = 1 / self.count
        else:
            part = 1 - min(self.decay, (1 + self.count) / (_SOON + self.count))
        moving = _moving(self.model)
        for name, array in self._floats().items():
            if name not in moving:
                continue  # the mean of what stays is what it was
            mean = self._means[name]
            mean += array.dtype.type(part) * (array - mean)

    def tensors(self) -> Mapping[str, NDArray[Any]]:
        """The averages, by the names of the model's state; they share memory."""
        return self._means

    def load(self, tensors: Mapping[str, NDArray[Any]], count: int) -> None:
        """Go on from what `tensors` gave after `count` updates."""
        for name, mean in self._means.items():
            mean[...] = tensors[name]
        self.count = count

    def _floats(self) -> dict[str, NDArray[Any]]:
        state = {name: host_array(t) for name, t in self.model.state_dict().items()}
        return {name: array for name, array in state.items() if array.dtype.kind == "f"}


def full_state(model: Module) -> dict[str, NDArray[Any]]:
    """A copy of all of a model's state.

    >>> sorted(full_state(engine.nn.Linear(2, 1)))
    ['bias', 'weight']
    """
    return {name: host_array(t).copy() for name, t in model.state_dict().items()}


def _moving(model: Module) -> set[str]:
    """Names of what training changes now: parameters with gradients, buffers in training mode."""
    names = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
    for prefix, module in model.named_modules():
        if module.training:
            start = f"{prefix}." if prefix else ""
            names |= {start + name for name, _ in module.named_buffers() if "." not in name}
    return names


@contextmanager
def replaced_state(model: Module, arrays: Mapping[str, NDArray[Any]]) -> Iterator[None]:
    """Inside the block a model has the values of `arrays` where they name some of its state;
    afterwards it has all of its own again, whatever the block did to it."""
    own = full_state(model)
    _put(model, arrays)
    try:
        yield
    finally:
        _put(model, own)


def _put(model: Module, arrays: Mapping[str, NDArray[Any]]) -> None:
    with engine.no_grad():
        for name, tensor in model.state_dict().items():
            if name in arrays:
                tensor.copy_(engine.from_numpy(arrays[name]))
