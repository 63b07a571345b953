"""The examples in the docstrings of engine.autograd give what they say."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import numpy as np
import pytest

import engine
import engine.extension


def examples() -> list[doctest.DocTest]:
    package = engine.autograd
    names = [f"{package.__name__}.{m.name}" for m in pkgutil.iter_modules(package.__path__)]
    found = []
    for name in (*names, "engine.extension"):
        module = importlib.import_module(name)
        found += doctest.DocTestFinder().find(module, globs={"engine": engine, "np": np})
    return [test for test in found if test.examples]


@pytest.mark.parametrize("test", examples(), ids=lambda test: test.name)
def test_example(test: doctest.DocTest) -> None:
    report: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=report.append)
    assert not report, "".join(report)
