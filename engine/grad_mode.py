"""Whether operations are recorded: context managers that are decorators too."""

from __future__ import annotations

from contextlib import ContextDecorator
from types import TracebackType

from engine import _C


class _GradMode(ContextDecorator):
    """Sets recording on entry and puts back what was there on exit. Per thread, reusable."""

    _enabled: bool

    def __init__(self) -> None:
        self._previous: list[bool] = []

    def _recreate_cm(self) -> _GradMode:
        # A decorated function may run on several threads at once: each call gets its own state.
        return type(self)()

    def __enter__(self) -> _GradMode:
        self._previous.append(_C.is_grad_enabled())
        _C.set_grad_enabled(self._enabled)
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _C.set_grad_enabled(self._previous.pop())


class no_grad(_GradMode):  # noqa: N801 - the field's name for it
    """Operations inside are not recorded: faster, and less memory.

    >>> x = engine.ones(2)
    >>> x.requires_grad = True
    >>> with engine.no_grad():
    ...     (x * 2).requires_grad
    False
    """

    _enabled = False


class inference_mode(no_grad):  # noqa: N801
    """no_grad under the name that code for PyTorch uses. Tensors made inside are ordinary ones.

    >>> with engine.inference_mode():
    ...     y = engine.ones(2) * 2
    """


class enable_grad(_GradMode):  # noqa: N801
    """Operations inside are recorded, also within no_grad.

    >>> x = engine.ones(2)
    >>> x.requires_grad = True
    >>> with engine.no_grad(), engine.enable_grad():
    ...     (x * 2).requires_grad
    True
    """

    _enabled = True
