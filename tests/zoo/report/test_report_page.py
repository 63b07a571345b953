"""The whole page, made for runs that went badly."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import engine
import hub
import zoo
from tests.page_reader import read_page
from zoo import demo
from zoo.report.page import write_report
from zoo.train import Result, finetune


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run of one epoch on a few digits. Not to be changed."""
    settings = {"val_fraction": 0.9, "batch_size": 32, "epochs": 1, "threads": 1, "augment": "none"}
    return finetune(
        "resnet20", "demo", weights="none", out=tmp_path_factory.mktemp("page") / "run",
        report=False, say=lambda line: None, **settings,
    )  # fmt: skip


@pytest.fixture
def run(finished, tmp_path):
    """A copy of a run, some of what it was validated on, and the audit."""
    folder = Path(shutil.copytree(finished.path, tmp_path / "run"))
    prepared = demo.prepare_digits(val_fraction=0.9)
    few = prepared.val.subset(np.arange(40))
    return Result(folder, finished.summary), few, prepared.audit


def spoil(path, change):
    """Change the tensors of a weights file."""
    arrays, metadata = hub.read_safetensors(path)
    arrays = {name: np.array(array) for name, array in arrays.items()}
    change(arrays)
    hub.write_safetensors(path, arrays, metadata)


def body_of(run):
    result, images, audit = run
    return read_page(write_report(result.path, images, audit, threads=1).read_bytes())


def test_a_model_that_answers_nothing_finite_still_gets_its_page(run):
    spoil(run[0].weights, lambda arrays: arrays["fc.bias"].fill(np.nan))
    body = body_of(run).text_of("body")
    assert "95% interval" in body and "nan" not in body.lower()


def test_a_model_that_is_always_sure_of_one_class(run):
    def only_three(arrays):
        arrays["fc.weight"].fill(0)
        arrays["fc.bias"][:] = -1000.0
        arrays["fc.bias"][3] = 1000.0

    spoil(run[0].weights, only_three)
    page = body_of(run)
    body = page.text_of("body")
    assert "inf" in body  # the loss: probabilities of 0 for what was true
    assert "too sure" in body


def test_the_page_names_what_the_run_was_made_with_and_not_what_the_page_is_made_with(run):
    file = run[0].path / "summary.json"
    summary = json.loads(file.read_text())
    assert set(summary["made_with"]) == {"commit", "computer"}
    made_elsewhere = {"commit": "c0ffee", "computer": "Plan9 mips"}
    file.write_text(json.dumps({**summary, "made_with": made_elsewhere}))
    body = body_of(run).text_of("body")
    assert "c0ffee" in body and "Plan9 mips" in body
    del summary["made_with"]  # a run that does not say
    file.write_text(json.dumps(summary))
    assert "c0ffee" not in body_of(run).text_of("body")


def test_the_page_is_for_the_weights_that_were_kept(run):
    result, images, audit = run
    expected = zoo.load(result.path).predict([images.load(i) for i in range(40)])
    right = sum(p.label == images.classes[y] for p, y in zip(expected, images.labels, strict=True))
    assert f"{right} of 40" in body_of(run).text_of("dl")


def test_a_model_without_maps_gets_its_page_without_heat(run, monkeypatch):
    def none(*ignored):
        raise NotImplementedError

    with_heat = len(body_of(run).attributes_of("img"))
    monkeypatch.setattr("zoo.report.gradcam.grad_cam", none)
    assert len(body_of(run).attributes_of("img")) == with_heat / 2
    assert engine.is_grad_enabled()
