"""A module as a function of its parameters, for derivatives by all of them at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine import Tensor
from engine.nn.module import Module


def functional_call(
    module: Module,
    tensors: Mapping[str, Tensor],
    args: Any = (),
    kwargs: Mapping[str, Any] | None = None,
) -> Any:
    """What a module computes with other tensors in the place of some of its parameters and buffers.

    The module is as it was afterwards, even after an error. A parameter that is tied, used under
    several names, is replaced under all of them.

    Args:
        module: any module; what `tensors` does not name is used as it is.
        tensors: by names as in `named_parameters` and `named_buffers`, with their shapes. They need
            not be leaves: gradients go to where they come from.
        args: the arguments, a tuple, or a single one.
        kwargs: further arguments by name.

    Raises:
        KeyError: the module has no parameter or buffer of such a name.
        ValueError: a tensor has another shape than what it stands for.

    >>> layer = engine.nn.Linear(2, 1)
    >>> ones = {"weight": engine.ones((1, 2)), "bias": engine.zeros(1)}
    >>> engine.nn.functional_call(layer, ones, engine.asarray([3.0, 4.0])).tolist()
    [7.0]
    """
    own = dict([*module.named_parameters(), *module.named_buffers()])
    new: dict[int, Tensor] = {}
    for name, tensor in tensors.items():
        if name not in own:
            raise KeyError(
                f"functional_call: {type(module).__name__} has no parameter or buffer {name!r}; "
                f"it has {', '.join(list(own)[:8])}{', ...' if len(own) > 8 else ''}"
            )
        if tensor.shape != own[name].shape:
            raise ValueError(
                f"functional_call: {name} has shape {tuple(tensor.shape)}; expected "
                f"{tuple(own[name].shape)}"
            )
        new[id(own[name])] = tensor
    places = [
        (part, attribute, value)
        for part in module.modules()
        for attribute, value in vars(part).items()
        if id(value) in new
    ]
    arguments = args if isinstance(args, tuple) else (args,)
    try:
        for part, attribute, value in places:
            # Not setattr: a module refuses to let a plain tensor take a parameter's place.
            object.__setattr__(part, attribute, new[id(value)])
        return module(*arguments, **(kwargs or {}))
    finally:
        for part, attribute, value in places:
            object.__setattr__(part, attribute, value)
