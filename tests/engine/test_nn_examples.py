"""The examples in the docstrings of engine.nn and engine.optim give what they say."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import engine


def examples() -> list[doctest.DocTest]:
    found = []
    for package in (engine.nn, engine.optim):
        inner = [m.name for m in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
        for name in (package.__name__, *inner):
            module = importlib.import_module(name)
            # An example sees what its reader does: the module's own names, and the layers.
            public = {key: getattr(engine.nn, key) for key in engine.nn.__all__}
            seen = {**public, **vars(module), "engine": engine}
            found += doctest.DocTestFinder().find(module, globs=seen)
    return [test for test in found if test.examples]


@pytest.mark.parametrize("test", examples(), ids=lambda test: test.name)
def test_example(test: doctest.DocTest) -> None:
    engine.manual_seed(0)
    report: list[str] = []
    doctest.DocTestRunner().run(test, out=report.append)
    assert not report, "".join(report)
