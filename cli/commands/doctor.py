"""`zoo doctor`: what this machine and this installation are, what is wrong, and how to mend it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cli.text import folded, output_width, paint

if TYPE_CHECKING:
    from zoo.doctor import Finding

_DESCRIPTION = """\
Look at the processor, threads, memory, GPU, the cache of weights, the network's settings and the
versions of everything, and say what is wrong and how to mend it. Nothing is changed and no server
is asked. Exits with 1 if something is broken."""
_MARKS = {"ok": " ", "note": "~", "broken": "!"}
_LOOKS = {"note": "yellow", "broken": "red"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = _DESCRIPTION
    parser.add_argument("--json", action="store_true", help="print one JSON object instead")


def run(args: argparse.Namespace) -> int:
    """Print it; 1 if something is broken."""
    from zoo.doctor import examine

    found = examine()
    broken = sum(finding.state == "broken" for finding in found)
    if args.json:
        facts = {"ok": not broken, "findings": [finding.to_dict() for finding in found]}
        print(json.dumps(facts, indent=2, ensure_ascii=False))
    else:
        print("\n".join(_lines(found)))
    return 1 if broken else 0


def _lines(found: Sequence[Finding]) -> Iterator[str]:
    wide = max(len(finding.name) for finding in found)
    group = ""
    for finding in found:
        if finding.group != group:
            group = finding.group
            yield paint(group, "bold")
        yield from _one(finding, wide)
    broken, notes = (sum(f.state == state for f in found) for state in ("broken", "note"))
    yield ""
    if broken:
        yield paint(f"{_counted(broken, 'thing')} broken, marked with !", "red")
    elif notes:
        yield f"All works. {_counted(notes, 'thing')} could be better, marked with ~"
    else:
        yield paint("All is well.", "green")


def _one(finding: Finding, wide: int) -> Iterator[str]:
    indent = " " * (wide + 4)
    first, *more = folded(finding.value, indent, max(output_width(), wide + 24)) or [indent]
    mark, look = _MARKS[finding.state], _LOOKS.get(finding.state)
    head = f"{mark} {finding.name:<{wide}}  "
    yield (paint(head, look) if look else head) + first[len(indent) :]
    yield from more
    for line in folded(finding.advice, f"{indent}", max(output_width(), wide + 24)):
        yield paint(line, "quiet") if finding.state == "ok" else line


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
