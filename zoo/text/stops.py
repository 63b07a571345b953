"""Texts at which generation ends."""

from __future__ import annotations

from collections.abc import Sequence


class StopFilter:
    """Lets text through up to the first stop text, and never gives out the start of one: what could
    become one is held back until it is clear.

    Attributes:
        stopped: whether a stop text has appeared.

    >>> stops = StopFilter(["\\n\\n"])
    >>> [stops.push("a\\n"), stops.push("b\\n"), stops.push("\\nc"), stops.stopped]
    ['a', '\\nb', '', True]
    """

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = tuple(stops)
        self._held = ""
        self.stopped = False

    def push(self, text: str) -> str:
        """What of `text`, and of what was held back, can be given out."""
        if self.stopped:
            return ""
        text = self._held + text
        found = [at for stop in self._stops if (at := text.find(stop)) >= 0]
        if found:
            self.stopped, self._held = True, ""
            return text[: min(found)]
        held = max((_overlap(text, stop) for stop in self._stops), default=0)
        self._held = text[len(text) - held :]
        return text[: len(text) - held]

    def finish(self) -> str:
        """What was held back, when no more comes."""
        held, self._held = self._held, ""
        return held


def _overlap(text: str, stop: str) -> int:
    """How many characters at the end of `text` are the start of `stop`."""
    longest = min(len(text), len(stop) - 1)
    return next((n for n in range(longest, 0, -1) if text.endswith(stop[:n])), 0)
