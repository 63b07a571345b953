"""Tests of device "cuda": on a GPU, or on the emulation that ZOO_EMULATED_LIBRARY names.

They are marked `cuda` and left out unless asked for; tests/gpu/test_emulated.py runs them emulated.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine import _C

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.cuda)


@pytest.fixture(scope="session", autouse=True)
def device() -> str:
    library = os.environ.get("ZOO_EMULATED_LIBRARY")
    if library and _C._backend_info() is None:
        _C._load_backend(library)
    if _C._backend_info() is None:
        pytest.fail(
            f"device 'cuda' is not available: {_C._backend_absence()}; for the emulation: "
            "python -m tests.gpu.emulate -- python -m pytest -m cuda tests/gpu/device"
        )
    return "cuda"
