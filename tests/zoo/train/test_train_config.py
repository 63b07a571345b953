"""The settings of a run."""

from __future__ import annotations

from dataclasses import fields

import pytest

import zoo
from zoo.train.config import FINE_TUNING, FROM_SCRATCH, TrainConfig, default_config
from zoo.train.errors import ConfigError


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("epochs", 0),
        ("batch_size", 1),
        ("lr", -0.1),
        ("lr", float("nan")),
        ("lr", "0.1"),
        ("epochs", 2.5),
        ("freeze", "all"),
        ("val_fraction", 1.0),
        ("seed", -1),
    ],
)
def test_a_value_that_cannot_work_is_refused_by_name(name, value):
    with pytest.raises(ConfigError, match=name):
        TrainConfig(**{name: value})


def test_an_unknown_setting_is_refused_by_name():
    with pytest.raises(ConfigError, match="learning_rate"):
        TrainConfig.from_dict({"learning_rate": 0.1})


def test_a_whole_number_serves_as_a_float_and_is_stored_as_one():
    assert type(TrainConfig(lr=1).lr) is float


def test_settings_survive_being_stored():
    config = TrainConfig(epochs=7, augment="shift", seed=3)
    assert TrainConfig.from_dict(config.to_dict()) == config


@pytest.mark.parametrize("setting", fields(TrainConfig), ids=lambda f: f.name)
def test_each_setting_is_documented(setting):
    assert len(setting.metadata["text"]) > 10


def test_defaults_depend_on_whether_there_are_pretrained_weights():
    assert default_config(pretrained=True) == FINE_TUNING
    assert default_config(pretrained=False) == FROM_SCRATCH


def test_given_settings_win_over_defaults():
    assert default_config(pretrained=False, lr=0.5).lr == 0.5


def test_freezing_random_weights_is_refused():
    with pytest.raises(ConfigError, match="random values"):
        default_config(pretrained=False, freeze="backbone")


def test_a_language_model_on_pictures_names_the_function_for_text(tmp_path):
    with pytest.raises(zoo.WrongTask, match=r"zoo\.finetune_text\('gpt2', 'book.txt'\)"):
        zoo.finetune("gpt2", "book.txt", out=tmp_path / "run")
    assert not list(tmp_path.iterdir())
