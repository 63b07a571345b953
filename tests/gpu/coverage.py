"""Which op runs where: engine/CUDA.md, and the list it is made from.

python -m tests.gpu.coverage         # engine/CUDA.md anew, from the list
python -m tests.gpu.emulate -- python -m tests.gpu.coverage --find    # the list anew, by trying
"""

from __future__ import annotations

import argparse
import os
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIST = ROOT / "tests" / "gpu" / "without_kernels.txt"
PAGE = ROOT / "engine" / "CUDA.md"
KERNELS = ROOT / "engine" / "csrc" / "kernels"

HEAD = """\
# What runs on a GPU

Made by `python -m tests.gpu.coverage`; a test holds it to the sources.

Of {all} operations with a row in the op specs, {done} run on device "cuda". The others raise an
error that says what is missing. Nothing falls back to the CPU in silence, but where a result's
shape depends on the data (`nonzero`, boolean masks), for the positions of `t[index]` (checked on
the CPU, so that an index out of range is an error at its line), and for complex numbers.

- **CPU**: the op specs pass on the CPU, in every run of the tests.
- **CUDA compiled**: nvcc compiles what the operation needs, for sm_80 and sm_90.
- **CUDA emulated**: the op specs pass with the same sources on the processor
  (`tests/gpu/emulate.py`; a part of them in every run of the tests, all with `pytest -m slow`).
- **CUDA on device**: the op specs have passed on a GPU. None has been at hand so far.

What emulation cannot show: speed, memory ordering between blocks that run at once, races inside a
warp that only hardware has, instructions of tensor cores, the libraries (cuBLASLt, cuDNN, NCCL),
streams that overlap, and the accuracy of the device's own `exp`, `sin` and so on.

## Kernels: {kernels} of {tables} tables have one for the GPU

Without: {without}.

## Operations

| operation | CPU | CUDA compiled | CUDA emulated | CUDA on device |
|---|---|---|---|---|
"""


def without_kernels() -> dict[str, str]:
    """Ops that do not run on device "cuda" yet, and what they say."""
    pairs = (line.split("\t") for line in LIST.read_text("utf-8").splitlines() if line)
    return {name: reason for name, reason in pairs}


def registered() -> tuple[set[str], set[str]]:
    """Variables of the kernel tables that have a kernel: on the CPU, and on the GPU.

    Read off the sources: rows of ops/pointwise.def count as the macro that registers them says.
    """
    rows = (ROOT / "engine" / "csrc" / "ops" / "pointwise.def").read_text("utf-8")
    kinds: dict[str, list[str]] = {}
    for kind, name in re.findall(r"^ZOO_(\w+)\((\w+),", rows, re.M):
        kinds.setdefault(kind, []).append(name)

    def of(folder: str, macro: str) -> set[str]:
        found: set[str] = set()
        for path in sorted((KERNELS / folder).glob("*.c*")):
            text = path.read_text("utf-8")
            for table in re.findall(rf"{macro}\((\w+(?:##\w+)?),", text):
                if not table.startswith("name##"):
                    found.add(table)
                    continue
                for kind, names in kinds.items():
                    if re.search(rf"#define ZOO_{kind}\b", text):
                        if table == "name##_grad_kernel" and not kind.startswith("UNARY"):
                            continue
                        found.update(table.replace("name##", name) for name in names)
        return found

    return of("cpu", "ZOO_REGISTER_CPU"), of("cuda", "ZOO_REGISTER_CUDA")


def page() -> str:
    from tests.routines import OPS

    missing = without_kernels()
    names = sorted({op.name for op in OPS})
    cpu, cuda = registered()
    # Parts of one algorithm of the CPU's, which another device has no use for.
    inner = {name for name in cpu if re.search(r"winograd|multiply_block|attention_few", name)}
    without = ", ".join(f"`{name}`" for name in sorted(cpu - inner - cuda)) or "none"
    head = HEAD.format(
        all=len(names),
        done=len(names) - len(missing),
        tables=len(cpu - inner),
        kernels=len((cpu - inner) & cuda),
        without=without,
    )
    lines = head.splitlines()
    for name in names:
        runs = "-" if name in missing else "yes"
        lines.append(f"| `{name}` | yes | {runs} | {runs} | not tried |")
    return "\n".join(lines) + "\n"


def find() -> dict[str, str]:
    """Ops that fail on the device for want of a kernel, and what they say, by trying all."""
    import engine
    from engine import _C
    from tests.gpu.device.test_specs import gradients, host, result_of, samples
    from tests.routines import OPS

    if _C._backend_info() is None:
        _C._load_backend(os.environ["ZOO_EMULATED_LIBRARY"])
    found: dict[str, str] = {}
    for op in OPS:
        try:
            for dtype in op.dtypes:
                for sample in samples(op):
                    host(result_of(op, sample, dtype, "cuda"))
            for sample in samples(op) if op.grad else []:
                gradients(op, sample, "cuda")
        except Exception as error:
            found[op.name] = f"{type(error).__name__}: {str(error).splitlines()[0]}"
    assert engine.zeros(1, device="cuda").item() == 0
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--find", action="store_true")
    if parser.parse_args().find:
        found = find()
        LIST.write_text("".join(f"{n}\t{why}\n" for n, why in sorted(found.items())), "utf-8")
        print(f"{len(found)} operations without kernels")
    PAGE.write_text(page(), "utf-8")


if __name__ == "__main__":
    main()
