"""What there is to know about this machine and this installation, and what is wrong with them.

Nothing is changed, nothing is downloaded and no server is asked. `zoo doctor` prints it.

>>> from zoo.doctor import examine
>>> [finding.name for finding in examine() if finding.group == "machine"][:2]
['system', 'processor']
"""

from __future__ import annotations

from zoo.doctor.finding import Finding

__all__ = ["Finding", "examine"]


def examine() -> list[Finding]:
    """All findings, those about the machine first.

    >>> all(finding.advice for finding in examine() if finding.state == "broken")
    True
    """
    from zoo.doctor import installation, machine, storage

    return [*machine.findings(), *storage.findings(), *installation.findings()]
