"""The reference covers every public name, and what stands in it is true."""

from __future__ import annotations

import doctest
import importlib
import inspect
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine
import hub
import zoo
from tests.docs.make_reference import generate
from tests.docs.public_names import documented, public, public_of

NAMES = documented()
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL


def test_every_public_name_has_a_place() -> None:
    assert set(public()) == set(NAMES)


@pytest.mark.parametrize(
    "module",
    [
        f"{package.__name__}.{name}"
        for package in (engine, zoo)
        for name in package.__all__
        if inspect.ismodule(getattr(package, name))
    ],
)
def test_every_public_module_has_a_page(module: str) -> None:
    assert {f"{module}.{name}" for name in public_of(module)} <= set(NAMES)


def test_pages_are_what_the_modules_and_commands_say() -> None:
    stale = [
        path.name for path, text in generate().items()
        if not path.exists() or path.read_text("utf-8") != text
    ]  # fmt: skip
    assert not stale, "type: python -m tests.docs.make_reference"


def test_docstrings_have_examples() -> None:
    assert not [name for name, value in NAMES.items() if ">>>" not in (value.__doc__ or "")]


def test_methods_of_tensors_have_examples() -> None:
    bare = [
        name for name in dir(engine.Tensor)
        if not name.startswith("_") and ">>>" not in (getattr(engine.Tensor, name).__doc__ or "")
    ]  # fmt: skip
    assert not bare


def _globals_of(value: Any) -> dict[str, Any]:
    """What an example may use: its module's names, the layers, and the three packages."""
    module = sys.modules.get(getattr(value, "__module__", None) or "engine._C")
    own = {} if module in (None, engine._C) else vars(module)  # engine.round is not Python's
    layers = {name: getattr(engine.nn, name) for name in engine.nn.__all__}
    packages = {"engine": engine, "hub": hub, "np": np, "numpy": np, "zoo": zoo}
    for name in ("data", "demo"):
        importlib.import_module(f"zoo.{name}")
    return {**layers, **own, **packages, "Path": Path}


def _examples() -> dict[str, tuple[str, Any]]:
    found = {name: (value.__doc__ or "", value) for name, value in NAMES.items()}
    for name in dir(engine.Tensor):
        value = getattr(engine.Tensor, name)
        if not name.startswith("_"):
            found[f"engine.Tensor.{name}"] = (value.__doc__ or "", engine.Tensor)
    return found


def test_examples_give_what_they_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ZOO_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ZOO_OFFLINE", "1")
    algorithm, threads = engine.get_conv_algorithm(), engine.get_num_threads()
    wrong: list[str] = []
    ran = 0
    for number, (name, (text, value)) in enumerate(_examples().items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        os.chdir(folder)
        engine.manual_seed(0)
        test = doctest.DocTestParser().get_doctest(text, _globals_of(value), name, None, 0)
        ran += doctest.DocTestRunner(optionflags=_FLAGS, verbose=False).run(
            test, out=wrong.append
        ).attempted  # fmt: skip
    engine.set_conv_algorithm(algorithm)
    engine.set_num_threads(threads)
    engine.set_grad_enabled(True)
    assert not wrong, "".join(wrong)
    assert ran > len(NAMES)
