"""The examples in the docstrings of names, loading and models give what they say."""

from __future__ import annotations

import doctest
import importlib

import pytest

import engine

MODULES = (
    "zoo",
    "zoo.registry",
    "zoo.loading",
    "zoo.models.resnet",
    "zoo.models.vgg",
    "zoo.models.features",
    "zoo.export",
    "zoo.text.tokenizer_files",
    "zoo.models.gpt",
    "zoo.text",
    "zoo.text.bpe",
    "zoo.text.open",
    "zoo.text.perplexity",
    "zoo.train.lora",
    "zoo.models.kv_cache",
    "zoo.text.facts",
    "zoo.train.label_metrics",
    "zoo.train.recipe_book",
    "zoo.train.text_config",
    "zoo.train.text_recipes",
)


def examples() -> list[doctest.DocTest]:
    found = []
    for name in MODULES:
        module = importlib.import_module(name)
        found += doctest.DocTestFinder().find(module, extraglobs={"engine": engine})
    return [test for test in found if test.examples]


@pytest.mark.parametrize("test", examples(), ids=lambda test: test.name)
def test_example(test: doctest.DocTest) -> None:
    report: list[str] = []
    doctest.DocTestRunner().run(test, out=report.append)
    assert not report, "".join(report)
