"""Whether operations are recorded: context managers that are decorators too."""

from __future__ import annotations

from engine import _C
from engine.mode import Mode


class _GradMode(Mode):
    _enabled: bool

    def _switch(self) -> bool:
        before = _C.is_grad_enabled()
        _C.set_grad_enabled(self._enabled)
        return before

    def _put_back(self, before: bool) -> None:
        _C.set_grad_enabled(before)


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
