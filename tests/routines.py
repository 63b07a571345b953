"""The public routines of the engine, and every op spec."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import Any

import engine
from tests import (
    op_specs,
    specs_array,
    specs_autograd,
    specs_funcs,
    specs_linalg,
    specs_numbers,
)

# Namespaces whose functions are public routines. A name that several of them have counts once, for
# the first: engine.nn.functional.conv2d is engine.conv2d that takes ints for pairs.
NAMESPACES = (
    "engine",
    "engine.linalg",
    "engine.fft",
    "engine.nn.functional",
    "engine.autograd",
    "engine.autograd.functional",
)

TABLES = (op_specs, specs_array, specs_autograd, specs_funcs, specs_numbers, specs_linalg)

OPS = [op for table in TABLES for op in table.OPS]
OTHERWISE_TESTED: dict[str, set[str]] = {}
for table in TABLES:
    for file, names in table.OTHERWISE_TESTED.items():
        OTHERWISE_TESTED.setdefault(file, set()).update(names)


def public_routines() -> dict[str, Callable[..., Any]]:
    """Dotted name, without "engine.", of every public function of the engine."""
    found: dict[str, Callable[..., Any]] = {}
    seen: set[str] = set()
    for namespace in NAMESPACES:
        module = importlib.import_module(namespace)
        prefix = namespace[len("engine.") :] + "." if module is not engine else ""
        for name in sorted(module.__all__):
            value = getattr(module, name)
            if not callable(value) or inspect.isclass(value) or isinstance(value, engine.dtype):
                continue
            if name not in seen:
                seen.add(name)
                found[prefix + name] = value
    return found
