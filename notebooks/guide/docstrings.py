"""What mkdocstrings has to be told about this project's docstrings and names.

Examples stand in docstrings without a heading: lines with `>>>` become a fenced block, where
Markdown would read quotations. And the functions of engine.routines are found under `engine`, which
imports them when they are first used.
"""

from __future__ import annotations

from typing import Any

import griffe


def fence_examples(text: str) -> str:
    """`text` with a fence around each run of lines from a `>>>` to the next empty line."""
    out: list[str] = []
    inside, indent = False, ""
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


class ProjectDocstrings(griffe.Extension):
    """Applied to all that is loaded."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        if obj.docstring:
            obj.docstring.value = fence_examples(obj.docstring.value)

    def on_package(self, *, pkg: griffe.Module, **kwargs: Any) -> None:
        for topic in pkg.members.get("routines", pkg).modules.values():
            for name, value in topic.members.items():
                if topic.path.startswith("engine.routines.") and not value.is_alias:
                    if value.is_function and name not in pkg.members:
                        pkg.set_member(name, griffe.Alias(name, value, parent=pkg))
