"""README, citation and benchmark page agree with each other and with the package."""

from __future__ import annotations

import sys

import yaml

from tests.docs.pages import DOCS, ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def _table_below(text: str, head: str) -> list[str]:
    lines = text.splitlines()
    start = lines.index(head)
    end = next(i for i in range(start, len(lines)) if not lines[i].startswith("|"))
    return lines[start:end]


def test_benchmark_page_has_the_figures_of_the_readme() -> None:
    head = "| work | ratio | memory, Zoo / PyTorch |"
    readme = _table_below((ROOT / "README.md").read_text("utf-8"), head)
    page = _table_below((DOCS / "benchmarks.md").read_text("utf-8"), head)
    assert len(readme) > 5 and page == readme


def test_citation_names_the_version_of_the_package() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert citation["title"].lower() == project["name"]
    assert (citation["version"], citation["license"]) == (project["version"], project["license"])
