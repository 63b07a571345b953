"""Gradients of outputs with respect to inputs, and backward passes over several roots."""

from __future__ import annotations

from collections.abc import Sequence

from engine import _C
from engine._C import AutogradError, Tensor

Tensors = Tensor | Sequence[Tensor]
Gradients = Tensor | Sequence[Tensor | None] | None


def as_tuple(tensors: Tensors) -> tuple[Tensor, ...]:
    """One tensor or several, as a tuple."""
    return (tensors,) if isinstance(tensors, Tensor) else tuple(tensors)


def _starts(op: str, roots: tuple[Tensor, ...], gradients: Gradients) -> list[Tensor | None]:
    if gradients is None:
        return [None] * len(roots)
    given: list[Tensor | None] = []
    given += [gradients] if isinstance(gradients, Tensor) else gradients
    if len(given) != len(roots):
        raise ValueError(f"{op}: {len(given)} gradients given for {len(roots)} outputs")
    return given


def grad(
    outputs: Tensors,
    inputs: Tensors,
    grad_outputs: Gradients = None,
    retain_graph: bool = False,
    create_graph: bool = False,
    allow_unused: bool = False,
) -> tuple[Tensor | None, ...]:
    """Gradients of outputs with respect to inputs; no .grad changes.

    Args:
        outputs: tensors to differentiate, one or a sequence; their gradients add up.
        inputs: tensors to differentiate by: leaves, or results on the way.
        grad_outputs: where each output's gradient starts, of its shape; None starts from 1, for
            single elements only.
        retain_graph: keeps what the graph saved, for another walk.
        create_graph: records the walk itself, for gradients of gradients; implies retain_graph.
        allow_unused: gives None for an input that no output depends on, instead of an error.

    Returns:
        A tuple, one gradient per input.

    Raises:
        AutogradError: an output or input requires no gradients, an input is unused, a graph was
            freed before, or a saved tensor was changed in place.
        ValueError: grad_outputs has another length than outputs.

    >>> x = engine.asarray([3.0])
    >>> x.requires_grad = True
    >>> engine.grad(x * x, x)[0].tolist()
    [6.0]
    """
    roots, targets = as_tuple(outputs), as_tuple(inputs)
    starts = _starts("grad", roots, grad_outputs)
    if not targets:
        return ()
    found = _C._run_backward(roots, targets, starts, retain_graph, create_graph)
    if not allow_unused:
        for i, gradient in enumerate(found):
            if gradient is None:
                raise AutogradError(
                    f"grad: no output depends on input {i} ({targets[i].dtype} "
                    f"{targets[i].shape}); allow_unused=True gives None for it"
                )
    return tuple(found)


def backward(
    tensors: Tensors,
    grad_tensors: Gradients = None,
    retain_graph: bool = False,
    create_graph: bool = False,
    inputs: Tensors | None = None,
) -> None:
    """Adds the gradients of one or several tensors to .grad of the leaves they came from.

    Args:
        tensors: where the walk starts, one or a sequence.
        grad_tensors: the gradient of each, of its shape; None starts from 1, for single elements.
        retain_graph: keeps what the graph saved, for another walk.
        create_graph: records the walk itself; implies retain_graph.
        inputs: only .grad of these is added to; None means every leaf.

    Raises:
        AutogradError: as engine.grad. ValueError: grad_tensors has another length than tensors.

    >>> x = engine.asarray([3.0])
    >>> x.requires_grad = True
    >>> engine.autograd.backward([x * x, x * 2])
    >>> x.grad.tolist()
    [8.0]
    """
    roots = as_tuple(tensors)
    starts = _starts("backward", roots, grad_tensors)
    if inputs is None:
        _C._run_backward(roots, [], starts, retain_graph, create_graph)
        return
    targets = as_tuple(inputs)
    found = grad(roots, targets, starts, retain_graph, create_graph, allow_unused=True)
    for target, gradient in zip(targets, found, strict=True):
        if gradient is not None:
            target.grad = gradient.clone() if target.grad is None else target.grad + gradient
