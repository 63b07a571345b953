"""The guide builds without a warning, and its pages ask no other machine for anything.

python -m pytest -m docs
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import GUIDE, ROOT
from tests.docs.public_names import documented

pytestmark = pytest.mark.docs
_LOADED = re.compile(
    r"<(?:script|img|iframe|source)[^>]*\ssrc=\"(?:https?:)?//[^\"]*\""
    r"|<link[^>]*rel=\"?(?:stylesheet|preload|preconnect|icon)[^>]*href=\"(?:https?:)?//[^\"]*\""
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet",
         "-f", str(GUIDE / "mkdocs.yml"), "-d", str(folder)],
        env={**os.environ, "PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert "WARNING" not in done.stdout, done.stdout
    return folder


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    asked = [
        f"{page.relative_to(site)}: {found}"
        for page in site.rglob("*.html")
        for found in _LOADED.findall(page.read_text("utf-8"))
    ]
    assert not asked


def test_every_public_name_stands_in_the_reference(site: Path) -> None:
    text = "".join(page.read_text("utf-8") for page in (site / "reference").rglob("*.html"))
    assert not [name for name in documented() if f'id="{name}"' not in text]


def test_examples_become_blocks() -> None:
    spec = importlib.util.spec_from_file_location("docstrings", GUIDE / "docstrings.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.fence_examples("Adds.\n\n>>> 1 + 1     # doctest: +SKIP\n2") == (
        "Adds.\n\n```pycon\n>>> 1 + 1\n2\n```"
    )
