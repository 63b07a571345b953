"""Recipes, the range test, folds and lists, through the command."""

from __future__ import annotations

import json

import pytest
from PIL import Image

import hub


def test_a_printed_recipe_can_be_changed_and_used(zoo, two_classes, tmp_path):
    printed = zoo("finetune", "--print-recipe", "--weights", "none", "--epochs", "1")
    assert printed.returncode == 0, printed.stderr
    assert "there are no pretrained weights to keep" in printed.stdout
    recipe = tmp_path / "mine.toml"
    recipe.write_text(printed.stdout.replace("batch_size = 16", "batch_size = 8"))
    result = zoo(
        "finetune", "resnet20", "--data", two_classes, "--weights", "none", "--recipe", recipe,
        "--out", "run", "--no-report", "--threads", "1",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "mine.toml" in result.stdout
    metadata = hub.SafetensorsFile(tmp_path / "run" / "model.safetensors").metadata
    used = json.loads(metadata["recipe"])
    assert (used["epochs"], used["batch_size"]) == (1, 8)


def test_few_pictures_train_the_last_layer_alone_and_the_reason_is_said(zoo, two_classes, tmp_path):
    result = zoo(
        "finetune", "resnet20", "--data", two_classes, "--epochs", "2", "--no-report",
        "--out", "run", "--threads", "1",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "Recipe linear: 40 pictures of 2 classes are few" in result.stdout
    assert "The last layer learned from 2 views of each picture" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--recipe", "magic"), "expected auto, linear, finetune, full, scratch"),
        (("--recipe", "linear", "--weights", "none"), "random values"),
        (("--folds", "1"), "folds=1"),
        (("--mixup", "2"), "mixup=2.0; expected 0 to 1"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_written(
    zoo, two_classes, tmp_path, arguments, says
):
    result = zoo("finetune", "resnet20", "--data", two_classes, "--out", "run", *arguments)
    assert result.returncode == 2
    assert says in result.stderr and "Traceback" not in result.stderr
    assert not (tmp_path / "run").exists()


def test_a_resumed_run_refuses_another_recipe(zoo, run):
    result = zoo("finetune", "--resume", "run", "--recipe", "linear")
    assert result.returncode == 2
    assert "leave out --recipe" in result.stderr


def test_the_range_test_suggests_a_rate_draws_it_and_makes_no_run(zoo, two_classes, tmp_path):
    result = zoo(
        "finetune", "resnet20", "--data", two_classes, "--weights", "none", "--find-lr", "lr.png",
        "--size", "16",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "a good start: --lr " in result.stdout
    with Image.open(tmp_path / "lr.png") as drawn:
        assert drawn.size[0] > 300
    assert not (tmp_path / "runs").exists()


def test_folds_over_a_list_of_pictures(zoo, two_classes, tmp_path):
    rows = [
        f"{path.relative_to(tmp_path)},{path.parent.name}"
        for path in sorted(two_classes.rglob("*.png"))
    ]
    (tmp_path / "list.csv").write_text("\n".join(["path,label", *rows]))
    result = zoo(
        "finetune", "resnet20", "--data", "list.csv", "--weights", "none", "--epochs", "1",
        "--size", "16", "--folds", "2", "--out", "cv", "--no-report",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "Accuracy over all 2 folds" in result.stdout and "of 40" in result.stdout
    assert (tmp_path / "cv" / "fold-2" / "model.safetensors").is_file()


def test_pictures_with_several_labels(zoo, two_classes, tmp_path):
    rows = [
        f"{path.relative_to(tmp_path)},{path.parent.name}|{'even' if number % 2 else 'odd'}"
        for number, path in enumerate(sorted(two_classes.rglob("*.png")))
    ]
    (tmp_path / "list.csv").write_text("\n".join(["path,label", *rows]))
    result = zoo(
        "finetune", "resnet20", "--data", "list.csv", "--weights", "none", "--epochs", "2",
        "--size", "16", "--out", "run", "--threads", "1",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "Validation mean average precision" in result.stdout and "val mAP" in result.stdout
    said = zoo("predict", "run", "pictures/red/0.png", "--csv", "--topk", 1)
    assert said.stdout.splitlines()[0] == "path,class,probability,labels,error"
    measured = json.loads(zoo("evaluate", "run", "--data", "list.csv", "--json").stdout)
    assert measured["pictures"] == 40 and len(measured["labels"]) == 4
    refused = zoo("finetune", "resnet20", "--data", "list.csv", "--folds", "2")
    assert refused.returncode == 2 and "folds are cut by class" in refused.stderr
