"""Writes engine/ROUTINES.md, the page of all public routines, from the modules themselves.

    python -m tests.engine.make_routines [--check]

--check writes nothing and fails if the page is not what the modules say.
"""

from __future__ import annotations

import argparse
import ast
import functools
import inspect
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.engine.make_stub import STUB
from tests.routines import NAMESPACES, OPS, public_routines

PAGE = Path(__file__).parents[2] / "engine" / "ROUTINES.md"

HEADER = """# Routines

Every public function of the engine: {count} in all, besides the methods of `Tensor`, the layers of
`engine.nn` and the optimizers of `engine.optim`. "Gradient" says whether the op specs check its
gradient against finite differences in float64. All run on the CPU. `help(engine.NAME)` has the
rest. Written by `python -m tests.engine.make_routines`; do not edit.
"""


@functools.cache
def native_signatures() -> dict[str, str]:
    """Parameters of the native functions, from the stub: pybind11 tells Python none."""
    found = {}
    for node in ast.parse(STUB.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            arguments = node.args
            for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
                argument.annotation = None
            found[node.name] = ast.unparse(arguments)
    return found


def signature(function: Callable[..., Any]) -> str:
    """Its parameters, without types."""
    if not inspect.isfunction(function):
        return native_signatures()[function.__name__]
    parameters = inspect.signature(function).parameters.values()
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in parameters]
    return str(inspect.Signature(plain))[1:-1]


def summary(function: Callable[..., Any]) -> str:
    """The first sentence of its docstring."""
    text = function.__doc__ or ""
    if re.match(r"\w+\(.*\) -> ", text):  # pybind11 puts the signature first
        text = text.partition("\n")[2]
    text = " ".join(text.strip().partition("\n\n")[0].split())
    return re.split(r"(?<=[.;])\s", text, maxsplit=1)[0].rstrip(".;").replace("|", "\\|")


def generate() -> str:
    routines = public_routines()
    checked = {op.name for op in OPS if op.grad}
    lines = [HEADER.format(count=len(routines))]
    for namespace in NAMESPACES:
        prefix = namespace[len("engine.") :] + "." if namespace != "engine" else ""
        rows = {n: f for n, f in routines.items() if n.rpartition(".")[0] == prefix[:-1]}
        lines += [f"## {namespace}: {len(rows)}", "", "| routine | gradient | |", "|---|---|---|"]
        for name, function in sorted(rows.items()):
            short = name.rpartition(".")[2]
            call = f"{short}({signature(function)})".replace("|", "\\|")
            lines.append(f"| `{call}` | {'yes' if name in checked else ''} | {summary(function)} |")
        lines.append("")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    text = generate()
    if parser.parse_args().check:
        return 0 if PAGE.read_text(encoding="utf-8") == text else 1
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
