"""Notebooks as the tests see them: what is stored in the files, and what running them gives.

    python -m tests.notebooks.notebook [NAME ...]

runs notebooks and writes their outputs into the files; it needs `pip install -e '.[notebooks]'`.
"""

from __future__ import annotations

import json
import math
import os
import re
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "notebooks"
NAMES = sorted(path.stem for path in FOLDER.glob("*.ipynb"))

VARIES = "varies"
"""Tag of cells whose output holds times, or other numbers of the machine: only the kinds of what
they show are compared."""

# Of the engine and of numpy: the same arithmetic on every x86-64 machine of the last ten years.
_SAME_ARITHMETIC = {"ZOO_CPU_ISA": "avx2", "OPENBLAS_CORETYPE": "Haswell"}
_TOLERANCE = 0.02  # of numbers, relative; other versions of other libraries round otherwise
_NUMBER = re.compile(r"(?<![\w.])-?\d[\d,_]*(?:\.\d+)?(?:e[-+]?\d+)?")

Cell = dict[str, Any]


def read(name: str) -> dict[str, Any]:
    """The notebook of that name, as its file holds it."""
    return json.loads((FOLDER / f"{name}.ipynb").read_text("utf-8"))


def code_cells(notebook: dict[str, Any]) -> list[Cell]:
    """Its cells of code, in order."""
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def source_of(cell: Cell) -> str:
    """Its text, whether a file holds it as lines or as one string."""
    return _joined(cell["source"])


def execute(name: str) -> dict[str, Any]:
    """The notebook with the outputs of a run in a fresh kernel, without a network and with an empty
    cache. Raises the error of a cell that fails."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    with tempfile.TemporaryDirectory() as home:
        env = {
            **os.environ,
            **_SAME_ARITHMETIC,
            "ZOO_HOME": home,
            "ZOO_OFFLINE": "1",
            "PYTHONPATH": str(FOLDER.parent),
        }
        client = NotebookClient(
            notebook,
            timeout=1200,  # of a cell; the machine may be busy
            kernel_name="python3",
            resources={"metadata": {"path": str(FOLDER)}},
            record_timing=False,
        )
        client.execute(env=env)
    return _tidy(json.loads(nbformat.writes(notebook)))


def _tidy(notebook: dict[str, Any]) -> dict[str, Any]:
    """Without what differs from run to run and says nothing: versions of Python, numbers of
    displays."""
    notebook["metadata"] = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for cell in code_cells(notebook):
        for output in cell["outputs"]:
            output.pop("transient", None)
    return notebook


def kinds(cell: Cell) -> list[str]:
    """What each output is: the name of a stream, or the sorted media types of something shown.
    Pieces of one stream that follow each other count once."""
    found: list[str] = []
    for output in cell["outputs"]:
        kind = output.get("name") or "+".join(sorted(output.get("data", {}))) or "error"
        if "data" in output or found[-1:] != [kind]:
            found.append(kind)
    return found


def text(cell: Cell) -> str:
    """All text that a cell printed and showed, without pictures."""
    parts = []
    for output in cell["outputs"]:
        if "text" in output:
            parts.append(_joined(output["text"]))
        elif "data" in output and "text/plain" in output["data"]:
            parts.append(_joined(output["data"]["text/plain"]) + "\n")
    return "".join(parts)


def difference(old: str, new: str) -> str | None:
    """Where two texts differ, numbers being equal within a few percent; None where nowhere."""
    old_numbers, new_numbers = _numbers(old), _numbers(new)
    for was, is_ in zip(old.splitlines(), new.splitlines(), strict=False):
        if _words(was) != _words(is_):
            return f"- {was}\n+ {is_}"
    if len(old.splitlines()) != len(new.splitlines()):
        return f"{len(old.splitlines())} lines are stored, {len(new.splitlines())} come out"
    for a, b in zip(old_numbers, new_numbers, strict=True):
        if not math.isclose(a, b, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE):
            return f"{a} is stored, {b} comes out"
    return None


def _words(line: str) -> str:
    return re.sub(r"\s+", " ", _NUMBER.sub("#", line)).strip()


def _numbers(of: str) -> list[float]:
    return [float(number.replace(",", "").replace("_", "")) for number in _NUMBER.findall(of)]


def _joined(lines: str | list[str]) -> str:
    return lines if isinstance(lines, str) else "".join(lines)


def varies(cell: Cell) -> bool:
    """Whether the cell has the tag VARIES."""
    return VARIES in cell["metadata"].get("tags", [])


def differences(name: str) -> Iterator[str]:
    """What a run of the notebook shows otherwise than its file says, one string a cell."""
    for stored, run in zip(code_cells(read(name)), code_cells(execute(name)), strict=True):
        found = None
        if kinds(stored) != kinds(run):
            found = f"{kinds(stored)} is stored, {kinds(run)} comes out"
        elif not varies(stored):
            found = difference(text(stored), text(run))
        if found:
            yield f"{name}, cell {stored['id']}: {found}"


def main() -> int:
    for name in sys.argv[1:] or NAMES:
        start, used = time.perf_counter(), _processor_seconds()
        notebook = execute(name)
        path = FOLDER / f"{name}.ipynb"
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", "utf-8")
        size = path.stat().st_size / 1e6
        print(
            f"{name}: {time.perf_counter() - start:.1f} s, {_processor_seconds() - used:.1f} s of "
            f"processor time, {size:.2f} MB",
            flush=True,
        )
    return 0


def _processor_seconds() -> float:
    """Of all kernels that have ended; on a busy machine more telling than the clock."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


if __name__ == "__main__":
    sys.exit(main())
