"""Cross-validation."""

from __future__ import annotations

import json

import numpy as np
import pytest

from zoo.data import Fold, split_by_content
from zoo.train.config import TrainConfig
from zoo.train.errors import ConfigError, OutFolderInUse
from zoo.train.folds import cross_validate


def test_over_all_folds_each_picture_validates_once():
    labels = np.array([0] * 17 + [1] * 5 + [2] * 2)
    digests = [bytes([i]) for i in range(len(labels))]
    seen = np.concatenate(
        [split_by_content(labels, digests, seed=3, fold=Fold(n, 4))[1] for n in range(4)]
    )
    assert sorted(seen) == list(range(len(labels)))


def test_folds_are_of_equal_size_and_stratified():
    labels = np.repeat([0, 1], [40, 20])
    digests = [bytes([i]) for i in range(60)]
    for number in range(5):
        train, val = split_by_content(labels, digests, fold=Fold(number, 5))
        assert np.bincount(labels[val]).tolist() == [8, 4]
        assert len(train) + len(val) == 60


def test_duplicates_stay_on_one_side():
    labels = [0, 0, 0, 0, 1, 1, 1, 1]
    digests = [b"a", b"a", b"b", b"c", b"a", b"d", b"e", b"f"]
    for number in range(2):
        _, val = split_by_content(labels, digests, fold=Fold(number, 2))
        sides = {i in val for i in (0, 1, 4)}
        assert len(sides) == 1


@pytest.mark.parametrize("settings", [{"folds": 1}, {"folds": 3, "fold": 3}])
def test_folds_that_cannot_be_are_refused(settings):
    with pytest.raises(ConfigError, match="folds="):
        TrainConfig(**settings)


QUICK = {"weights": "none", "recipe": "scratch", "epochs": 1, "size": 8, "report": False}


@pytest.fixture
def pictures_folder(tmp_path):
    from PIL import Image

    for name, colour in (("red", (200, 0, 0)), ("blue", (0, 0, 200))):
        (tmp_path / "data" / name).mkdir(parents=True)
        for i in range(8):
            Image.new("RGB", (16, 16), (*colour[:1], i, colour[2])).save(
                tmp_path / "data" / name / f"{i}.png"
            )
    return tmp_path / "data"


def test_each_fold_has_a_run_and_stopped_ones_go_on(pictures_folder, tmp_path, monkeypatch):
    monkeypatch.setenv("ZOO_HOME", str(tmp_path / "home"))
    lines = []
    arguments = {"folds": 2, "out": tmp_path / "cv", "say": lines.append, "threads": 1, **QUICK}
    found = cross_validate("resnet20", pictures_folder, **arguments)
    assert sum(total for _, total in found.class_accuracy) == 16
    assert len(found.accuracies) == 2
    stored = json.loads((tmp_path / "cv" / "folds.json").read_text())
    assert stored["accuracy"] == found.accuracy
    assert any("standard deviation" in line for line in lines)
    # As if it had been stopped before the end of the second fold.
    (tmp_path / "cv" / "fold-2" / "summary.json").unlink()
    (tmp_path / "cv" / "folds.json").unlink()
    kept = (tmp_path / "cv" / "fold-1" / "model.safetensors").stat().st_mtime_ns
    again = cross_validate("resnet20", pictures_folder, **arguments)
    assert again.accuracies == found.accuracies
    assert (tmp_path / "cv" / "fold-1" / "model.safetensors").stat().st_mtime_ns == kept


def test_a_folder_with_something_else_is_left_alone(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(OutFolderInUse, match="notes.txt"):
        cross_validate("resnet20", "demo", folds=2, out=tmp_path)
