"""Context managers that switch something of a thread: what they have in common."""

from __future__ import annotations

import copy
from contextlib import ContextDecorator
from types import TracebackType
from typing import Any, TypeVar

_Mode = TypeVar("_Mode", bound="Mode")


class Mode(ContextDecorator):
    """Switches something on entry and puts back what was there on exit. Per thread, reusable, a
    decorator too."""

    def __init__(self) -> None:
        self._before: list[Any] = []

    def _switch(self) -> Any:
        """Switch, and return what was there."""
        raise NotImplementedError

    def _put_back(self, before: Any) -> None:
        raise NotImplementedError

    def _recreate_cm(self: _Mode) -> _Mode:
        # A decorated function may run on several threads at once: each call gets its own state.
        fresh = copy.copy(self)
        fresh._before = []
        return fresh

    def __enter__(self: _Mode) -> _Mode:
        self._before.append(self._switch())
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._put_back(self._before.pop())
