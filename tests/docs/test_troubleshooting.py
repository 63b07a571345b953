"""Every message that the troubleshooting page quotes is one that the program can give."""

from __future__ import annotations

import ast
import functools
import re

import pytest

from tests.docs.pages import DOCS, ROOT

_CSRC = ROOT / "engine" / "csrc"
PAGE = DOCS / "troubleshooting.md"
_CALL = re.compile(
    r'(?:check\w*(?:<\w+>)?|concat_text|type_error)\(((?:[^"]|"(?:\\.|[^"\\])*")*?)\);'
)
_GAP = "…"  # stands for a value, in quotations and in what the sources are turned into


def quoted() -> list[str]:
    """The headings in code font."""
    return re.findall(r"^### `(.+)`$", PAGE.read_text("utf-8"), re.MULTILINE)


def _python_texts() -> list[str]:
    """Every text in the packages, with a gap for each value that is put in."""
    found = []
    for package in ("engine", "zoo", "hub", "cli"):
        for file in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text("utf-8"))):
                if isinstance(node, ast.JoinedStr):
                    parts = [
                        part.value if isinstance(part, ast.Constant) else _GAP
                        for part in node.values
                    ]
                    found.append("".join(map(str, parts)))
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                    found.append(node.value)
    return found


def _native_texts() -> list[str]:
    """Every list of texts and values between commas in the native sources, likewise."""
    found = []
    for file in [*_CSRC.rglob("*.cpp"), *_CSRC.rglob("*.h")]:
        text = re.sub(r'"\s*\n\s*"', "", file.read_text("utf-8"))
        for call in _CALL.findall(text):
            parts = re.split(r'"((?:[^"\\]|\\.)*)"', call)
            found.append("".join(p if i % 2 else _GAP for i, p in enumerate(parts)))
    return found


@functools.cache
def _sources() -> str:
    joined = "\n".join([*_python_texts(), *_native_texts()])
    return re.sub(rf"(?:\s*{_GAP}\s*)+", _GAP, joined.replace("\\'", "'").replace('\\"', '"'))


@pytest.mark.parametrize("message", quoted())
def test_message_exists(message: str) -> None:
    wanted = re.sub(rf"(?:\s*{_GAP}\s*)+", _GAP, message).strip(_GAP)
    assert wanted in _sources(), f"no such message: {message}"


def test_there_are_messages() -> None:
    assert len(quoted()) >= 25
