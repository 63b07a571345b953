"""Memory for time: what a function saves is computed again in the backward pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine import _C
from engine._C import AutogradError, Tensor
from engine.autograd.saved import saved_tensors_hooks
from engine.grad_mode import enable_grad


class _Frame:
    """One checkpointed call: its arguments, and what running it again saved, by number."""

    def __init__(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]):
        self.fn, self.args, self.kwargs = fn, args, kwargs
        self.rng_state = _C.get_rng_state()
        self.autocast = _C._autocast_dtypes()
        self.count = 0
        self.again: dict[int, Tensor] = {}

    def pack(self, tensor: Tensor) -> int:
        self.count += 1
        return self.count - 1

    def unpack(self, number: int) -> Tensor:
        if number not in self.again:
            self._run_again()
        return self.again.pop(number)  # each is needed once a walk

    def _run_again(self) -> None:
        saved: list[Tensor] = []
        rng_state = _C.get_rng_state()
        _C.set_rng_state(self.rng_state)
        autocast = _C._autocast_dtypes()  # none, in a backward pass
        _C._set_autocast_dtypes(self.autocast)
        try:
            with enable_grad(), saved_tensors_hooks(saved.append, _refuse):
                self.fn(*map(_cut, self.args), **{k: _cut(v) for k, v in self.kwargs.items()})
        finally:
            _C.set_rng_state(rng_state)
            _C._set_autocast_dtypes(autocast)
        if len(saved) != self.count:
            raise AutogradError(
                f"checkpoint: {_name(self.fn)} saved {self.count} tensors when it first ran and "
                f"{len(saved)} when it ran again; it must compute the same both times"
            )
        self.again = dict(enumerate(saved))


def _name(fn: Callable[..., Any]) -> str:
    return getattr(fn, "__qualname__", type(fn).__name__)


def _refuse(packed: Any) -> Tensor:
    raise AutogradError("checkpoint: the function runs a backward pass over its own graph")


def _cut(value: Any) -> Any:
    """A stand-in for an argument that is saved as the argument was, without its history."""
    if not isinstance(value, Tensor) or value.is_leaf:
        return value
    fresh = value.detach()
    fresh.requires_grad = True
    return fresh.reshape(fresh.shape)  # no leaf, so that it counts as the argument did


def checkpoint(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """fn(*args, **kwargs), keeping only the arguments: what the graph needs is computed again.

    The random numbers of the default generator are the same both times, so dropout repeats. Values
    and gradients are those of the plain call, gradients of gradients too. Chen et al.,
    arXiv:1604.06174.

    Args:
        fn: computes the same whenever it is called with the same arguments.

    Raises:
        AutogradError: in the backward pass, if fn saved other tensors the second time.

    >>> x = engine.zeros(1)
    >>> x.requires_grad = True
    >>> engine.autograd.checkpoint(lambda t: engine.exp(engine.sin(t)), x).backward()
    >>> x.grad.tolist()
    [1.0]
    """
    if not _C.is_grad_enabled():
        return fn(*args, **kwargs)
    frame = _Frame(fn, args, kwargs)
    with saved_tensors_hooks(frame.pack, frame.unpack):
        return fn(*args, **kwargs)
