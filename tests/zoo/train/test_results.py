"""What a finished run is in Python: its answers to look at, its rows, its files, how it shows."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import engine
import zoo
from zoo import demo
from zoo.data import ArrayImages, UnreadableImage
from zoo.report.gallery import Gallery, Shown
from zoo.train.errors import DataChanged
from zoo.train.predictions import Prediction
from zoo.train.report import SUMMARY


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> zoo.Result:
    """A run on noise, whose pictures cannot be told apart, so that it leaves mistakes. Not to be
    changed."""
    folder = tmp_path_factory.mktemp("results")
    rng = np.random.default_rng(0)
    for number in range(30):
        path = folder / "data" / "abc"[number % 3] / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 256, (8, 8, 3), dtype=np.uint8)).save(path)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("ZOO_HOME", str(folder / "zoo-home"))
        return zoo.finetune(
            "resnet20", folder / "data", weights="none", out=folder / "run", epochs=1, threads=1,
            val_fraction=0.5, augment="none", report=False, say=lambda line: None,
        )  # fmt: skip


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("ZOO_HOME", str(tmp_path / "zoo-home"))


def test_its_answers_are_those_of_its_validation(finished):
    seen = finished.validation
    assert seen is finished.validation  # computed once
    assert seen.answers.accuracy.value == pytest.approx(finished.accuracy)
    assert len(seen.images) == len(seen.answers) == 15
    assert repr(seen).startswith(f"<answers to 15 pictures: {int(seen.answers.right.sum())} right")


def test_its_mistakes_are_wrong_and_come_surest_first(finished):
    gallery = finished.validation.mistakes(5)
    assert len(gallery) == 5
    assert all(one.said != one.label for one in gallery)
    assert [one.confidence for one in gallery] == sorted(o.confidence for o in gallery)[::-1]
    assert gallery[0].name.startswith(f"{gallery[0].label}/")
    again = finished.predict(finished.path.parent / "data" / gallery[0].name)
    assert again.label == gallery[0].said
    assert gallery[0].confidence == pytest.approx(again.probability, rel=1e-4)
    assert gallery[0].square.shape == (32, 32, 3) and gallery[0].heat.ndim == 2


def test_its_least_sure_hits_are_right(finished):
    gallery = finished.validation.least_sure(3)
    assert gallery and [one.said for one in gallery] == [one.label for one in gallery]
    assert gallery[0].confidence <= gallery[-1].confidence


def test_answers_need_the_pictures_of_the_run(finished):
    more = finished.path.parent / "data" / "a" / "more.png"
    Image.new("RGB", (8, 8)).save(more)
    with pytest.raises(DataChanged, match="not the pictures"):
        zoo.Result(finished.path, finished.summary).validation  # noqa: B018
    more.unlink()


def test_rows_of_epochs_are_those_of_the_log(finished):
    (row,) = finished.history
    assert row["epoch"] == 1 and row["val_accuracy"] == finished.accuracy


def test_it_exports_itself(finished, tmp_path):
    done = finished.export("safetensors", tmp_path / "w.safetensors")
    assert repr(done) == f"<{tmp_path / 'w.safetensors'}, {done.bytes:,} bytes>"
    assert zoo.load(done.path).classes == finished.classes


def shown(said: str, heat: bool = True) -> Shown:
    square = np.full((32, 32, 3), 200, np.uint8)
    return Shown("a.png", "cat", said, 0.8, square, np.ones((4, 4), np.float32) if heat else None)


@pytest.mark.parametrize("count, columns, rows", [(1, 1, 1), (6, 6, 1), (7, 6, 2)])
def test_a_gallery_is_one_picture_for_notebooks(count, columns, rows):
    gallery = Gallery([shown("dog")] * count, "Mistakes")
    image = Image.open(io.BytesIO(gallery._repr_png_()))
    assert image.size == (int(1.9 * 72 * columns), int((1.35 * rows + 0.35) * 72))
    assert repr(gallery) == f"<Mistakes: {count} pictures>"
    assert isinstance(gallery[:1], Gallery) and gallery[0].said == "dog"


def test_a_gallery_shows_where_the_model_looked_beside_the_picture():
    pictures = [Gallery([shown("cat", heat)], "one").png() for heat in (False, True)]
    assert pictures[0] != pictures[1]


def test_an_empty_gallery_shows_as_text_and_has_no_picture():
    empty = Gallery([], "Mistakes")
    assert empty._repr_png_() is None and not empty
    with pytest.raises(ValueError, match="no picture to show"):
        empty.png()


def test_features_of_one_of_many_and_of_a_set():
    engine.manual_seed(0)
    model = zoo.load("resnet20", weights=None, num_classes=3)
    pictures = ArrayImages(
        np.random.default_rng(0).integers(0, 256, (5, 8, 8), dtype=np.uint8), [0] * 5, ["a"]
    )
    many = model.embed(pictures, batch_size=2)
    assert many.shape == (5, 64) and many.dtype == np.float32
    one = model.embed(pictures.load(3))
    assert one.shape == (64,)
    np.testing.assert_allclose(one, many[3], rtol=1e-4, atol=1e-5)
    assert [p.label for p in model.predict(pictures)] == [
        model.predict(pictures.load(i)).label for i in range(5)
    ]
    assert model.embed([]).shape == (0, 64)


def test_features_of_what_cannot_be_read_are_refused_by_name(tmp_path):
    (tmp_path / "bad.png").write_text("words")
    model = zoo.load("resnet20", weights=None, num_classes=3)
    with pytest.raises(UnreadableImage, match="bad.png"):
        model.embed([np.zeros((8, 8), np.uint8), tmp_path / "bad.png"])


def test_results_show_in_a_line():
    found = Prediction("a.jpg", (("cat", 0.51), ("dog", 0.3), ("cow", 0.1), ("ox", 0.09)))
    assert repr(found) == "<a.jpg: cat 51.0%, dog 30.0%, cow 10.0%, ...>"
    assert repr(Prediction("b.jpg", (), "truncated")) == "<b.jpg: truncated>"
    prepared = demo.prepare_digits()
    assert repr(prepared.train) == "<ArrayImages: 1438 pictures in 10 classes>"
    assert repr(prepared.audit) == (
        "<Audit of demo: 1797 pictures in 10 classes (1438 to train, 359 to validate); 0 remarks>"
    )


def test_a_plan_shows_in_a_line(finished):
    data = finished.path.parent / "data"
    plan = zoo.plan("resnet20", data, weights="none", epochs=1, say=lambda line: None)
    assert repr(plan).startswith("<zoo plan: 1 epoch on 30 pictures in 3 classes, about ")


def test_a_run_on_text_is_its_figures_and_its_model(tmp_path: Path, monkeypatch):
    monkeypatch.setattr("zoo.train.text_report.draw_text_curves", lambda rows, file, title: None)
    book = tmp_path / "book.txt"
    book.write_text("the quick brown fox jumps over the lazy dog and runs away. " * 20)
    run = zoo.finetune_text(
        "gpt_nano", book, weights="none", tokenizer="bytes", epochs=2, batch_size=2, block_size=32,
        lr=0.003, out=tmp_path / "run", say=lambda line: None,
    )  # fmt: skip
    assert run.path == tmp_path / "run" and (run.path / SUMMARY).is_file()
    assert run.val_perplexity == pytest.approx(np.exp(run.val_loss))
    assert run.perplexity_before is run.sample_before is None
    assert [row["epoch"] for row in run.history] == [1, 2]
    assert len(run.log) == len(run.history) + run.history[-1]["step"]
    assert run.history[run.best_epoch - 1]["val_loss"] == run.val_loss
    assert run.complete(["the quick"], max_tokens=3)[0].text == "".join(
        run.generate("the quick", max_tokens=3)
    )
    assert run.evaluate(book).perplexity > 1
    assert run.weights.is_file() and run.report == run.path / "report.html"
    assert run.sample_after and f"{run.val_perplexity:.2f}, epoch" in repr(run)
    assert run.export("safetensors", tmp_path / "w.safetensors").path.is_file()
