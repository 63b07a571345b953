"""Writes engine/_C.pyi, the types of the native module, from the module itself.

    pip install pybind11-stubgen==3.0.0
    python -m tests.engine.make_stub [--check]

--check writes nothing and fails if the file is not what the module says.
"""

from __future__ import annotations

import difflib
import re
import subprocess
import sys
import tempfile
from pathlib import Path

STUB = Path(__file__).parents[2] / "engine" / "_C.pyi"

# What pybind11 says -> what a reader, and a type checker, should see.
INTEGER = r"typing\.SupportsInt \| typing\.SupportsIndex"
REWRITES = [
    (INTEGER, "int"),
    (r"typing\.SupportsFloat \| typing\.SupportsIndex", "float"),
    (r"typing\.Annotated\[collections\.abc\.Sequence\[(\w+)\], \"FixedSize\(2\)\"\]",
     r"tuple[\1, \1]"),
    (r"= \[(\d+), (\d+)\]", r"= (\1, \2)"),
    (r"\"?engine\._C\.(Tensor|Generator)\"?", r"\1"),
    # Tensor.dtype and the value `bool` would hide the types of those names.
    (r"numpy\.dtype\[typing\.Any\]|\"?engine\._C\.dtype\"?", "DType"),
    (r"(?<=(?:: |> |\| ))bool\b(?! \()", "builtins.bool"),
    (r"generator: Generator = None", "generator: Generator | None = None"),
    # Operators answer NotImplemented to Python, and a tensor to everybody else.
    (r"(def __\w+__\(self, (?:other|arg0): typing\.Any\) -> )typing\.Any", r"\1Tensor"),
    (r"protocol: SupportsIndex", "protocol: typing.SupportsIndex"),
    (r"self: DType", "self"),
    (r"\n +\.\.\.\n", " ...\n"),
    (r"(def __(?:eq|ne)__\(self, arg0: typing\.Any\) -> Tensor: \.\.\.)",
     r"\1  # type: ignore[override]"),
    (r"\nclass Tensor:", r"\nDType: typing.TypeAlias = dtype\nclass Tensor:"),
    (r"\nimport collections\.abc", r"\nimport builtins\nimport collections.abc"),
    (r"[ \t]+\n", "\n"),
]  # fmt: skip

HEADER = """# Written by tests/engine/make_stub.py from the module itself; do not edit.
# ruff: noqa
"""


def generate() -> str:
    """The text of the stub for the module that is importable now."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, "-m", "pybind11_stubgen", "engine._C", "-o", folder,
             "--ignore-invalid-expressions", ".*"],
            check=True, capture_output=True,
        )  # fmt: skip
        text = (Path(folder) / "engine" / "_C.pyi").read_text(encoding="utf-8")
    for pattern, replacement in REWRITES:
        text = re.sub(pattern, replacement, text)
    return HEADER + text


def main() -> int:
    text = generate()
    if "--check" not in sys.argv:
        STUB.write_text(text, encoding="utf-8")
        return 0
    old = STUB.read_text(encoding="utf-8") if STUB.exists() else ""
    sys.stdout.writelines(
        difflib.unified_diff(old.splitlines(True), text.splitlines(True), "engine/_C.pyi", "module")
    )
    return int(old != text)


if __name__ == "__main__":
    sys.exit(main())
