"""Training, resuming, predicting and writing with `device`: as on the CPU, but for rounding."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import engine
import hub
import zoo
from tests.gpu.device.runs import assert_alike, draw_pictures
from zoo.train.errors import Interrupted
from zoo.train.measure import measure, open_model

SETTINGS: dict[str, Any] = {
    "epochs": 2, "batch_size": 4, "threads": 1, "feature_cache": 0.0, "report": False,
    "say": lambda line: None, "val_fraction": 0.25, "augment": "none", "optimizer": "sgd",
    "size": 16,
}  # fmt: skip


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    return draw_pictures(tmp_path / "pictures", 32)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZOO_HOME", str(tmp_path / "home"))


@pytest.mark.parametrize("recipe", ["linear", "full"])
def test_finetuning_pictures(recipe: str, pictures: Path, tmp_path: Path, device: str) -> None:
    here, there = (
        zoo.finetune("resnet20", pictures, recipe=recipe, out=tmp_path / where, device=where,
                     **SETTINGS)
        for where in ("cpu", device)
    )  # fmt: skip
    assert_alike(here.weights, there.weights)
    on_device = measure(str(there.path), str(pictures), device=device)
    on_cpu = measure(str(there.path), str(pictures))
    assert on_device.accuracy == on_cpu.accuracy
    assert on_device.loss == pytest.approx(on_cpu.loss, rel=1e-4)


def test_finetuning_in_mixed_precision(pictures: Path, tmp_path: Path, device: str) -> None:
    settings = {**SETTINGS, "recipe": "full", "epochs": 1, "precision": "bfloat16"}
    here, there = (
        zoo.finetune("resnet20", pictures, out=tmp_path / where, device=where, **settings)
        for where in ("cpu", device)
    )
    first, second = (hub.read_safetensors(run.weights)[0] for run in (here, there))
    for name, value in first.items():  # what 8 bits can do in a few steps
        assert second[name].dtype == value.dtype != np.float16
        bound = 0.02 * abs(value).max() + 1e-3
        np.testing.assert_allclose(second[name], value, atol=bound, err_msg=name)


def test_a_run_goes_on_on_another_device(pictures: Path, tmp_path: Path, device: str) -> None:
    class StopInTheSecondEpoch(zoo.train.Callback):
        def on_step(self, trainer: Any, row: Any) -> None:
            if row["step"] == 3:
                trainer._stop.requested = True

    settings = {**SETTINGS, "recipe": "full", "average": "ema"}
    whole = zoo.finetune("resnet20", pictures, out=tmp_path / "whole", **settings)
    with pytest.raises(Interrupted):
        zoo.finetune(
            "resnet20", pictures, out=tmp_path / "halves", device=device,
            callbacks=[StopInTheSecondEpoch()], **settings,
        )  # fmt: skip
    halves = zoo.train.resume(
        tmp_path / "halves", expected={"device": "cpu"}, report=False, say=lambda line: None
    )
    assert_alike(whole.weights, halves.weights)


def test_predictions_and_heat_maps(pictures: Path, device: str) -> None:
    squares = [np.asarray(Image.open(p)) for p in sorted(pictures.rglob("*.png"))[:3]]
    models = [open_model("resnet20", device=where) for where in ("cpu", device)]
    assert [str(model.device.type) for model in models] == ["cpu", device]
    from zoo.report.gradcam import grad_cam

    here, there = ([p.probability for p in model.predict(squares)] for model in models)
    np.testing.assert_allclose(np.array(there), np.array(here), rtol=1e-3, atol=1e-5)
    here, there = (grad_cam(m, np.stack(squares), np.array([0, 1, 2])) for m in models)
    np.testing.assert_allclose(there, here, rtol=1e-2, atol=1e-3)


def test_finetuning_and_writing_text(tmp_path: Path, device: str) -> None:
    text = tmp_path / "text.txt"
    text.write_text("the cat sat on the mat and the dog sat on the log. " * 40)
    options = {"layers": 1, "width": 16, "heads": 2, "context": 16}
    here, there = (
        zoo.finetune_text(
            "gpt_nano", text, weights="none", tokenizer="bytes", out=tmp_path / where,
            options=options, device=where, epochs=1, batch_size=8, block_size=16, threads=1,
            report=False, say=lambda line: None,
        )
        for where in ("cpu", device)
    )  # fmt: skip
    assert there.val_perplexity == pytest.approx(here.val_perplexity, rel=1e-3)
    texts = [
        "".join(zoo.load(here.path, device=where).generate("the cat", max_tokens=8, temperature=0))
        for where in ("cpu", device)
    ]
    assert texts[0] == texts[1]


def test_auto_is_the_gpu_where_there_is_one(device: str) -> None:
    assert zoo.load("resnet20", device="auto").device == engine.Device(device)
