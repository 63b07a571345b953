"""Functions that make tensors of their own, such as positions, make them where their input is."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from engine import _C
from engine._C import Tensor
from engine.placement import device

_F = TypeVar("_F", bound=Callable[..., Any])


def beside_input(function: _F) -> _F:
    """What the function makes from nothing goes to the device of its first tensor.

    >>> beside_input(lambda x: engine.arange(3) + x)(engine.ones(3)).device
    Device('cpu')
    """

    @functools.wraps(function)
    def placed(*args: Any, **kwargs: Any) -> Any:
        for value in (*args, *kwargs.values()):
            if isinstance(value, Tensor):
                if value.device == _C._default_device():
                    break
                with device(value.device):
                    return function(*args, **kwargs)
        return function(*args, **kwargs)

    return placed  # type: ignore[return-value]
