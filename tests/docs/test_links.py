"""Links of the guide and of the project's pages lead somewhere; no page asks another machine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from tests.docs.pages import DOCS, GUIDE, ROOT, all_pages

PROJECT = [ROOT / n for n in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")]
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)(?: \"[^\"]*\")?\)")
_FENCED = re.compile(r"^ *(`{3,}).*?^ *\1`*$", re.MULTILINE | re.DOTALL)


def _text(page: Path) -> str:
    """A page without its fenced blocks."""
    return _FENCED.sub("", page.read_text("utf-8"))


def _anchors(page: Path) -> set[str]:
    """What # may lead to: headings, and the names on pages of the reference."""
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.+)$", _text(page), re.MULTILINE):
        plain = re.sub(r"[`*]|\{.*\}|\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())
        while slug in found:
            slug += "_1"
        found.add(slug)
    return found | set(re.findall(r"^::: (\S+)$", page.read_text("utf-8"), re.MULTILINE))


@pytest.mark.parametrize(
    "page", [*all_pages(), *PROJECT], ids=lambda page: str(page.relative_to(ROOT))
)
def test_links_lead_somewhere(page: Path) -> None:
    for link in _LINK.findall(_text(page)):
        if link.startswith(("https://", "mailto:")):
            continue
        assert not link.startswith("http:"), f"{link}: expected https"
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.name}: {link}"
        if page.is_relative_to(DOCS):
            assert target.is_relative_to(DOCS), f"{page.name}: {link} is not part of the site"
        if anchor:
            assert anchor in _anchors(target), f"{page.name}: {link}"


def test_paths_in_the_text_exist() -> None:
    """`zoo/assets/x.py` in code font is a file or folder of the repository."""
    wanted = re.compile(r"`((?:engine|zoo|hub|cli|tests|notebooks|model_cards)/[\w./-]+)`")
    gone = [
        f"{page.name}: {path}"
        for page in [*all_pages(), *PROJECT]
        if page.name != "CHANGELOG.md"
        for path in wanted.findall(_text(page))
        if not re.search("NAME|FAMILY", path) and not (ROOT / path).exists()
    ]
    assert not gone


class _Loader(yaml.SafeLoader):
    """Reads mkdocs.yml, whose tags for Python objects are of no interest here."""


_Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda loader, tag, node: tag)


def _leaves(nav: object) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    children = nav.values() if isinstance(nav, dict) else nav
    return [leaf for child in children for leaf in _leaves(child)]  # type: ignore[attr-defined]


def test_every_page_is_in_the_navigation_once() -> None:
    settings = yaml.load((GUIDE / "mkdocs.yml").read_text("utf-8"), _Loader)
    named = _leaves(settings["nav"])
    assert sorted(named) == [page.relative_to(DOCS).as_posix() for page in all_pages()]


def test_the_site_takes_nothing_from_elsewhere() -> None:
    settings = yaml.load((GUIDE / "mkdocs.yml").read_text("utf-8"), _Loader)
    assert settings["theme"]["font"] is False
    assert not any(str(s).startswith("http") for s in settings.get("extra_css", []))
    assert "extra_javascript" not in settings
