"""The page about a run on text."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.page_reader import read_page
from zoo.report.compare import write_comparison
from zoo.report.record import Record
from zoo.report.text_page import write_text_report
from zoo.train import finetune_text
from zoo.train.errors import NotARun

TEXT = "the quick brown fox jumps over the lazy dog and runs away. <b>&amp;</b>\n" * 20


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the run `one` from random values and `two` from there. Not to be changed."""
    folder = tmp_path_factory.mktemp("text")
    (folder / "my book.txt").write_text(TEXT)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("ZOO_HOME", str(folder / "home"))
        patched.setattr("zoo.train.text_report.draw_text_curves", lambda rows, file, title: None)
        common: dict[str, Any] = {"epochs": 2, "block_size": 32, "say": lambda line: None}
        finetune_text(
            "gpt_nano", folder / "my book.txt", weights="none", tokenizer="bytes", batch_size=2,
            options={"width": 24}, out=folder / "one", **common,
        )  # fmt: skip
        finetune_text(
            "gpt_nano", folder / "my book.txt", weights=folder / "one", out=folder / "two",
            lr=0.01, **common,
        )  # fmt: skip
    return folder


def test_the_page_says_what_training_gained(runs: Path) -> None:
    content = (runs / "two" / "report.html").read_bytes()
    page, summary = read_page(content), json.loads((runs / "two" / "summary.json").read_text())
    body = page.text_of("body")
    assert f"{summary['val_perplexity']:.2f}" in body
    assert f"{summary['perplexity_before']:.2f} before training" in body
    assert "gpt_nano on my book.txt" in page.text_of("h1")
    for sample in (summary["sample_before"], summary["sample_after"]):
        assert re.sub(r"\s+", " ", sample).strip()[:20] in re.sub(r"\s+", " ", body)
    assert "Found 1 document in 1 file" in body and "Recipe" in body
    assert "has little to lose and much to learn" in body  # why all is trained
    assert len(page.attributes_of("svg")) >= 3
    assert b"<script" not in content and b"http-equiv" in content


def test_a_run_from_random_values_has_no_before(runs: Path) -> None:
    body = read_page((runs / "one" / "report.html").read_bytes()).text_of("body")
    assert "training began with random values" in body and "before training" not in body


def test_the_command_says_how_to_repeat_it(runs: Path) -> None:
    one = shlex.split(Record.read(runs / "one").command())
    book = str(runs / "my book.txt")
    assert one[:6] == ["zoo", "train", "--config", "nano", "--data", book]
    assert one[6:10] == ["--tokenizer", "bytes", "--width", "24"]
    two = shlex.split(Record.read(runs / "two").command())
    assert two[:5] == ["zoo", "finetune", "gpt_nano", "--data", book]
    assert two[5:9] == ["--weights", str(runs / "one"), "--recipe", "full"]
    assert two[two.index("--lr") + 1] == "0.01"


def test_the_page_can_be_made_anew_and_is_the_same(runs: Path) -> None:
    before = (runs / "two" / "report.html").read_bytes()
    assert write_text_report(runs / "two").read_bytes() == before


def test_runs_on_text_are_compared_the_best_first(runs: Path, tmp_path: Path) -> None:
    page = read_page(
        write_comparison([runs / "one", runs / "two"], tmp_path / "c.html").read_bytes()
    )
    body = page.text_of("body")
    assert "All on the same text." in body and "validation perplexity" in body
    assert body.index("two") < body.index("one")


def test_what_is_no_run_has_no_page(tmp_path: Path) -> None:
    with pytest.raises(NotARun, match="no finished run"):
        write_text_report(tmp_path)
