"""Recipes by name, by file and from the data."""

from __future__ import annotations

from dataclasses import replace

import pytest

from zoo.train.config import FROM_SCRATCH, TrainConfig
from zoo.train.errors import ConfigError
from zoo.train.recipe_book import recipe_text
from zoo.train.recipes import RECIPES, make_recipe


@pytest.mark.parametrize(
    ("counts", "name"),
    [
        ([30, 30], "linear"),  # few pictures
        ([9] * 40, "linear"),  # few of each class
        ([100, 100], "finetune"),
        ([2000] * 10, "finetune"),
    ],
)
def test_the_recipe_follows_from_the_size_of_the_data(counts, name):
    assert make_recipe("auto", pretrained=True, counts=counts).name == name


def test_larger_sets_get_fewer_epochs():
    epochs = [
        TrainConfig(**make_recipe("auto", pretrained=True, counts=[n, n]).settings).epochs
        for n in (100, 1000, 5000, 50_000)
    ]
    assert epochs == sorted(epochs, reverse=True) and len(set(epochs)) == 4


def test_without_weights_all_is_trained_from_scratch():
    recipe = make_recipe("auto", pretrained=False, counts=[10, 10])
    assert replace(TrainConfig(**recipe.settings), freeze="auto") == FROM_SCRATCH


@pytest.mark.parametrize(("counts", "weights"), [([300, 100], "auto"), ([299, 100], "none")])
def test_rare_classes_weigh_more_where_classes_are_unequal(counts, weights):
    recipe = make_recipe("auto", pretrained=True, counts=counts)
    assert TrainConfig(**recipe.settings).class_weights == weights
    assert any("3 times" in reason for reason in recipe.reasons) is (weights == "auto")


@pytest.mark.parametrize("name", RECIPES)
def test_a_printed_recipe_read_again_is_the_same_configuration(name, tmp_path):
    config = TrainConfig(**make_recipe(name, pretrained=True).settings)
    path = tmp_path / "recipe.toml"
    path.write_text(recipe_text(config, ["why"]))
    again = make_recipe(str(path), pretrained=True)
    assert TrainConfig(**again.settings) == config


def test_a_recipe_file_explains_each_setting_within_the_width_of_a_screen(tmp_path):
    text = recipe_text(TrainConfig())
    assert all(len(line) <= 100 for line in text.splitlines())
    assert text.count("\n#") >= text.count(" = ")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("epochs = ", "no recipe file"),
        ("epoch = 3", "unknown epoch"),
        ("epochs = 0", "epochs=0"),
        (b"\xff\xfe", "no recipe file"),
    ],
)
def test_a_file_that_is_no_recipe_is_refused_by_name(tmp_path, content, says):
    path = tmp_path / "my.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ConfigError, match=says) as caught:
        make_recipe(str(path), pretrained=True)
    assert "my.toml" in str(caught.value)


def test_an_unknown_recipe_is_refused_with_the_known_ones():
    with pytest.raises(ConfigError, match="linear, finetune, full, scratch"):
        make_recipe("linaer", pretrained=True)


def test_a_frozen_recipe_is_refused_for_random_weights():
    with pytest.raises(ConfigError, match="random values"):
        make_recipe("linear", pretrained=False)
