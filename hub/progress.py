"""One progress bar for all of the project: on a terminal, in a notebook, in a log.

On a terminal it is redrawn in place. In a notebook too, as text, which needs no widgets. Anywhere
else, such as the log of a CI service or a file, a bar that is redrawn would leave thousands of
lines: what takes longer than half a minute gets a whole line every half minute instead, and what is
quicker gets none.
"""

from __future__ import annotations

import sys
import time
from typing import Any

LOG_SECONDS = 30.0  # between two lines of a log
_LOG_FORMAT = (
    "{desc} {percentage:.0f}%, {n_fmt}/{total_fmt}{unit}, {elapsed}, left {remaining}{postfix}"
)


def progress_bar(*, show: bool = True, **options: Any) -> Any:
    """A tqdm bar that suits where the error stream leads.

    Args:
        show: False shows nothing anywhere.
        options: of `tqdm.tqdm`, such as total, desc and unit.

    >>> with progress_bar(show=False, total=2) as bar:
    ...     _ = bar.update(1)
    """
    from tqdm import tqdm

    if not show:
        return tqdm(disable=True, **options)
    if sys.stderr.isatty() or in_notebook():
        return tqdm(**options)
    options |= {"mininterval": LOG_SECONDS, "dynamic_ncols": False, "leave": False}
    return _log_class()(bar_format=_LOG_FORMAT, delay=LOG_SECONDS, **options)


def in_notebook() -> bool:
    """Whether a notebook shows what this process writes."""
    shell = sys.modules.get("IPython")
    found = shell.get_ipython() if shell is not None else None
    return found is not None and hasattr(found, "kernel")


def _log_class() -> Any:
    from tqdm import tqdm

    class LogBar(tqdm):  # type: ignore[type-arg]
        """Whole lines, LOG_SECONDS apart, whoever asks for more."""

        _told = 0.0

        def refresh(self, nolock: bool = False, lock_args: Any = None) -> bool:
            now = time.monotonic()
            self._told = self._told or now - (time.time() - self.start_t)
            if now - self._told < LOG_SECONDS:
                return False
            self._told = now
            line = str(self).strip().replace(":  ", ": ")  # set_description adds a colon
            self.fp.write(f"{line}\n")
            self.fp.flush()
            return True

        def clear(self, nolock: bool = False) -> None:
            pass  # lines stay

        def close(self) -> None:
            self.last_print_t = self.start_t  # or tqdm would wipe out a bar
            super().close()

    return LogBar
