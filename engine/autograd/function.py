"""Custom operations in plain Python."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from engine import _C


class Function:
    """An operation with a forward and a backward of your own.

    Subclass it with two static methods and call `apply`:

    - `forward(ctx, *args)` computes; nothing it does is recorded. It returns a tensor, or a tuple
      of tensors and other values.
    - `backward(ctx, *grads)` gets one gradient per output of forward and returns one per argument
      of forward: a tensor of the argument's shape, or None. Under create_graph it is recorded, so
      gradients of gradients follow from the operations it uses.

    `ctx` carries values between the two:

    - `ctx.save_for_backward(*tensors)` in forward, `ctx.saved_tensors` in backward. A tensor that
      was changed in place in between raises AutogradError.
    - any other attribute, `ctx.axis = 1`. A tensor kept so is a constant for second gradients.
    - `ctx.needs_input_grad`: for each argument, whether its gradient is wanted.
    - `ctx.mark_non_differentiable(*outputs)`: no gradient flows through these. Integer outputs
      need no mark.
    - `ctx.set_materialize_grads(False)`: backward gets None instead of zeros where no gradient
      arrived.

    An error in backward keeps its traceback and gains the line that called `apply`. AutogradError
    tells a wrong number of gradients, or wrong shapes.

    >>> class Cube(engine.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x * x
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         (x,) = ctx.saved_tensors
    ...         return grad * 3.0 * x * x
    >>> x = engine.asarray([2.0])
    >>> x.requires_grad = True
    >>> Cube.apply(x).backward()
    >>> x.grad.tolist()
    [12.0]
    """

    def __init__(self) -> None:
        raise TypeError(f"{type(self).__name__} is not made but applied: use .apply(...)")

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        """Computes the outputs; subclasses define it."""
        raise NotImplementedError("Function: the subclass defines no static method forward")

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """Computes the gradients of forward's arguments; subclasses define it."""
        raise NotImplementedError("Function: the subclass defines no static method backward")

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Runs forward and, if an argument requires gradients, records backward."""
        return _C._apply_function(cls, *args)


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates a Function's backward that must not be differentiated itself, such as one that
    computes outside the engine: under create_graph it raises AutogradError instead of giving a
    wrong second gradient.

    >>> class Exp(engine.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.y = np.exp(x.detach().numpy())
    ...         return engine.asarray(ctx.y)
    ...     @staticmethod
    ...     @engine.autograd.once_differentiable
    ...     def backward(ctx, grad):
    ...         return engine.asarray(grad.numpy() * ctx.y)
    """

    @functools.wraps(backward)
    def wrapper(ctx: Any, *grads: Any) -> Any:
        if _C.is_grad_enabled():
            raise _C.AutogradError(
                f"{backward.__qualname__}: declared differentiable once; call backward without "
                "create_graph=True"
            )
        return backward(ctx, *grads)

    return wrapper
