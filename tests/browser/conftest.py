"""A Chromium for the tests of pages: playwright's own (`playwright install chromium`), Debian's, or
the program that ZOO_CHROMIUM names."""

from __future__ import annotations

import os
import shutil

import pytest

_NAMES = ("chromium", "chromium-headless-shell", "google-chrome", "chromium-browser")


@pytest.fixture(scope="session")
def browser():
    from playwright.sync_api import sync_playwright

    program = os.environ.get("ZOO_CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield found
        found.close()
