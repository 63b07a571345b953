"""Where the headers for extensions in C++ lie."""

from __future__ import annotations

from pathlib import Path


def get_include() -> str:
    """The folder to give the compiler for `#include <zoo/extension.h>`.

    The headers need C++17, Python's and pybind11's headers, and nothing to link with; see
    engine/EXTENDING.md.

    >>> engine.get_include().endswith("include")
    True
    """
    return str(Path(__file__).resolve().parent / "include")
