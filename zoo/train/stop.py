"""Ctrl-C, turned into a request to stop at the next good moment."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from types import FrameType, TracebackType
from typing import Any

# The last is for schedulers, which can send it some time before they end a job.
_SIGNALS = (signal.SIGINT, signal.SIGTERM, *filter(None, [getattr(signal, "SIGUSR1", None)]))
_NOTICE = b"\nStopping after this step. To stop at once and lose it, press Ctrl-C again.\n"
_ERROR_STREAM = 2


class StopRequest:
    """While it is entered, the first SIGINT, SIGTERM or SIGUSR1 sets `requested`; a second one
    stops at once, with `KeyboardInterrupt`. In threads other than the main one it does nothing,
    since Python delivers signals to the main one only.

    Args:
        quiet: say nothing on the error stream.

    >>> with StopRequest() as stop:
    ...     stop.requested
    False
    """

    def __init__(self, quiet: bool = False) -> None:
        self.requested = False
        self._quiet = quiet
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> StopRequest:
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                self._before[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
        if self._quiet:
            return
        # Not print: a handler may run in the middle of another print, which must not be re-entered.
        with contextlib.suppress(OSError):
            os.write(_ERROR_STREAM, _NOTICE)
