"""Prediction is validation without labels; features; and what `finetune` hands back."""

from __future__ import annotations

import csv
import resource
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import engine
import hub
import zoo
from zoo.data import Loader, UnreadableImage, prepare_folder
from zoo.data.threads import THREAD_NAME
from zoo.train.callbacks import Callback
from zoo.train.embedding import write_features
from zoo.train.predictions import embed, predict
from zoo.train.scored import answer


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ZOO_HOME", str(tmp_path / "zoo-home"))


@pytest.fixture
def data(tmp_path, own_cache) -> Path:
    """Three classes of 7 pictures of several sizes, modes and formats, some of them turned."""
    rng = np.random.default_rng(0)
    exif = Image.Exif()
    exif[0x0112] = 6
    for number, name in enumerate(["b", "a", "ç"]):
        folder = tmp_path / "data" / name
        folder.mkdir(parents=True)
        for i in range(7):
            coarse = rng.integers(0, 256, (4, 5, 3), dtype=np.uint8) // 3 + 60 * number
            image = Image.fromarray(coarse).resize((40 + 9 * i, 50 + number), Image.BICUBIC)
            if i % 3 == 0:
                image.save(folder / f"{i}.jpg", exif=exif)
            elif i % 3 == 1:
                image.convert("RGBA").save(folder / f"{i}.png")
            else:
                image.convert("L").save(folder / f"{i}.webp", lossless=True)
    return tmp_path / "data"


@pytest.fixture
def model():
    engine.manual_seed(1)
    model = zoo.load("resnet20", weights=None, num_classes=3)
    model.classes = ("a", "b", "ç")
    return model


def test_prediction_equals_validation_on_every_picture_bit_for_bit(model, data):
    prepared = prepare_folder(data, val_fraction=0.5)
    for images in (prepared.val, prepared.train):
        for batch_size in (1, 4, 16):
            with Loader(images, model.preprocessing, batch_size, threads=1) as loader:
                validated = answer(model, loader)
            paths = [picture.path for picture in images.pictures]
            opened = [Image.open(path) for path in paths]
            arrays = [np.asarray(images.load(i)) for i in range(len(images))]
            for sources in (paths, map(Path, paths), opened, arrays):
                found = list(predict(model, sources, batch_size=batch_size, threads=2))
                assert [p.probability for p in found] == validated.confidence.tolist()
                assert [p.label for p in found] == [model.classes[i] for i in validated.predicted]


def test_predict_of_one_and_of_many(model, data):
    paths = sorted(map(str, data.rglob("*.png")))
    one, many = model.predict(paths[0]), model.predict(paths, topk=2)
    assert one.label == many[0].label and one.path == paths[0]
    assert one.probability == pytest.approx(many[0].probability, rel=1e-5)
    assert [len(p.top) for p in many] == [2] * len(paths)
    assert sum(p for _, p in one.top) == pytest.approx(1)
    batch = np.zeros((3, 40, 40, 3), np.uint8)
    assert [p.path for p in model.predict(batch)] == ["image 0", "image 1", "image 2"]
    assert model.predict([]) == []


def test_an_unreadable_picture_alone_is_an_error_and_among_others_is_noted(model, data, tmp_path):
    (tmp_path / "bad.png").write_text("words")
    with pytest.raises(UnreadableImage, match="bad.png"):
        model.predict(tmp_path / "bad.png")
    good = next(data.rglob("*.png"))
    bad, fine = model.predict([tmp_path / "bad.png", good])
    assert bad.label is None and bad.probability is None and "not a picture" in bad.error
    assert fine.error is None
    with pytest.raises(ValueError, match="image 1: array of float64"):
        model.predict([good, np.zeros((4, 4, 3))])
    assert not [t for t in threading.enumerate() if t.name.startswith(THREAD_NAME)]


def test_sources_are_taken_as_they_are_needed(model, data):
    taken = []

    def sources():
        for number in range(10_000):
            taken.append(number)
            yield str(next(data.rglob("*.png")))

    stream = predict(model, sources(), batch_size=4, threads=1)
    next(stream)
    assert len(taken) <= 4 + 2 * 4 + 1
    stream.close()


def test_features_are_what_the_last_layer_sees(model, data):
    paths = sorted(data.rglob("*.png"))
    for (name, row), path in zip(embed(model, paths, batch_size=2), paths, strict=True):
        assert name == str(path) and row.shape == (64,) and row.dtype == np.float32
        logits = row @ model.fc.weight.detach().numpy().T + model.fc.bias.detach().numpy()
        powers = np.exp(logits - logits.max())
        expected = dict(zip(model.classes, powers / powers.sum(), strict=True))
        assert dict(model.predict(path).top) == pytest.approx(expected, rel=1e-4)


def test_features_go_to_an_array_and_their_names_beside_it(model, data, tmp_path):
    (tmp_path / "bad.png").write_text("words")
    paths = [*sorted(data.rglob("*.png")), tmp_path / "bad.png", next(data.rglob("*.jpg"))]
    done = write_features(model, paths, tmp_path / "f.npy", batch_size=2)
    array = np.load(tmp_path / "f.npy", allow_pickle=False)
    assert array.shape == (done.rows, done.width) == (len(paths) - 1, 64)
    rows = list(csv.DictReader((tmp_path / "f.csv").read_text("utf-8").splitlines()))
    assert [(r["row"], r["path"]) for r in rows] == [
        (str(i), str(p)) for i, p in enumerate(p for p in paths if p.name != "bad.png")
    ]
    assert [Path(f.path).name for f in done.failures] == ["bad.png"]
    np.testing.assert_array_equal(array[0], next(embed(model, paths, batch_size=2))[1])


@pytest.mark.slow
def test_predicting_many_pictures_takes_no_more_memory_than_a_few(model, data):
    """python -m pytest -m slow tests/zoo/train/test_train_predictions.py"""
    path = str(next(data.rglob("*.jpg")))
    peaks = []
    for count in (200, 5_000):
        for _ in predict(model, (path for _ in range(count)), batch_size=16):
            pass
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    assert peaks[1] - peaks[0] < 20_000  # KiB


class Watch(Callback):
    def __init__(self) -> None:
        self.seen: list[Any] = []

    def on_epoch(self, trainer: Any, row: dict[str, Any]) -> None:
        self.seen.append((row["epoch"], row["val_accuracy"]))


def test_finetune_hands_back_a_run_that_can_be_used(data, tmp_path, capsys):
    watch = Watch()
    result = zoo.finetune(
        "resnet20", data=data, weights="none", out=tmp_path / "run", epochs=2, batch_size=4,
        threads=1, callbacks=[watch], val_fraction=0.4,
    )  # fmt: skip
    said = capsys.readouterr().out
    assert str(tmp_path / "run" / "report.html") in said
    assert [epoch for epoch, _ in watch.seen] == [1, 2]
    assert result.accuracy == max(accuracy for _, accuracy in watch.seen)
    assert result.accuracy == result.summary.val_accuracy
    assert result.path == tmp_path / "run" and result.report.is_file()
    assert hub.sha256_file(result.weights) == result.summary.weights_sha256
    assert result.classes == ("a", "b", "ç")
    picture = next(data.rglob("*.png"))
    assert result.predict(picture) == zoo.load(result.path).predict(picture)
    assert result.evaluate(data).pictures == 21
    assert f"{result.accuracy:.2%}" in repr(result)
    shown = result._repr_html_()
    assert f"{result.accuracy:.2%}" in shown and "data:image/png;base64," in shown


def test_a_run_without_report_has_none(data, tmp_path):
    result = zoo.finetune(
        "resnet20", data, weights="none", out=tmp_path / "<b>", epochs=1, batch_size=4, threads=1,
        report=False, say=lambda line: None,
    )  # fmt: skip
    assert result.report is None
    assert "<b>" not in result._repr_html_() and "&lt;b&gt;" in result._repr_html_()


def test_prediction_in_the_midst_of_training_leaves_the_model_in_it(model, data):
    picture = next(data.rglob("*.png"))
    expected = model.predict(picture)
    model.train()
    model.layer1.eval()
    modes = [module.training for module in model.modules()]
    buffers = [buffer.numpy().copy() for buffer in model.buffers()]
    assert model.predict(picture) == expected
    assert [module.training for module in model.modules()] == modes
    for buffer, before in zip(model.buffers(), buffers, strict=True):
        assert np.array_equal(buffer.numpy(), before)


def test_the_same_opened_image_may_come_many_times(model, data):
    for path in data.rglob("*.jpg"):
        with Image.open(path) as opened:
            found = model.predict([opened] * 12, threads=4, batch_size=12)
        assert {p.top for p in found} == {model.predict([path] * 12, batch_size=12)[0].top}
