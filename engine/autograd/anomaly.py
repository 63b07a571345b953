"""Finding the operation that made the first NaN."""

from __future__ import annotations

from engine import _C
from engine.mode import Mode


class detect_anomaly(Mode):  # noqa: N801 - the field's name for it
    """Inside, a backward pass raises AutogradError at the first gradient that is not finite.

    The message names the operation whose rule made it, the line of your program that ran that
    operation, how many elements are NaN or infinite and where the first is. Each gradient is read
    once more, so use it to search, not to train.

    Args:
        check_forward: raises too when a recorded operation's result is not finite.

    >>> x = engine.asarray([0.0])
    >>> x.requires_grad = True
    >>> with engine.autograd.detect_anomaly():
    ...     engine.sqrt(x).backward()
    Traceback (most recent call last):
    engine._C.AutogradError: backward of 'sqrt' (...) made a gradient that is not finite: ...
    """

    def __init__(self, check_forward: bool = False) -> None:
        super().__init__()
        self._forward = check_forward

    def _switch(self) -> tuple[bool, bool]:
        return _C._set_anomaly_mode(True, self._forward)

    def _put_back(self, before: tuple[bool, bool]) -> None:
        _C._set_anomaly_mode(*before)
