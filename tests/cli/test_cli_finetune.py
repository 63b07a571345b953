"""`zoo finetune` and what follows it, on folders of small pictures."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from PIL import Image

import hub
from zoo.train.log import read_rows

QUICK = ("--weights", "none", "--epochs", "1", "--threads", "1")


def test_a_run_leaves_weights_checkpoints_log_summary_and_curves(run):
    assert {path.name for path in run.iterdir()} == {
        "model.safetensors", "last", "metrics.jsonl", "summary.json", "curves.png", "report.html",
    }  # fmt: skip
    summary = json.loads((run / "summary.json").read_text())
    assert {
        "val_accuracy", "val_loss", "epochs", "seconds", "images_per_second",
        "peak_memory_bytes", "classes", "weights_sha256",
    } <= set(summary)  # fmt: skip
    assert summary["classes"] == ["blue", "red"]
    assert summary["epochs"] == 3
    assert summary["weights_sha256"] == hub.sha256_file(run / "model.safetensors")
    with Image.open(run / "curves.png") as curves:
        assert len(np.unique(np.asarray(curves))) > 50  # something is drawn


def test_evaluate_agrees_with_the_validation_of_training(zoo, run, two_classes):
    summary = json.loads((run / "summary.json").read_text())
    by_batch = {}
    for batch_size in (1, 3, 16):
        result = zoo("evaluate", "run", "--data", two_classes, "--json", "--batch-size", batch_size)
        by_batch[batch_size] = json.loads(result.stdout)
    assert by_batch[16]["pictures"] == 40
    for one in by_batch.values():
        assert one["loss"] == pytest.approx(by_batch[16]["loss"], rel=1e-5)
        assert one["accuracy"] == by_batch[16]["accuracy"]
    assert by_batch[16]["accuracy"] == pytest.approx(summary["val_accuracy"], abs=0.25)


def test_predict_prints_class_names_and_probabilities(zoo, run, two_classes):
    result = zoo("predict", "run", two_classes / "red" / "0.png", "--topk", "1")
    assert result.returncode == 0
    path, line = result.stdout.splitlines()
    assert path.endswith("red/0.png")
    assert line.split()[0].endswith("%") and line.split()[1] in ("red", "blue")


def test_predict_goes_on_after_an_unreadable_picture_and_exits_1(zoo, run, two_classes, tmp_path):
    (tmp_path / "bad.png").write_text("no picture")
    result = zoo("predict", "run", "bad.png", two_classes / "red" / "0.png", "--json")
    assert result.returncode == 1
    assert "bad.png" in result.stderr
    bad, good = json.loads(result.stdout)
    assert bad["predictions"] == [] and "not a picture" in bad["error"]
    assert sum(p["probability"] for p in good["predictions"]) == pytest.approx(1)


def test_info_describes_a_run(zoo, run):
    text = zoo("info", "run").stdout
    assert "blue, red" in text and "random values" in text


def test_a_run_is_a_starting_point_for_other_classes(zoo, run, make_pictures):
    others = make_pictures({"green": 6, "white": 6, "red": 6}, name="others")
    result = zoo(
        "finetune", "resnet20", "--data", others, "--weights", "run", "--epochs", "1",
        "--head-epochs", "0", "--out", "second",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "new last layer for 3 classes" in result.stdout


def test_evaluate_goes_by_names_with_classes_missing_unknown_and_in_another_order(
    zoo, run, two_classes, make_pictures
):
    # The run knows blue and red, in this order. Here blue is missing and others come first.
    others = make_pictures({"azure": 2, "green": 3}, name="others")
    shutil.copytree(two_classes / "red", others / "red")
    alone = json.loads(zoo("evaluate", "run", "--data", two_classes, "--json").stdout)
    mixed = json.loads(zoo("evaluate", "run", "--data", others, "--json").stdout)
    assert mixed["class_accuracy"] == [[0, 0], alone["class_accuracy"][1]]
    assert mixed["pictures"] == 20
    assert mixed["unknown_classes"] == {"azure": 2, "green": 3}
    said = zoo("evaluate", "run", "--data", others).stdout
    right = mixed["class_accuracy"][1][0]
    assert "azure (2), green (3)" in said and "No pictures of blue" in said
    assert f"accuracy is {right / 25:.2%}" in said


def test_evaluate_refuses_where_it_knows_no_class_and_unknown_ones_when_strict(
    zoo, run, make_pictures
):
    others = make_pictures({"green": 3, "azure": 3}, name="others")
    partly = make_pictures({"green": 3, "red": 3}, name="partly")
    for arguments in ((others,), (partly, "--strict")):
        result = zoo("evaluate", "run", "--data", *arguments)
        assert result.returncode == 1
        assert "green" in result.stderr and "Traceback" not in result.stderr


def test_an_overfit_run_names_folder_10_from_its_weights_alone(zoo, make_pictures, tmp_path):
    # Sorted as text, folder "10" has index 2: an index is not a name.
    names = [str(number) for number in range(12)]
    data = make_pictures({name: 6 for name in names})
    result = zoo(
        "finetune", "resnet20", "--data", data, *QUICK, "--epochs", "12", "--batch-size", "8",
        "--augment", "none", "--label-smoothing", "0", "--out", "run",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    picture = data / "10" / "0.png"
    shutil.copy(picture, tmp_path / "unknown.png")
    shutil.move(tmp_path / "run" / "model.safetensors", tmp_path / "alone.safetensors")
    shutil.rmtree(tmp_path / "run")
    shutil.rmtree(data)
    result = zoo("predict", "alone.safetensors", "unknown.png", "--topk", "1", "--json")
    assert json.loads(result.stdout)[0]["predictions"][0]["class"] == "10"


def test_33_pictures_in_batches_of_32_train_to_the_end_where_maps_shrink_to_1x1(
    zoo, make_pictures, tmp_path
):
    pictures = make_pictures({"red": 17, "blue": 16}, name="data/train")
    make_pictures({"red": 2, "blue": 2}, name="data/val")
    result = zoo(
        "finetune", "resnet18", "--data", pictures.parent, *QUICK, "--size", "32",
        "--batch-size", "32", "--out", "run",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    rows = read_rows(tmp_path / "run" / "metrics.jsonl")
    assert [row["kind"] for row in rows] == ["step", "epoch"]


def test_unreadable_pictures_are_listed_and_left_out(zoo, two_classes):
    (two_classes / "red" / "broken.jpg").write_bytes(b"\xff\xd8\xff cut off")
    (two_classes / "red" / "notes.txt").write_text("not a picture, nor said to be one")
    result = zoo("finetune", "resnet20", "--data", two_classes, *QUICK)
    assert result.returncode == 0, result.stderr
    assert "Unreadable, left out: 1" in result.stdout
    assert "red/broken.jpg" in result.stdout
    assert "notes.txt" in result.stdout


def test_strict_refuses_unreadable_pictures_and_leaves_nothing(zoo, two_classes, tmp_path):
    (two_classes / "red" / "broken.jpg").write_bytes(b"\xff\xd8\xff cut off")
    result = zoo("finetune", "resnet20", "--data", two_classes, *QUICK, "--strict")
    assert result.returncode == 1
    assert "broken.jpg" in result.stderr
    assert not (tmp_path / "runs").exists()


def test_runs_without_a_named_folder_are_numbered(zoo, two_classes, tmp_path):
    for _ in range(2):
        assert zoo("finetune", "resnet20", "--data", two_classes, *QUICK).returncode == 0
    assert {path.name for path in (tmp_path / "runs").iterdir()} == {"resnet20-1", "resnet20-2"}


def test_the_demo_trains_without_any_folder(zoo, tmp_path):
    result = zoo(
        "finetune", "resnet20", "--data", "demo", *QUICK, "--val-fraction", "0.9",
        "--batch-size", "64", "--out", "run",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "1797 pictures in 10 classes" in result.stdout
    result = zoo("evaluate", "run", "--data", "demo", "--json")
    assert json.loads(result.stdout)["pictures"] == 359
