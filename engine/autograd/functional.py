"""Products with the Jacobian and the Hessian of a Python function, and the matrices themselves.

Each takes `func`, a function of tensors, and `inputs`, one tensor or a tuple for as many arguments.
Results follow the inputs: a tensor for a tensor, a tuple for a tuple.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from engine import _C
from engine._C import Tensor
from engine.autograd.gradients import as_tuple, grad
from engine.grad_mode import enable_grad

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Function = Callable[..., Any]
TensorOrTuple = Tensor | tuple[Tensor, ...]


def vjp(
    func: Function, inputs: TensorOrTuple, v: Any = None, create_graph: bool = False
) -> tuple[Any, Any]:
    """(func(*inputs), v^T J): the outputs, and their gradients weighted by v.

    Args:
        func: of tensors, to a tensor or a tuple.
        inputs: where to evaluate.
        v: weights of the outputs' shapes; None is 1 for a single element.
        create_graph: records, for higher derivatives.

    Raises:
        ValueError: v does not have the outputs' shapes.

    >>> engine.autograd.functional.vjp(engine.exp, engine.asarray([0.0]), engine.asarray([2.0]))[1]
    Tensor([2.], dtype=float32)
    """
    with enable_grad():
        points = _points(inputs, create_graph)
        outputs = func(*points)
        products = _gradients("vjp", outputs, points, v, create_graph)
    return _result(outputs, create_graph), _like(inputs, products, create_graph)


def jvp(
    func: Function, inputs: TensorOrTuple, v: Any = None, create_graph: bool = False
) -> tuple[Any, Any]:
    """(func(*inputs), J v): the outputs, and how they change along v.

    Two backward passes: v^T J is linear in v, and its own gradient is J v.

    Args:
        func: of tensors, to a tensor or a tuple.
        inputs: where to evaluate.
        v: direction, of the inputs' shapes; None is 1 for a single element.
        create_graph: records, for higher derivatives.

    Raises:
        ValueError: v does not have the inputs' shapes.

    >>> engine.autograd.functional.jvp(engine.exp, engine.asarray([0.0]), engine.asarray([2.0]))[1]
    Tensor([2.], dtype=float32)
    """
    with enable_grad():
        points = _points(inputs, create_graph)
        outputs = func(*points)
        several = as_tuple(outputs)
        weights = tuple(_leaf(_C.zeros_like(y)) for y in several)
        products = _gradients("jvp", outputs, points, weights, True)
        directions = _weights("jvp", points, v)
        along = _grad_or_zeros(products, weights, directions, create_graph)
    return _result(outputs, create_graph), _like(outputs, along, create_graph)


def jacobian(func: Function, inputs: TensorOrTuple, create_graph: bool = False) -> Any:
    """All first derivatives, of shape output.shape + input.shape.

    A backward pass per element of the outputs.

    Args:
        func: of tensors, to a tensor or a tuple.
        inputs: where to evaluate.
        create_graph: records, for higher derivatives.

    Returns:
        A tensor for one output and one input; a tuple over inputs for a tuple of inputs; a tuple
        over outputs of these for a tuple of outputs.

    >>> engine.autograd.functional.jacobian(engine.square, engine.asarray([1.0, 2.0])).tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """
    with enable_grad():
        points = _points(inputs, create_graph)
        outputs = func(*points)
        rows = tuple(
            _like(inputs, _rows(y, points, create_graph), create_graph) for y in as_tuple(outputs)
        )
    return rows[0] if isinstance(outputs, Tensor) else rows


def hessian(func: Function, inputs: TensorOrTuple, create_graph: bool = False) -> Any:
    """All second derivatives of a function with a single element as result.

    Args:
        func: of tensors, to a tensor of one element.
        inputs: where to evaluate.
        create_graph: records, for higher derivatives.

    Returns:
        A tensor of shape input.shape + input.shape; for a tuple of inputs a tuple of tuples.

    Raises:
        ValueError: the result has more than one element.

    >>> engine.autograd.functional.hessian(lambda x: (x * x * x).sum(), engine.ones(1)).tolist()
    [[6.0]]
    """

    def gradient(*points: Tensor) -> Any:
        found = _first("hessian", func, points)
        return found[0] if isinstance(inputs, Tensor) else found

    return jacobian(gradient, inputs, create_graph)


def vhp(
    func: Function, inputs: TensorOrTuple, v: Any = None, create_graph: bool = False
) -> tuple[Any, Any]:
    """(func(*inputs), v^T H) for a function with a single element as result.

    Args:
        func: of tensors, to a tensor of one element.
        inputs: where to evaluate.
        v: of the inputs' shapes; None is 1 for a single element.
        create_graph: records, for higher derivatives.

    Raises:
        ValueError: the result has more than one element, or v other shapes.

    >>> engine.autograd.functional.vhp(lambda x: (x**3.0).sum(), engine.ones(1))[1].tolist()
    [6.0]
    """
    with enable_grad():
        points = _points(inputs, create_graph)
        outputs = func(*points)
        _check_single("vhp", outputs)
        first = _grad_or_zeros((outputs,), points, (None,), True)
        products = _grad_or_zeros(first, points, _weights("vhp", points, v), create_graph)
    return _result(outputs, create_graph), _like(inputs, products, create_graph)


def hvp(
    func: Function, inputs: TensorOrTuple, v: Any = None, create_graph: bool = False
) -> tuple[Any, Any]:
    """(func(*inputs), H v), which is v^T H: the Hessian is symmetric. See vhp.

    >>> engine.autograd.functional.hvp(lambda x: (x**3.0).sum(), engine.ones(1))[1].tolist()
    [6.0]
    """
    return vhp(func, inputs, v, create_graph)


def _leaf(t: Tensor) -> Tensor:
    leaf = t.detach()
    leaf.requires_grad = True
    return leaf


def _points(inputs: TensorOrTuple, create_graph: bool) -> tuple[Tensor, ...]:
    """Tensors to differentiate by, connected to the inputs where higher derivatives want it."""
    return tuple(
        t.reshape(t.shape) if create_graph and t.requires_grad else _leaf(t)
        for t in as_tuple(inputs)
    )


def _weights(op: str, like: Sequence[Tensor], v: Any) -> tuple[Tensor, ...]:
    if v is None:
        if any(t.size != 1 for t in like):
            raise ValueError(f"{op}: v may only be left out where everything is a single element")
        return tuple(_C.ones_like(t) for t in like)
    given = as_tuple(v)
    if [t.shape for t in given] != [t.shape for t in like]:
        raise ValueError(
            f"{op}: v has shapes {[t.shape for t in given]}, expected {[t.shape for t in like]}"
        )
    return given


def _grad_or_zeros(
    outputs: Sequence[Tensor],
    points: Sequence[Tensor],
    weights: Sequence[Tensor | None],
    create_graph: bool,
) -> tuple[Tensor, ...]:
    recorded = [(y, w) for y, w in zip(outputs, weights, strict=True) if y.requires_grad]
    if not recorded:
        return tuple(_C.zeros_like(t) for t in points)
    ys, ws = zip(*recorded, strict=True)
    found = grad(ys, points, ws, retain_graph=True, create_graph=create_graph, allow_unused=True)
    return tuple(_C.zeros_like(t) if g is None else g for g, t in zip(found, points, strict=True))


def _gradients(
    op: str, outputs: Any, points: tuple[Tensor, ...], v: Any, create_graph: bool
) -> tuple[Tensor, ...]:
    several = as_tuple(outputs)
    return _grad_or_zeros(several, points, _weights(op, several, v), create_graph)


def _check_single(op: str, output: Any) -> None:
    if not isinstance(output, Tensor) or output.size != 1:
        shape = output.shape if isinstance(output, Tensor) else type(output).__name__
        raise ValueError(f"{op}: func must return a tensor of a single element, got {shape}")


def _first(op: str, func: Function, points: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    output = func(*points)
    _check_single(op, output)
    return _grad_or_zeros((output,), points, (None,), True)


def _rows(y: Tensor, points: tuple[Tensor, ...], create_graph: bool) -> tuple[Tensor, ...]:
    """Derivatives of each element of y, a row each, by every point."""
    rows = []
    for k in range(y.size):
        one = _C.zeros((y.size,), dtype=y.dtype)
        one[k] = 1.0
        rows.append(_grad_or_zeros((y,), points, (one.reshape(y.shape),), create_graph))
    if not rows:
        return tuple(_C.zeros((*y.shape, *t.shape), dtype=t.dtype) for t in points)
    return tuple(
        _C.stack([row[i] for row in rows]).reshape((*y.shape, *t.shape))
        for i, t in enumerate(points)
    )


def _result(tensors: Any, create_graph: bool) -> Any:
    if create_graph:
        return tensors
    return _like(tensors, as_tuple(tensors), False)


def _like(template: Any, tensors: Sequence[Tensor], create_graph: bool) -> Any:
    done = tuple(t if create_graph else t.detach() for t in tensors)
    return done[0] if isinstance(template, Tensor) else done
