"""Builds the kernels for GPUs as C++ beside tests/gpu/emulation, so that they run on the processor.

    python -m tests.gpu.emulate [--sanitizer address|thread] [-- COMMAND ...]

prints the library's path, or runs a command with it loaded under device "cuda":

    python -m tests.gpu.emulate -- python -m pytest -m cuda tests/gpu/device
    python -m tests.gpu.emulate --sanitizer address -- python -m pytest -m cuda tests/gpu/device
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CSRC = ROOT / "engine" / "csrc"
EMULATION = ROOT / "tests" / "gpu" / "emulation"

KERNELS = sorted((CSRC / "kernels" / "cuda").glob("*.cu"))
# As in kernels/cuda/CMakeLists.txt: the library's own copies of these.
CORE = [
    *sorted((CSRC / "kernels").glob("*tables.cpp")),
    *(CSRC / "core" / f"{name}.cpp" for name in ("device", "dispatch", "dtype", "segments")),
]
FLAGS = [
    "-std=gnu++20", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off", "-g1",
    "-Wall", "-Wextra", "-Wno-unused-parameter", "-Wno-unknown-pragmas", "-Werror",
    "-DZOO_CUDA_EMULATION", "-DZOO_CUDA_KERNELS", f"-I{EMULATION}", f"-I{CSRC}",
]  # fmt: skip
SANITIZERS = {"address": ["-fsanitize=address"], "thread": ["-fsanitize=thread"]}


def compiler() -> str:
    return os.environ.get("CXX", "g++")


def flags_for(sanitizer: str | None) -> list[str]:
    return [*FLAGS, *(SANITIZERS[sanitizer] if sanitizer else []), "-O1" if sanitizer else "-O0"]


def folder_for(flags: list[str]) -> Path:
    """A folder of this user's for objects of these sources: another content, another folder."""
    key = hashlib.sha256(" ".join([compiler(), *flags]).encode())
    for path in sorted([*CSRC.rglob("*"), *EMULATION.iterdir()]):
        if path.is_file() and path.suffix in (".h", ".cu", ".cpp", ".def"):
            key.update(path.read_bytes())
    return Path(tempfile.gettempdir()) / f"zoo-emulation-{os.getuid()}-{key.hexdigest()[:16]}"


def compile_one(source: Path, target: Path, flags: list[str]) -> None:
    aside = target.with_suffix(f".{os.getpid()}")
    command = [compiler(), *flags, "-x", "c++", "-c", str(source), "-o", str(aside)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}\n{done.stderr}")
    os.replace(aside, target)


def build(sanitizer: str | None = None) -> Path:
    """The library of emulated kernels, built if it is not there yet; about a minute of two cores.

    Raises RuntimeError with the compiler's words.
    """
    flags = flags_for(sanitizer)
    folder = folder_for(flags)
    library = folder / "emulated.so"
    if library.exists():
        return library
    folder.mkdir(mode=0o700, exist_ok=True)
    sources = [*KERNELS, *CORE, EMULATION / "emulation.cpp"]
    objects = [folder / f"{source.stem}{source.suffix[1:]}.o" for source in sources]
    # The longest ones first.
    order = sorted(zip(sources, objects, strict=True), key=lambda s: "ary" not in s[0].name)
    with ThreadPoolExecutor(max(1, len(os.sched_getaffinity(0)))) as pool:
        list(pool.map(lambda s: s[1].exists() or compile_one(*s, flags), order))
    aside = library.with_suffix(f".{os.getpid()}")
    subprocess.run(
        [compiler(), "-shared", *(SANITIZERS[sanitizer] if sanitizer else []),
         *map(str, objects), "-o", str(aside)],
        check=True,
    )  # fmt: skip
    os.replace(aside, library)
    return library


def environment(sanitizer: str | None = None) -> dict[str, str]:
    """What a Python process needs to find the library; see tests/gpu/device/conftest.py."""
    env = {**os.environ, "ZOO_EMULATED_LIBRARY": str(build(sanitizer)), "ZOO_CUDA_CACHE": "0"}
    if sanitizer:
        # libstdc++ too: the sanitizer looks for what throws exceptions before Python loads it.
        names = ({"address": "libasan.so", "thread": "libtsan.so"}[sanitizer], "libstdc++.so")
        found = (
            subprocess.run(
                [compiler(), f"-print-file-name={name}"], check=True, capture_output=True, text=True
            ).stdout.strip()
            for name in names
        )
        env["LD_PRELOAD"] = " ".join(found)
        # Python keeps memory until the process ends.
        env["ASAN_OPTIONS"] = "detect_leaks=0:handle_segv=1:allow_user_segv_handler=1"
        env["TSAN_OPTIONS"] = "report_bugs=1:halt_on_error=1:ignore_noninstrumented_modules=1"
    return env


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sanitizer", choices=SANITIZERS)
    parser.add_argument("command", nargs="*")
    options = parser.parse_args()
    if not options.command:
        print(build(options.sanitizer))
        return
    sys.exit(subprocess.call(options.command, env=environment(options.sanitizer)))


if __name__ == "__main__":
    main()
