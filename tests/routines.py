"""The public routines of the engine, and every op spec."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import Any

import engine
from tests import op_specs, specs_nn

# Namespaces whose functions are public routines. A name that several of them have counts once, for
# the first: engine.nn.functional.conv2d is engine.conv2d that takes ints for pairs.
NAMESPACES = ("engine", "engine.nn.functional")

OPS = [*op_specs.OPS, *specs_nn.OPS]
OTHERWISE_TESTED: dict[str, set[str]] = {}
for table in (op_specs.OTHERWISE_TESTED, specs_nn.OTHERWISE_TESTED):
    for file, names in table.items():
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
