"""Every fenced block of the guide and of the README runs and prints what it says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import engine
from tests.docs.pages import DOCS, ROOT, Block, all_pages, blocks
from tests.docs.running import RUN, Page, expect

# Pages of the reference hold docstrings, whose examples test_reference.py runs.
PAGES = [
    ROOT / "README.md",
    *(page for page in all_pages() if not page.is_relative_to(DOCS / "reference")),
]
# Blocks that are read and not run.
SHOWN = ("text", "toml", "csv", "json", "cpp", "")


RARE = ("slow", "interop")  # blocks with these marks run where pytest is asked for them


def _rare(block: Block) -> set[str]:
    return set(RARE) & set(block.marks)


def _marked(mark: str) -> list[Path]:
    return [page for page in PAGES if any(mark in _rare(block) for block in blocks(page))]


def _run(page: Path, folder: Path, *marks: str) -> int:
    """How many blocks ran: those without a rare mark, and those with one of `marks`."""
    folder.mkdir()
    place, printed, ran, done = Page(folder), "", False, 0
    threads, before = engine.get_num_threads(), os.getcwd()
    os.chdir(folder)
    try:
        for block in blocks(page):
            if "command" in block.marks or not _rare(block) <= set(marks):
                ran = False
                continue
            try:
                if block.language == "text" and ran and block.behind:
                    expect(block.text, printed)
                    ran = False
                    continue
                printed = place.run(block)
            except Exception as error:
                where = f"{page.relative_to(ROOT)}, line {block.line}"
                raise AssertionError(f"{where}: {type(error).__name__}: {error}") from error
            ran = block.language in RUN and not block.title
            done += ran
    finally:
        os.chdir(before)
        engine.set_num_threads(threads)
    return done


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZOO_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ZOO_OFFLINE", "1")
    _run(page, tmp_path / "page")


@pytest.mark.slow
@pytest.mark.parametrize("page", _marked("slow"), ids=lambda page: page.stem)
def test_slow_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZOO_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ZOO_OFFLINE", "1")
    assert _run(page, tmp_path / "page", "slow") > 0


@pytest.mark.interop
@pytest.mark.parametrize("page", _marked("interop"), ids=lambda page: page.stem)
def test_blocks_with_other_packages_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZOO_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ZOO_OFFLINE", "1")
    assert _run(page, tmp_path / "page", "interop") > 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_block_has_a_language_that_is_run_or_shown(page: Path) -> None:
    for block in blocks(page):
        known = block.language in (*RUN, *SHOWN, "input")
        assert known, f"line {block.line}: {block.language!r} is neither run nor shown"
