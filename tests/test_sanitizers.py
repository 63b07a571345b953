"""A slice of `tests/sanitize.sh`: allocator, thread pool and reference counts under sanitizers."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("sanitize.sh")


def test_the_core_under_sanitizers(tmp_path: Path) -> None:
    source = tmp_path / "empty.cpp"
    source.write_text("int main() {}")
    for kind in ("address,undefined", "thread"):
        built = subprocess.run(
            [os.environ.get("CXX", "c++"), f"-fsanitize={kind}", source, "-o", tmp_path / "empty"],
            capture_output=True,
        )
        if built.returncode or shutil.which("setarch") is None:
            pytest.skip(f"this machine has no -fsanitize={kind}, or no setarch: NOT TESTED")
    done = subprocess.run(
        ["bash", SCRIPT, "core", "0.3"], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("sanitize.sh: core found nothing\n")
