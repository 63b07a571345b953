"""`report.html`, made by real runs over hostile names."""

from __future__ import annotations

import json
import re
import shlex
import shutil

import pytest

from tests.page_reader import read_page

HOSTILE = ["<script>alert(1)<script>", '"><img src=x onerror=alert(1)>', "a & b"]


@pytest.fixture
def hostile_run(zoo, make_pictures, settings, tmp_path):
    data = make_pictures({name: 4 for name in HOSTILE}, name="<b>pets</b>".replace("/", "-"))
    shutil.copy(data / HOSTILE[0] / "0.png", data / HOSTILE[1] / "<i>same.png")
    result = zoo("finetune", "resnet20", "--data", data, *settings, "--out", "run")
    assert result.returncode == 0, result.stderr
    return tmp_path / "run"


def test_the_page_shows_hostile_names_as_text_and_asks_for_nothing(hostile_run):
    content = (hostile_run / "report.html").read_bytes()
    page = read_page(content)
    assert not page.tags & {"script", "link", "iframe", "object", "i>", "b>", "base", "form"}
    assert not any(name.startswith("on") for _, has, _ in page.elements for name in has)
    addresses = [has[key] for _, has, _ in page.elements for key in ("src", "href") if key in has]
    assert addresses and all(a.startswith("data:image/") for a in addresses)
    assert not re.search(rb"url\(|@import|https?://", content)
    body = page.text_of("body")
    assert all(name in body for name in HOSTILE)
    assert "Identical files" in body  # the audit's remark on the copy


def test_the_page_has_pictures_tables_and_where_all_comes_from(run):
    page = read_page((run / "report.html").read_bytes())
    body = page.text_of("body")
    summary = json.loads((run / "summary.json").read_text())
    assert summary["weights_sha256"] in body
    assert f"{summary['val_accuracy']:.2%}" in body
    assert {"svg", "table", "figure", "img"} <= page.tags
    assert len(page.attributes_of("img")) == 2 * 8  # 8 validation pictures, each with its map


def test_the_command_on_the_page_repeats_the_run_bit_for_bit(zoo, run, tmp_path):
    page = read_page((run / "report.html").read_bytes())
    words = shlex.split(page.text_of("pre", **{"class": "command"}))
    assert words[0] == "zoo"
    result = zoo(*words[1:], "--out", "again")
    assert result.returncode == 0, result.stderr
    kept = [(folder / "model.safetensors").read_bytes() for folder in (run, tmp_path / "again")]
    assert kept[0] == kept[1]


def test_report_writes_the_same_page_again(zoo, run):
    page = run / "report.html"
    before = page.read_bytes()
    page.unlink()
    result = zoo("report", "run")
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip().endswith("report.html")
    assert page.read_text("utf-8").splitlines() == before.decode().splitlines()


def test_report_refuses_other_pictures(zoo, run, make_pictures):
    others = make_pictures({"red": 5, "blue": 5}, name="others")
    result = zoo("report", "run", "--data", others)
    assert result.returncode == 1
    assert "not the pictures" in result.stderr and "Traceback" not in result.stderr


def test_report_of_an_unfinished_run_says_how_to_finish_it(zoo, run):
    (run / "summary.json").unlink()
    result = zoo("report", "run")
    assert result.returncode == 1
    assert "--resume run" in result.stderr


def test_no_report_leaves_it_out(zoo, two_classes, settings, tmp_path):
    result = zoo(
        "finetune", "resnet20", "--data", two_classes, *settings, "--out", "bare", "--no-report"
    )
    assert result.returncode == 0
    assert not (tmp_path / "bare" / "report.html").exists()
    assert "report.html" not in result.stdout


def test_several_runs_are_compared_on_one_page(zoo, run, two_classes, settings, tmp_path):
    other = [*settings, "--lr", "0.01", "--out", "<i>other"]
    assert zoo("finetune", "resnet20", "--data", two_classes, *other).returncode == 0
    result = zoo("report", "run", "<i>other", "--out", "both.html")
    assert result.returncode == 0, result.stderr
    page = read_page((tmp_path / "both.html").read_bytes())
    body = page.text_of("body")
    assert "2 runs" in body and "<i>other" in body and "i" in page.tags  # i: keys of legends
    assert "0.01" in body and "0.003" in body  # where they differ
    assert page.text_of("table").count("%") >= 2
    assert zoo("report", "run", "nowhere").returncode == 1


def test_tensorboard_logs_lie_beside_the_others(zoo, two_classes, settings, tmp_path):
    result = zoo(
        "finetune", "resnet20", "--data", two_classes, *settings, "--out", "t", "--tensorboard",
        "--no-report",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    (file,) = (tmp_path / "t" / "tensorboard").iterdir()
    content = file.read_bytes()
    assert b"step/loss" in content and b"epoch/val_accuracy" in content
