"""Python's collector of cycles, out of the way of loops that make many records and no cycles."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable
from typing import Any, TypeVar

_F = TypeVar("_F", bound=Callable[..., Any])


def without_collector(function: _F) -> _F:
    """While the function runs nobody looks for cycles. 100,000 records that stay would be gone
    through again and again as they are made, which takes a sixth of the time.

    >>> without_collector(gc.isenabled)()
    False
    """

    @functools.wraps(function)
    def paused(*args: Any, **kwargs: Any) -> Any:
        was_on = gc.isenabled()
        gc.disable()
        try:
            return function(*args, **kwargs)
        finally:
            if was_on:
                gc.enable()

    return paused  # type: ignore[return-value]
