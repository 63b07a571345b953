"""One thing that an examination found."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

State = Literal["ok", "note", "broken"]


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        group: "machine", "weights", "network" or "installation".
        name: what was looked at.
        value: what was found.
        state: "ok"; "note", it works and could be better; "broken", something does not work.
        advice: how to mend it, or what follows from it; "" where there is nothing to say.

    >>> Finding("machine", "threads", "2").state
    'ok'
    """

    group: str
    name: str
    value: str
    state: State = "ok"
    advice: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)
