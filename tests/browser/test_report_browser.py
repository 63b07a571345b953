"""The report in a real browser: python -m pytest -m browser"""

from __future__ import annotations

from pathlib import Path

import pytest

import engine
from zoo.train import finetune, finetune_text

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> Path:
    engine.set_num_threads(1)
    out = tmp_path_factory.mktemp("browser") / "run"
    settings = {"val_fraction": 0.9, "batch_size": 32, "epochs": 1, "threads": 1}
    page = finetune(
        "resnet20", "demo", weights="none", out=out, say=lambda line: None, **settings
    ).report
    assert page is not None
    return page


@pytest.fixture(params=["light", "dark"])
def opened(request, browser, report):
    """(page, addresses that it asked for, its complaints), in a light and in a dark window."""
    page = browser.new_page(viewport={"width": 1000, "height": 800}, color_scheme=request.param)
    asked: list[str] = []
    said: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(report.as_uri())
    page.wait_for_load_state("networkidle")
    yield page, asked, said
    page.close()


def test_nothing_is_requested_and_nothing_complains(opened, report):
    _, asked, said = opened
    assert [a for a in asked if not a.startswith("data:image/")] == [report.as_uri()]
    assert said == []


def test_every_picture_is_decoded(opened):
    page, _, _ = opened
    images = page.eval_on_selector_all("img", "all => all.map(i => [i.complete, i.naturalWidth])")
    assert len(images) >= 24
    assert all(complete and width > 0 for complete, width in images)


def test_tables_charts_and_the_matrix_are_laid_out(opened):
    page, _, _ = opened
    boxes = page.eval_on_selector_all(
        "svg.chart, table", "all => all.map(e => e.getBoundingClientRect()).map(b => b.height)"
    )
    assert len(boxes) >= 7
    shown = page.locator("table.confusion tbody tr")
    assert shown.count() == 10
    assert page.locator("table.confusion tbody tr").first.locator("td").count() == 10
    assert page.locator("svg.chart path.line").count() >= 5
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= 1000  # nothing sticks out of the window


def test_text_is_readable_in_both_schemes(opened):
    page, _, _ = opened
    colours = page.evaluate(
        "() => { const s = getComputedStyle(document.body); return [s.color, s.backgroundColor]; }"
    )
    ink, paper = (sum(int(part) for part in colour[4:-1].split(",")[:3]) / 3 for colour in colours)
    dark = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    assert (ink > paper) == dark
    assert abs(ink - paper) > 150


def test_a_narrow_window_keeps_everything_inside(browser, report):
    page = browser.new_page(viewport={"width": 390, "height": 800})
    page.goto(report.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.close()


@pytest.fixture(scope="module")
def text_report(tmp_path_factory) -> Path:
    """The page of a run on text that went on from another."""
    folder = tmp_path_factory.mktemp("text")
    (folder / "book.txt").write_text("the quick brown fox jumps over the lazy dog.\n" * 40)
    common = {"epochs": 1, "threads": 1, "say": lambda line: None}
    finetune_text(
        "gpt_nano", folder / "book.txt", weights="none", tokenizer="bytes", out=folder / "one",
        **common,
    )  # fmt: skip
    finetune_text(
        "gpt_nano", folder / "book.txt", weights=folder / "one", out=folder / "two", **common
    )
    return folder / "two" / "report.html"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1000, 390])
def test_the_page_about_text_is_laid_out_and_asks_for_nothing(browser, text_report, scheme, width):
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(text_report.as_uri())
    page.wait_for_load_state("networkidle")
    assert asked == [text_report.as_uri()]
    assert page.locator("svg.chart").count() == 3
    samples = page.eval_on_selector_all(
        ".samples figure", "all => all.map(e => e.getBoundingClientRect()).map(b => [b.top, b.x])"
    )
    assert len(samples) == 2
    side_by_side = samples[0][0] == samples[1][0] and samples[0][1] < samples[1][1]
    assert side_by_side == (width == 1000)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()
