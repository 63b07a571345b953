"""The pages of the guide, and the fenced blocks in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "notebooks" / "guide"
DOCS = GUIDE / "docs"

_MARK = re.compile(r"<!-- (test|input|command): (.+) -->")
_FENCE = re.compile(r"( *)(`{3,})(\S*)\s*(.*)")


@dataclass(frozen=True)
class Block:
    """A fenced block.

    Attributes:
        language: what stands behind the back-ticks.
        text: what is in it.
        line: where it begins, from 1.
        marks: what `<!-- test: WORDS -->` before it says about running it.
        title: name of the file that it is, or "".
        behind: nothing but empty lines stands between the block before and this one.
    """

    language: str
    text: str
    line: int
    marks: tuple[str, ...] = ()
    title: str = ""
    behind: bool = False


def all_pages() -> list[Path]:
    """Every page of the site, in order."""
    return sorted(DOCS.rglob("*.md"))


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, indented ones too; an `input` mark is a block of its own, whose
    language is "input"."""
    found: list[Block] = []
    marks: list[str] = []
    behind = False
    lines = iter(enumerate(page.read_text("utf-8").splitlines(), 1))
    for number, line in lines:
        mark = _MARK.match(line.strip())
        if mark and mark[1] == "input":
            found.append(Block("input", mark[2], number))
        elif mark:  # a command is one that .ci/run takes out of the README and runs
            marks += ["command"] if mark[1] == "command" else mark[2].split()
        fence = _FENCE.fullmatch(line)
        if not fence:
            if line.strip() and not mark:
                marks, behind = [], False
            continue
        indent, ticks = len(fence[1]), fence[2]
        inside = []
        for _, text in lines:
            if text.strip() == ticks:
                break
            inside.append(text[indent:] if text[:indent].isspace() or not indent else text)
        title = re.search(r'title="([^"]+)"', fence[4])
        text = "\n".join(inside) + "\n"
        name = title[1] if title else ""
        found.append(Block(fence[3], text, number, tuple(marks), name, behind))
        marks, behind = [], True
    return found
