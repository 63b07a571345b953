"""The machine: processor, instruction set, threads, memory, GPU."""

from __future__ import annotations

import importlib
import importlib.util
import math
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from zoo.doctor.finding import Finding

_ISAS = ("baseline", "avx2", "avx512")
_SMALL_MEMORY = 2e9  # bytes; a training step of ResNet-50 at batch 16 takes nearly as much
_ISA_SECONDS = 30  # for a fresh Python to import the engine

_found = partial(Finding, "machine")


def findings() -> list[Finding]:
    """What is known about the machine.

    >>> findings()[0].name
    'system'
    """
    found = [_found("system", f"{platform.system()} {platform.release()} {platform.machine()}")]
    found.append(_processor())
    try:
        import engine
    except ImportError as error:
        broken = _found(
            "engine",
            f"cannot be loaded: {error}",
            "broken",
            "Build and install it again: pip install --force-reinstall zoo",
        )
        return [*found, broken, _memory()]
    return [*found, _isa(engine), _threads(engine), _memory(), *_gpu(), _sums(engine)]


def _processor() -> Finding:
    usable, all_of_them = usable_cpus(), os.cpu_count() or 1
    name = processor_name()
    share = f"{usable} CPUs" if usable == all_of_them else f"{usable} of {all_of_them} CPUs"
    return _found("processor", f"{name}, {share}")


def processor_name() -> str:
    """What the processor calls itself; its architecture where it does not say."""
    try:
        for line in Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass  # no /proc on this system
    return platform.processor() or platform.machine()


def usable_cpus() -> int:
    """CPUs that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cpu_quota() -> float | None:
    """CPUs' worth of time that the control group (a container) grants; None where there is no limit
    or none can be known."""
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text("ascii").split()
        return int(quota) / int(period)
    except (OSError, ValueError):  # no such file, or the word max
        return None


def _isa(engine: ModuleType) -> Finding:
    used, asked = engine.cpu_isa(), os.environ.get("ZOO_CPU_ISA")
    if not asked:
        return _found("instruction set", f"{used} in use, the best that is available")
    if asked not in _ISAS:
        return _found(
            "instruction set",
            f"{used} in use; ZOO_CPU_ISA={asked} is ignored",
            "note",
            f"Expected one of {', '.join(_ISAS)}; type: unset ZOO_CPU_ISA",
        )
    best = _best_isa()
    if best in (None, used):
        return _found("instruction set", f"{used} in use, as ZOO_CPU_ISA says")
    return _found(
        "instruction set",
        f"{used} in use, {best} available",
        "note",
        f"ZOO_CPU_ISA={asked} lowers it; for full speed type: unset ZOO_CPU_ISA",
    )


def _best_isa() -> str | None:
    """What the engine takes where nothing lowers it: it chooses once, so another process says."""
    environment = {k: v for k, v in os.environ.items() if k != "ZOO_CPU_ISA"}
    code = f"import sys; sys.path[:] = {sys.path!r}; import engine; print(engine.cpu_isa())"
    try:
        asked = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True,
            timeout=_ISA_SECONDS, check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return asked.stdout.strip()


def _threads(engine: ModuleType) -> Finding:
    threads, cpus, quota = engine.get_num_threads(), usable_cpus(), cpu_quota()
    asked = os.environ.get("ZOO_NUM_THREADS")
    said = f"{threads}" if not asked else f"{threads} (ZOO_NUM_THREADS={asked})"
    if asked and asked != str(threads):
        return _found(
            "threads",
            f"{threads}; ZOO_NUM_THREADS={asked} is no number of threads",
            "note",
            "Expected 1 or more; type: unset ZOO_NUM_THREADS",
        )
    if threads > cpus:
        return _found(
            "threads",
            f"{said} for {cpus} CPUs",
            "note",
            f"More threads than CPUs make everything slower; type: export ZOO_NUM_THREADS={cpus}",
        )
    if quota is not None and threads > math.ceil(quota):
        return _found(
            "threads",
            f"{said}, while the container may use {quota:g} CPUs",
            "note",
            f"They wait for each other; type: export ZOO_NUM_THREADS={math.ceil(quota)}",
        )
    return _found("threads", said)


def _memory() -> Finding:
    from zoo.train.estimate import free_bytes

    free = free_bytes()
    if math.isinf(free):
        return _found("memory", "not known on this system")
    value = f"{free / 1e9:.1f} GB free"
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        value += f" of {os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 1e9:.1f} GB"
    if free < _SMALL_MEMORY:
        return _found(
            "memory",
            value,
            "note",
            "Little for training: take --batch-size 4 --accumulation 4, or close other programs",
        )
    return _found("memory", value)


def _gpu() -> list[Finding]:
    if importlib.util.find_spec("engine.cuda") is not None:
        cuda = importlib.import_module("engine.cuda")
        if hasattr(cuda, "findings"):
            return _of_cuda(cuda.findings())
    return [_found("GPU", "not used: this build computes on the CPU")]


def _of_cuda(rows: Sequence[Any]) -> list[Finding]:
    """What the engine found of CUDA. A machine without a driver has no GPU to use, and lacks
    nothing; with one, whatever is missing or wrong keeps the work on the CPU."""
    driver, *_ = rows
    if driver.state == "missing":
        return [_found("GPU", f"none: {driver.detail}")]
    return [
        _found(row.name, row.detail, "ok" if row.state == "found" else "note", row.advice)
        for row in rows
    ]


def _sums(engine: ModuleType) -> Finding:
    """Whether the engine computes what numpy computes, on this processor."""
    import numpy as np

    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((37, 65), (65, 41)))
    far = float(np.abs((engine.asarray(a) @ engine.asarray(b)).numpy() - a @ b).max())
    if far < 1e-4:  # of sums of 65 terms of about 1
        return _found("arithmetic", "a product of matrices agrees with numpy's")
    return _found(
        "arithmetic",
        f"differs from numpy by {far:.2g} in a product of two matrices",
        "broken",
        "Try another instruction set: export ZOO_CPU_ISA=baseline; and report this",
    )
