"""Which numbers of a training run are not finite."""

from __future__ import annotations

from typing import TYPE_CHECKING

import engine

if TYPE_CHECKING:
    from engine.nn import Module


def all_finite(model: Module) -> bool:
    """Whether every number of the model's state is finite.

    >>> from engine import nn
    >>> all_finite(nn.Linear(2, 1))
    True
    """
    return all(bool(engine.isfinite(tensor).all()) for tensor in model.state_dict().values())


def not_finite(model: Module, loss_is_finite: bool) -> str:
    """What was not finite in a step: the loss, or the first gradient in the model's order.

    >>> from engine import nn
    >>> not_finite(nn.Linear(2, 1), loss_is_finite=False)
    'the loss'
    """
    if not loss_is_finite:
        return "the loss"
    for name, parameter in model.named_parameters():
        if parameter.grad is not None and not engine.isfinite(parameter.grad).all():
            return f"the gradient of {name}"
    return "the norm of all gradients"
