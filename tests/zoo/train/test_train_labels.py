"""Pictures with several labels, from the list to the trained model and what it says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import engine
import hub
import zoo
from tests.page_reader import read_page
from zoo.data import DataError, prepare_folder, scan
from zoo.data.manifest import ManifestError
from zoo.errors import WrongTask
from zoo.export import export
from zoo.train import finetune, resume
from zoo.train.config import TrainConfig
from zoo.train.errors import ConfigError, Interrupted
from zoo.train.measure import LabelsMeasured, measure
from zoo.train.objective import objective_for
from zoo.train.stop import StopRequest

COLOURS = {"red": 0, "green": 1, "blue": 2}
SETTINGS: dict[str, Any] = {
    "weights": "none", "size": 16, "batch_size": 8, "epochs": 6, "threads": 1, "augment": "none",
    "flip": 0.0, "lr": 0.01,
}  # fmt: skip


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """labels.csv and 48 pictures: a band of each colour that is among the labels."""
    folder = tmp_path_factory.mktemp("labels")
    rng = np.random.default_rng(0)
    rows = []
    for number in range(48):
        labels = [name for i, name in enumerate(COLOURS) if (number % 8) >> i & 1]
        pixels = rng.integers(0, 60, (24, 24, 3), dtype=np.uint8)
        for name in labels:
            band = COLOURS[name]
            pixels[8 * band : 8 * band + 8, :, band] = 200
        Image.fromarray(pixels).save(folder / f"{number}.png")
        rows.append(f"{number}.png,{'|'.join(labels)}")
    (folder / "labels.csv").write_text("\n".join(["path,label", *rows]) + "\n")
    return folder


@pytest.fixture(scope="module")
def run(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run on `data`. Not to be changed."""
    out = tmp_path_factory.mktemp("run") / "run"
    finetune("resnet20", data / "labels.csv", out=out, say=quiet, **SETTINGS)
    return out


def quiet(line: str) -> None:
    """Say nothing."""


def test_a_list_says_which_labels_a_picture_has(data: Path) -> None:
    folder = scan(data / "labels.csv")
    assert folder.several and folder.classes == ("blue", "green", "red")
    prepared = prepare_folder(data / "labels.csv")
    assert prepared.train.labels.shape == (len(prepared.train), 3)
    everything = np.concatenate([prepared.train.labels, prepared.val.labels])
    assert everything.sum(axis=0).tolist() == [24, 24, 24]
    assert prepared.val.counts().min() > 0
    lines = prepared.audit.lines()
    assert "48 pictures with 3 different labels, 1.5 a picture on average and 3 at most" in lines[0]
    assert "Without any label: 6 pictures" in lines


def test_json_lists_are_the_same_as_bars(data: Path, tmp_path: Path) -> None:
    rows = [line.split(",") for line in (data / "labels.csv").read_text().splitlines()[1:]]
    text = "\n".join(
        json.dumps({"path": str(data / name), "labels": labels.split("|") if labels else []})
        for name, labels in rows
    )
    (tmp_path / "a.jsonl").write_text(text)
    found, wanted = (prepare_folder(p) for p in (tmp_path / "a.jsonl", data / "labels.csv"))
    assert found.audit.fingerprint == wanted.audit.fingerprint
    assert np.array_equal(found.train.labels, wanted.train.labels)


@pytest.mark.parametrize(
    "text, says",
    [
        ('{"path": "0.png", "label": ["a", 1.5]}', "line 1: labels"),
        ('{"path": "0.png", "label": ["a|b"]}', r"line 1: a label with \|"),
        ('{"path": "0.png", "label": "a"}\n{"path": "0.png", "label": "b"}', "between its labels"),
        ('{"path": "0.png", "label": "a"}\n{"path": "1.png"}', "line 2: no label"),
    ],
)
def test_lines_that_say_nothing_clear_are_refused(data: Path, text: str, says: str) -> None:
    path = data / "bad.jsonl"
    path.write_text(text)
    with pytest.raises(ManifestError, match=says):
        scan(path)


def test_a_run_learns_labels_and_says_so(run: Path) -> None:
    summary = json.loads((run / "summary.json").read_text())
    assert summary["val_map"] > 0.9 and len(summary["labels"]) == 3
    assert 0 < summary["val_micro_f1"] <= 1 and 0 < summary["val_macro_f1"] <= 1
    metadata = hub.SafetensorsFile(run / "model.safetensors").metadata
    thresholds = json.loads(metadata["thresholds"])
    assert thresholds == [label["threshold"] for label in summary["labels"]]
    assert (run / "curves.png").stat().st_size > 1000


def test_the_page_shows_labels_in_place_of_a_matrix(run: Path) -> None:
    page = read_page((run / "report.html").read_bytes())
    body = page.text_of("body")
    assert "Label by label" in body and "mean average precision" in body
    assert "What is taken for what" not in body and "nan" not in body.lower()


def test_predictions_are_those_of_validation(run: Path, data: Path) -> None:
    model = zoo.load(run)
    assert model.thresholds is not None and len(model.thresholds) == 3
    prepared = prepare_folder(data / "labels.csv")
    names = [prepared.val.name(i) for i in range(len(prepared.val))]
    found = model.predict([data / name for name in names])
    for prediction, truth in zip(found, prepared.val.labels, strict=True):
        given = {n for n, p in prediction.top if p >= model.thresholds[model.classes.index(n)]}
        assert set(prediction.labels) == given
        assert prediction.to_dict()["labels"] == list(prediction.labels)
        assert [n for n, _ in prediction.top[: len(given)]] == list(prediction.labels)
        wrong = given ^ {model.classes[i] for i in np.flatnonzero(truth)}
        assert len(wrong) <= 1
    measured = measure(str(run), str(data / "labels.csv"))
    assert isinstance(measured, LabelsMeasured) and measured.pictures == 48
    flipped = measure(str(run), str(data / "labels.csv"), tta="flip")
    assert abs(flipped.mean_average_precision - measured.mean_average_precision) < 0.1


def test_a_list_of_one_label_each_measures_a_model_of_several(run: Path, data: Path) -> None:
    (data / "single.csv").write_text("path,label\n1.png,red\n2.png,green\n4.png,violet\n")
    found = measure(str(run), str(data / "single.csv"))
    assert found.pictures == 3 and found.unknown_classes == {"violet": 1}


def test_a_model_of_one_class_is_not_measured_on_several(data: Path, tmp_path: Path) -> None:
    engine.manual_seed(0)
    model = zoo.load("resnet20", None, 3)
    model.classes = ("blue", "green", "red")
    export(model, "safetensors", tmp_path / "one.safetensors")
    with pytest.raises(DataError, match="several labels or none, and the model gives each one"):
        measure(str(tmp_path / "one.safetensors"), str(data / "labels.csv"))


def test_export_keeps_the_thresholds(run: Path, tmp_path: Path) -> None:
    export(run, "safetensors", tmp_path / "a.safetensors")
    again = zoo.load(tmp_path / "a.safetensors")
    assert again.thresholds == zoo.load(run).thresholds
    assert zoo.load("resnet20", tmp_path / "a.safetensors", 5).thresholds is None


def test_a_stopped_run_goes_on_bit_for_bit(
    run: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class StopAfter(StopRequest):
        left = 9

        @property
        def requested(self) -> bool:
            type(self).left -= 1
            return type(self).left < 0

        @requested.setter
        def requested(self, value: bool) -> None:
            pass

    with monkeypatch.context() as patched:
        patched.setattr("zoo.train.trainer.StopRequest", StopAfter)
        with pytest.raises(Interrupted):
            finetune(
                "resnet20", data / "labels.csv", out=tmp_path / "cut", say=quiet, report=False,
                **SETTINGS,
            )  # fmt: skip
    resume(tmp_path / "cut", say=quiet, report=False)
    files = [hub.sha256_file(folder / "model.safetensors") for folder in (run, tmp_path / "cut")]
    assert files[0] == files[1]


@pytest.mark.parametrize("settings", [{"mixup": 0.5}, {"cutmix": 1.0}, {"class_weights": "auto"}])
def test_labels_are_mixed_and_weighed(data: Path, tmp_path: Path, settings: dict[str, Any]) -> None:
    result = finetune(
        "resnet20", data / "labels.csv", out=tmp_path / "run", report=False, say=quiet,
        **{**SETTINGS, "epochs": 1, **settings},
    )  # fmt: skip
    assert 0 <= result.mean_average_precision <= 1
    assert "mean average precision" in repr(result)
    with pytest.raises(WrongTask, match="see mean_average_precision"):
        _ = result.accuracy


@pytest.mark.parametrize(
    "settings, says",
    [
        ({"sampling": "balanced"}, "sampling='balanced' is for pictures of one class each"),
        ({"folds": 3}, "folds are cut by class"),
    ],
)
def test_what_makes_no_sense_is_refused_before_work(
    data: Path, tmp_path: Path, settings: dict[str, Any], says: str
) -> None:
    with pytest.raises(ConfigError, match=says):
        finetune(
            "resnet20", data / "labels.csv", out=tmp_path / "run", say=quiet,
            **{**SETTINGS, **settings},
        )  # fmt: skip
    assert not (tmp_path / "run").exists()


def test_the_loss_is_binary_cross_entropy_of_smoothed_targets(data: Path) -> None:
    images = prepare_folder(data / "labels.csv").train
    rng = np.random.default_rng(0)
    logits, labels = rng.normal(size=(5, 3)).astype(np.float32), images.labels[:5]
    for weights in ("none", "auto"):
        config = TrainConfig(label_smoothing=0.3, class_weights=weights)
        objective = objective_for(images, config)
        found = objective.loss(engine.from_numpy(logits), labels, "none").numpy()
        targets = labels * 0.7 + 0.1
        p = 1 / (1 + np.exp(-logits.astype(np.float64)))
        counts = images.counts()
        heavier = np.clip((len(images) - counts) / counts, 1, 100) if weights == "auto" else 1.0
        wanted = -(heavier * targets * np.log(p) + (1 - targets) * np.log(1 - p)).mean(axis=1)
        np.testing.assert_allclose(found, wanted, rtol=1e-5)
        total = objective.loss(engine.from_numpy(logits), labels, "sum").item()
        assert total == pytest.approx(wanted.sum(), rel=1e-5)
