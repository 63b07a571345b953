"""The page's markup: text stays text, and many classes stay readable."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.page_reader import read_page
from zoo.report import sections
from zoo.report.charts import Line, line_chart, ticks
from zoo.report.html import document, h, show
from zoo.report.measures import Answers

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'; DROP TABLE pets; --",
    "</style><script>alert(1)</script>",
    "&lt;b&gt; &amp; &#60;",
    "]]><!--",
    "javascript:alert(1)",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_text_and_attributes_come_back_as_they_went_in(text):
    page = document(text, "b{}", h("p", text, title=text))
    found = read_page(page)
    assert found.tags == {"html", "head", "meta", "title", "style", "body", "p"}
    assert found.text_of("p") == text and found.text_of("title") == text
    assert found.attributes_of("p") == [{"title": text}]


def test_marks_that_turn_text_around_and_controls_are_replaced():
    text = show(h("p", "gnp\u202e.exe\x00\x1b"))
    assert text == "<p>gnp\ufffd.exe\ufffd\ufffd</p>"


def test_no_script_may_run_and_nothing_may_be_fetched():
    metas = read_page(document("t", "")).attributes_of("meta")
    policy = next(m["content"] for m in metas if m.get("http-equiv") == "Content-Security-Policy")
    assert "default-src 'none'" in policy and "script" not in policy and "http" not in policy


def test_a_chart_leaves_gaps_where_there_are_no_numbers():
    line = Line("loss", "val", np.arange(5.0), np.array([1.0, math.nan, 2.0, math.inf, 3.0]))
    chart = show(line_chart("loss", [line], x_name="epoch"))
    path = chart.split(' d="')[1].split('"')[0]
    assert path.count("M") == 3 and "nan" not in chart and "inf" not in chart


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0.2, 0.9), (0, 3e-5), (-2, 1e6), (7, 8)])
def test_ticks_are_round_few_and_inside(low, high):
    found = ticks(low, high)
    assert 2 <= len(found) <= 8
    assert low <= found[0] and found[-1] <= high


def test_a_chart_of_one_epoch_and_of_none_can_be_drawn():
    row = {"kind": "epoch", "step": 3, "train_accuracy": 0.5, "val_accuracy": 1.0, "val_loss": None}
    for rows in ([], [{**row, "best": True}]):
        assert "<svg" in show(sections.curves(rows, sections.ACCURACY))


def many(classes: int, each: int = 3) -> Answers:
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(classes), each)
    wrong = rng.random(len(labels)) < 0.3
    predicted = np.where(wrong, rng.integers(0, classes, len(labels)), labels)
    confidence = rng.uniform(0.2, 1, len(labels))
    return Answers(labels, predicted, confidence, confidence, tuple(map(str, range(classes))))


@pytest.mark.parametrize("classes", [2, 20, 21, 400])
def test_matrix_and_table_stay_readable_with_many_classes(classes):
    parts = [show(f(many(classes))) for f in (sections.confusion, sections.class_section)]
    assert ("<img" in parts[0]) == (classes > 20)  # a picture instead of a table
    assert parts[0].count("<tr") <= 27
    before_fold = parts[1].split("<details")[0]
    assert before_fold.count("<tr") <= 26
    assert sum(map(len, parts)) < 1_000_000
    assert parts[1].count("<tr") >= classes  # all are there, the rest folded away
