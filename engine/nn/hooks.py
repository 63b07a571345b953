"""Functions called around a module's forward and backward."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from types import TracebackType
from typing import Any

from engine import Tensor
from engine.autograd import Function

Hook = Callable[..., Any]


class RemovableHandle:
    """What registering a hook returns; remove() takes the hook back. Also a context manager."""

    def __init__(self, hooks: dict[int, Hook], key: int) -> None:
        self._hooks, self._key = hooks, key

    def remove(self) -> None:
        """The hook runs no more. Doing it twice is no error."""
        self._hooks.pop(self._key, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.remove()


class _Boundary(Function):
    """Passes tensors through; a place on the tape to watch gradients pass."""

    @staticmethod
    def forward(ctx: Any, *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.set_materialize_grads(False)
        return tensors

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        return grads


def _mark(values: tuple[Any, ...]) -> tuple[tuple[Any, ...], list[int], Any]:
    """The values with those that require gradients passed through a boundary; which those are,
    and the boundary's node."""
    places = [i for i, v in enumerate(values) if isinstance(v, Tensor) and v.requires_grad]
    if not places:
        return values, places, None
    passed = _Boundary.apply(*(values[i] for i in places))
    marked = list(values)
    for i, t in zip(places, passed, strict=True):
        marked[i] = t
    return tuple(marked), places, passed[0].grad_fn


class ModuleHooks:
    """The hooks of one module, in the order of registration."""

    def __init__(self) -> None:
        self.before: dict[int, Hook] = {}
        self.after: dict[int, Hook] = {}
        self.backward: dict[int, Hook] = {}
        self._keys = itertools.count()

    def add(self, hooks: dict[int, Hook], hook: Hook) -> RemovableHandle:
        """Appends a hook to one of the three kinds."""
        key = next(self._keys)
        hooks[key] = hook
        return RemovableHandle(hooks, key)

    def call(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """module.forward with every hook around it."""
        for hook in tuple(self.before.values()):
            changed = hook(module, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
        if self.backward:
            output = self._call_watched(module, args, kwargs)
        else:
            output = module.forward(*args, **kwargs)
        for hook in tuple(self.after.values()):
            changed = hook(module, args, output)
            if changed is not None:
                output = changed
        return output

    def _call_watched(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        args, inputs, entry = _mark(args)
        output = module.forward(*args, **kwargs)
        several = output if isinstance(output, tuple) else (output,)
        several, outputs, exit_ = _mark(several)
        if exit_ is None:
            return output
        arrived: list[tuple[Tensor | None, ...]] = []

        def spread(grads: tuple[Tensor | None, ...], places: list[int], count: int) -> Any:
            full: list[Tensor | None] = [None] * count
            for i, g in zip(places, grads, strict=True):
                full[i] = g
            return tuple(full)

        def at_exit(grads: tuple[Tensor | None, ...]) -> None:
            arrived[:] = [spread(grads, outputs, len(several))]
            if entry is None:  # no input wants a gradient: this is all there is to see
                self._run_backward(module, (None,) * len(args), arrived[0])

        def at_entry(results: tuple[Tensor | None, ...], grads: Any) -> Any:
            if not arrived:  # the gradient came past the outputs, such as from an attribute
                return None
            full = self._run_backward(module, spread(results, inputs, len(args)), arrived.pop())
            return tuple(full[i] for i in inputs)

        exit_.register_prehook(at_exit)
        if entry is not None:
            entry.register_hook(at_entry)
        return several if isinstance(output, tuple) else several[0]

    def _run_backward(self, module: Any, grad_input: Any, grad_output: Any) -> Any:
        for hook in tuple(self.backward.values()):
            changed = hook(module, grad_input, grad_output)
            if changed is None:
                continue
            changed = changed if isinstance(changed, tuple) else (changed,)
            if len(changed) != len(grad_input):
                raise ValueError(
                    f"{type(module).__name__}: a full backward hook returned {len(changed)} "
                    f"gradients, expected {len(grad_input)}: one for each argument"
                )
            grad_input = changed
        return grad_input
