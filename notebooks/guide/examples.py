"""Lets mkdocstrings show the examples of docstrings: lines with `>>>` become a fenced block.

The docstrings keep their examples without a heading, which Markdown would read as quotations.
"""

from __future__ import annotations

from typing import Any

import griffe


def fence_examples(text: str) -> str:
    """`text` with a fence around each run of lines from a `>>>` to the next empty line."""
    out: list[str] = []
    inside = False
    for line in text.expandtabs().splitlines():
        if line.lstrip().startswith(">>> ") and not inside:
            indent = " " * (len(line) - len(line.lstrip()))
            out += [""] * bool(out and out[-1].strip()) + [f"{indent}```pycon"]
            inside = True
        elif inside and not line.strip():
            out.append(f"{indent}```")
            inside = False
        out.append(line.partition("  # doctest:")[0].rstrip() if inside else line)
    return "\n".join(out + [f"{indent}```"] * inside)


class FencedExamples(griffe.Extension):
    """Applies `fence_examples` to every docstring that is loaded."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        if obj.docstring:
            obj.docstring.value = fence_examples(obj.docstring.value)
