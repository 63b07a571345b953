"""The page of `zoo demo` in a real browser: python -m pytest -m browser"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

import engine
from tests.demo_server import file_of, picture, serving
from zoo.train import finetune

pytestmark = pytest.mark.browser

VIEWS = {
    "light": {"viewport": {"width": 1100, "height": 900}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1100, "height": 900}, "color_scheme": "dark"},
    "narrow": {"viewport": {"width": 360, "height": 740}, "color_scheme": "light"},
}


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    engine.set_num_threads(1)
    folder = tmp_path_factory.mktemp("demo")
    settings = {"val_fraction": 0.9, "batch_size": 32, "epochs": 2, "threads": 1}
    out = folder / "digits"
    finetune("resnet20", "demo", out=out, say=lambda line: None, **settings)
    shutil.copytree(out, folder / "going")
    (folder / "going" / "summary.json").unlink()
    with serving(folder, ["resnet20", "digits", "going"]) as running:
        yield running


@pytest.fixture(params=["light", "dark", "narrow"])
def page(request, browser, demo):
    """The page, opened; it must ask for nothing elsewhere and complain of nothing."""
    opened = browser.new_page(**VIEWS[request.param])
    asked, said = [], []
    opened.on("request", lambda request: asked.append(request.url))
    opened.on("pageerror", lambda error: said.append(str(error)))
    opened.on(
        "console",
        # What the page refuses is logged by the browser, too: that is no complaint of the page.
        lambda m: said.append(m.text) if "Failed to load resource" not in m.text else None,
    )
    opened.goto(demo.address)
    opened.wait_for_selector("#pictures:not([hidden])")
    choose(opened, "resnet20")
    yield opened
    elsewhere = [a for a in asked if not a.startswith((demo.address, "data:image/"))]
    opened.close()
    assert (elsewhere, said) == ([], [])


def letter(text: str = "R") -> bytes:
    image = Image.new("RGB", (96, 96))
    draw = ImageDraw.Draw(image)
    draw.text((48, 48), text, "white", ImageFont.load_default(72), anchor="mm")
    return file_of(image)


def give(page, *files: tuple[str, str, bytes]) -> None:
    page.set_input_files(
        "#files", [{"name": n, "mimeType": kind, "buffer": data} for n, kind, data in files]
    )


def status(page, end: str) -> str:
    """What the page says of pictures, once that contains `end`."""
    page.wait_for_function(
        "end => document.getElementById('pictures-status').textContent.includes(end)", arg=end
    )
    return page.locator("#pictures-status").inner_text()


def test_a_good_picture_is_named_with_bars_and_where_the_model_looked(page):
    give(page, ("r.png", "image/png", letter()))
    page.wait_for_selector(".card:not(.bad)")
    card = page.locator(".card").first
    assert card.locator(".shares .what").first.inner_text() == "R"
    assert card.locator(".shares li").count() == 5
    loaded = card.locator("img").evaluate_all("all => all.map(i => i.naturalWidth > 0 && i.alt)")
    assert len(loaded) == 2 and all(loaded)
    widths = card.locator(".fill").evaluate_all("all => all.map(f => f.offsetWidth)")
    assert widths == sorted(widths, reverse=True) and widths[0] > 0
    assert "r.png: R," in status(page, "R")
    # Another class is explained when it is chosen, here by the keyboard.
    before = card.locator("img").nth(1).get_attribute("src")
    card.locator(".shares button").nth(1).press("Enter")
    page.wait_for_function(
        "old => document.querySelectorAll('.card img')[1].src !== old", arg=before
    )
    assert card.locator(".shares button").nth(1).get_attribute("aria-pressed") == "true"


def test_a_file_of_50_mb_is_refused_in_words(page, tmp_path):
    # From a file: the browser's protocol takes no buffer as large as that.
    large = tmp_path / "large.jpg"
    large.write_bytes(b"\xff" * 50_000_000)
    page.set_input_files("#files", large)
    page.wait_for_selector(".card.bad")
    said = page.locator(".card.bad").first.inner_text()
    assert said.startswith("large.jpg: 50 MB; expected at most 20 MB. ")
    assert "large.jpg: 50 MB" in status(page, "large.jpg")


def test_a_text_file_is_refused_in_words(page):
    give(page, ("notes.txt", "text/plain", b"just some words\n"))
    page.wait_for_selector(".card.bad")
    said = page.locator(".card.bad").first.inner_text()
    assert "notes.txt: not a picture" in said and "JPEG" in said


def test_twenty_at_once_are_answered_and_counted(page):
    files = [(f"{i}.png", "image/png", picture(32, seed=i)) for i in range(18)]
    give(page, *files, ("a.txt", "text/plain", b"words"), ("b.png", "image/png", letter("B")))
    assert status(page, "looked at") == "19 of 20 looked at, 1 refused."
    assert page.locator(".card").count() == 20
    assert page.locator(".card.bad").count() == 1
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]


def test_more_than_the_limit_says_so(page):
    one = picture(32)
    give(page, *[(f"{i}.png", "image/png", one) for i in range(52)])
    assert status(page, "Only").endswith("Only the first 50 of 52 are taken at once.")


def test_a_name_with_a_path_is_a_label(page, demo):
    # Browsers cut paths off the names of chosen files; a script's may hold one.
    page.evaluate(
        """data => {
            const bytes = Uint8Array.from(data);
            const file = new File([bytes], '../../outside.png', {type: 'image/png'});
            const given = new DataTransfer();
            given.items.add(file);
            const event = new DragEvent('drop', {dataTransfer: given, bubbles: true});
            document.getElementById('drop').dispatchEvent(event);
        }""",
        list(letter()),
    )
    page.wait_for_selector(".card")
    card = page.locator(".card").first
    assert card.locator(".name").inner_text() == "outside.png"
    assert "only its last part is used" in card.inner_text()
    assert not list(demo.folder.parent.rglob("outside.png"))


def test_markup_in_names_stays_text(page):
    name = "<img src=x onerror=alert(1)>.png"
    give(page, (name, "image/png", letter()))
    page.wait_for_selector(".card")
    assert page.locator(".card .name").first.inner_text() == name
    assert page.locator(".card img").count() == 2


def choose(page, words: str) -> None:
    value = page.locator("#model option", has_text=words).first.get_attribute("value")
    page.select_option("#model", value)


def test_text_streams_and_can_be_stopped(page):
    choose(page, "gpt_shakespeare")
    page.fill("#tokens", "500")
    page.locator("#prompt").press("Control+Enter")
    page.wait_for_function(
        "() => document.querySelector('#written > :last-child').textContent.length > 30"
    )
    assert page.locator("#written").get_attribute("aria-busy") == "true"
    page.click("#stop")
    page.wait_for_function(
        "() => document.getElementById('text-status').textContent === 'Stopped.'"
    )
    kept = page.locator("#written").inner_text()
    assert kept.startswith("ROMEO:")
    page.wait_for_timeout(300)
    assert page.locator("#written").inner_text() == kept
    assert page.locator("#go").is_enabled() and page.locator("#stop").is_disabled()


def test_text_ends_and_says_so(page):
    choose(page, "gpt_shakespeare")
    page.fill("#tokens", "20")
    page.click("#go")
    page.wait_for_function(
        "() => document.getElementById('text-status').textContent.startsWith('Done')"
    )
    assert page.locator("#written").get_attribute("aria-busy") == "false"


def test_runs_are_watched(page):
    page.wait_for_selector(".run svg.chart")
    runs = page.locator(".run")
    assert runs.count() == 2
    assert "finished" in runs.nth(0).locator("h3").inner_text()
    assert "running" in runs.nth(1).locator("h3").inner_text()
    assert "2 of 2 epochs complete" in runs.nth(1).locator("p").first.inner_text()
    boxes = runs.nth(0).locator("svg.chart").evaluate_all("all => all.map(e => e.clientHeight)")
    assert len(boxes) == 3 and min(boxes) > 80


def test_the_report_of_a_finished_run_opens(page):
    page.wait_for_selector(".run svg.chart")
    link = page.locator(".run a").first
    with page.expect_popup() as opening:
        link.click()
    report = opening.value
    report.wait_for_selector("h1")
    assert report.evaluate("getComputedStyle(document.body).maxWidth") == "1120px"  # its own style
    report.close()


def test_everything_can_be_reached_and_has_a_name(page):
    page.wait_for_selector(".run svg.chart")
    for kind in ("resnet20", "gpt_shakespeare"):
        choose(page, kind)
        unnamed = page.evaluate(
            """() => [...document.querySelectorAll(
                    'input, select, textarea, button, progress, img')]
                .filter(e => e.checkVisibility())
                .filter(e => !(e.labels?.length || e.ariaLabel || e.alt || e.textContent.trim()))
                .map(e => e.outerHTML)"""
        )
        assert unnamed == []
        assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
        wanted = {"resnet20": {"model", "files"}, "gpt_shakespeare": {"model", "prompt", "go"}}[
            kind
        ]
        page.evaluate("document.activeElement.blur()")
        reached = set()
        for _ in range(12):
            page.keyboard.press("Tab")
            reached.add(page.evaluate("document.activeElement.id"))
        assert wanted <= reached


def test_text_is_readable_in_both_schemes(page):
    contrast = """() => {
        const light = c => {
            const v = c.match(/[\\d.]+/g).slice(0, 3)
                .map(x => x / 255).map(x => x <= .03928 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4);
            return .2126 * v[0] + .7152 * v[1] + .0722 * v[2];
        };
        const paper = e => {
            for (; e; e = e.parentElement) {
                const c = getComputedStyle(e).backgroundColor;
                if (!/, 0\\)$/.test(c)) return c;
            }
        };
        return [...document.querySelectorAll('p, label, button, h1, h2, h3, h4, b, span')]
            .filter(e => e.checkVisibility() && e.textContent.trim() && !e.disabled)
            .map(e => {
                const [a, b] = [light(getComputedStyle(e).color), light(paper(e))];
                return [(Math.max(a, b) + .05) / (Math.min(a, b) + .05), e.outerHTML.slice(0, 80)];
            }).filter(([ratio]) => ratio < 4.5);
    }"""
    assert page.evaluate(contrast) == []
    choose(page, "gpt_shakespeare")
    assert page.evaluate(contrast) == []


def test_when_the_server_is_gone_the_page_says_so(browser, tmp_path: Path):
    opened = browser.new_page()
    with serving(tmp_path, ["resnet20"]) as gone:
        opened.goto(gone.address)
        opened.wait_for_selector("#pictures:not([hidden])")
    give(opened, ("r.png", "image/png", letter()))
    opened.wait_for_selector(".card.bad")
    assert "still running" in opened.locator(".card.bad").inner_text()
    opened.close()
