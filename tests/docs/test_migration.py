"""Every name of Zoo in the migration tables exists, and so does every flag."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import engine
import hub
import zoo
from cli.main import COMMANDS, build_parser
from tests.docs.pages import DOCS, ROOT

PAGES = sorted((DOCS / "migration").glob("*.md"))
_ROW = re.compile(r"^\| (.+) \|$", re.MULTILINE)


def _zoo_cells(page: Path) -> list[str]:
    """The column headed Zoo of every table of a page."""
    found, column = [], None
    for line in page.read_text("utf-8").splitlines():
        if not line.startswith("|"):
            column = None
            continue
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if "Zoo" in cells:
            column = cells.index("Zoo")
        elif column is not None and not set(cells[column]) <= set("-: "):
            found.append(cells[column])
    return found


def _resolve(name: str) -> Any:
    roots = {
        "engine": engine, "zoo": zoo, "hub": hub, "nn": engine.nn, "F": engine.nn.functional,
        "optim": engine.optim, "Tensor": engine.Tensor,
    }  # fmt: skip
    first, *rest = name.split(".")
    value = roots[first]
    for part in rest:
        value = getattr(value, part)
    return value


def _flags(command: str) -> set[str]:
    parser = build_parser([command])
    (choices,) = (a.choices for a in parser._actions if isinstance(a.choices, dict))
    return {flag for action in choices[command]._actions for flag in action.option_strings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_names_exist(page: Path) -> None:
    seen = 0
    for cell in _zoo_cells(page):
        for code in re.findall(r"`([^`]+)`", cell):
            words = code.split()
            if words[0] == "zoo" and len(words) > 1:
                assert words[1] in COMMANDS, code
                wanted = {w.partition("=")[0] for w in words if w.startswith("--")}
                assert wanted <= _flags(words[1]), code
                seen += 1
                continue
            name = re.match(r"(engine|zoo|hub|nn|F|optim|Tensor)(\.\w+)*", code)
            if name:
                _resolve(name[0])
                seen += 1
                continue
            assert (ROOT / code).exists() or not re.match(r"[a-z]\w*\.[a-z]", code), code
    assert seen >= 10, f"{page.name}: only {seen} names"
