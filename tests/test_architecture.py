"""Who may import whom, in Python and in C++; and how long it takes to get started."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CSRC = ROOT / "engine" / "csrc"

# What each package may import besides the standard library and itself.
MAY_IMPORT = {
    "engine": {"numpy", "mpi4py"},
    "hub": {"numpy", "requests", "tqdm", "safetensors", "yaml", "filelock", "platformdirs",
            "urllib3"},
    "zoo": {"engine", "hub", "numpy", "PIL", "tqdm", "matplotlib", "tensorboardX", "tiktoken",
            "tokenizers", "onnx", "onnxruntime", "tomli", "sklearn"},
    "cli": {"zoo", "hub", "numpy", "PIL", "tqdm", "shtab", "bottle", "waitress"},
}  # fmt: skip
# Slow to import: only inside functions, so that no command pays for what it does not use.
LAZY = {"requests", "urllib3", "tqdm", "matplotlib", "tensorboardX", "yaml", "filelock",
        "platformdirs", "tiktoken", "tokenizers", "onnx", "onnxruntime", "mpi4py"}  # fmt: skip
LAZY_FOR_THE_CLI = {"numpy", "PIL", "shtab", "bottle", "waitress"} | LAZY

# What each part of the C++ code may include, besides itself and the standard library.
MAY_INCLUDE = {
    "core": set(),
    "kernels": {"core"},
    "autograd": {"core"},
    "ops": {"core", "kernels", "autograd"},
    "bindings": {"core", "kernels", "autograd", "ops"},
}
# The table of pointwise operations: kernels, operations and bindings all expand from its rows.
SHARED_TABLES = {"ops/pointwise.def"}
PYBIND = re.compile(r"pybind11|Python\.h")
CUDA = re.compile(r"cuda|cudnn|cublas|nccl|nvrtc")


def imports(path: Path) -> Iterator[tuple[int, str, bool]]:
    """(line, top-level package, whether it runs when the module is imported)."""

    def visit(node: ast.AST, at_import: bool) -> Iterator[tuple[int, str, bool]]:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name.split(".")[0], at_import
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.lineno, node.module.split(".")[0], at_import
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            for child in node.body:
                yield from visit(child, False)
            for child in node.orelse:
                yield from visit(child, at_import)
        else:
            inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            for child in ast.iter_child_nodes(node):
                yield from visit(child, at_import and not inside)

    yield from visit(ast.parse(path.read_text("utf-8")), True)


def sources(package: str) -> list[Path]:
    found = sorted((ROOT / package).rglob("*.py"))
    assert found, f"no Python files in {package}: this test would hold nothing"
    return found


def test_the_scan_sees_every_kind_of_import(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_text(
        "import a.b\n"
        "from c.d import e\n"
        "from . import f\n"
        "if TYPE_CHECKING:\n    import g\n"
        "def h():\n    import i\n"
        "class J:\n    import k\n"
    )
    assert list(imports(path)) == [
        (1, "a", True), (2, "c", True), (5, "g", False), (7, "i", False), (9, "k", True)
    ]  # fmt: skip


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_packages_import_only_what_is_below_them(package: str) -> None:
    allowed = MAY_IMPORT[package] | {package} | sys.stdlib_module_names
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in sources(package)
        for line, name, _ in imports(path)
        if name not in allowed and not is_maker(path)
    ]
    assert not wrong, "\n".join(wrong)


def is_maker(path: Path) -> bool:
    """Scripts that remade what lies beside them; no other file imports them."""
    return path.parent.name == "assets"


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_slow_packages_are_imported_when_used(package: str) -> None:
    lazy = LAZY_FOR_THE_CLI if package == "cli" else LAZY
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name} at once"
        for path in sources(package)
        for line, name, at_import in imports(path)
        if at_import and name in lazy and not is_maker(path)
    ]
    assert not wrong, "\n".join(wrong)


def includes(path: Path) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        match = re.match(r'\s*#\s*include\s*["<]([^">]+)[">]', line)
        if match:
            yield number, match[1]


def cpp_files() -> list[Path]:
    kinds = (".h", ".cpp", ".cu", ".cuh", ".def")
    found = sorted(path for path in CSRC.rglob("*") if path.suffix in kinds)
    assert found, "no C++ files: this test would hold nothing"
    return found


def part_of(path: Path) -> str:
    return path.relative_to(CSRC).parts[0]


def test_every_cpp_file_is_in_a_known_part() -> None:
    assert {part_of(path) for path in cpp_files()} <= MAY_INCLUDE.keys()


@pytest.mark.parametrize("part", MAY_INCLUDE)
def test_cpp_parts_include_only_what_is_below_them(part: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line} includes {name}"
        for path in cpp_files()
        if part_of(path) == part
        for line, name in includes(path)
        if (other := name.split("/")[0]) in MAY_INCLUDE
        and other not in MAY_INCLUDE[part] | {part}
        and name not in SHARED_TABLES
    ]
    assert not wrong, "\n".join(wrong)


def test_only_bindings_include_python() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line} includes {name}"
        for path in cpp_files()
        if part_of(path) != "bindings"
        for line, name in includes(path)
        if PYBIND.search(name)
    ]
    assert not wrong, "\n".join(wrong)


def test_only_cuda_kernels_include_cuda() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line} includes {name}"
        for path in cpp_files()
        if path.relative_to(CSRC).parts[:2] != ("kernels", "cuda")
        for line, name in includes(path)
        if CUDA.search(name)
    ]
    assert not wrong, "\n".join(wrong)


def quickest(code: str, tries: int = 7) -> float:
    """Seconds that `code` prints in a fresh Python; the least of several."""
    command = [sys.executable, "-c", code]
    times = [
        float(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)
        for _ in range(tries)
    ]
    return min(times)


# Both are seconds of processor time: on a busy machine the clock on the wall measures the others.


def test_import_engine_takes_less_than_0_15_s() -> None:
    seconds = quickest(
        "import time; start = time.process_time(); import engine; "
        "print(time.process_time() - start)"
    )
    assert seconds < 0.15


def test_import_engine_leaves_numpy_alone() -> None:
    code = "import engine, sys; print(int('numpy' in sys.modules))"
    assert quickest(code, tries=1) == 0


def test_zoo_help_takes_less_than_0_25_s() -> None:
    seconds = quickest(
        "import resource, subprocess, sys; "
        "subprocess.run([sys.executable, '-m', 'cli.main', '--help'], check=True, "
        "capture_output=True); "
        "used = resource.getrusage(resource.RUSAGE_CHILDREN); print(used.ru_utime + used.ru_stime)"
    )
    assert seconds < 0.25


@pytest.mark.parametrize("package", ["zoo", "hub"])
def test_importing_a_package_loads_nothing_heavy(package: str) -> None:
    code = f"import {package}, sys; print(*sys.modules)"
    command = [sys.executable, "-c", code]
    loaded = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert not {"numpy", "engine", "PIL", *LAZY} & set(loaded.split())
