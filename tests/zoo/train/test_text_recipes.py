"""Recipes of runs on text, and the plan that says what they come to."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import engine
from zoo.models import gpt
from zoo.text.audit import TextAudit
from zoo.train.errors import ConfigError
from zoo.train.recipe_book import recipe_text
from zoo.train.text_config import TEXT_FROM_SCRATCH, TextConfig
from zoo.train.text_estimate import TextEstimate, estimate_text
from zoo.train.text_planning import make_text_plan
from zoo.train.text_recipes import TEXT_RECIPES, make_text_recipe, plan_text_config
from zoo.train.text_task import make_ready


@pytest.mark.parametrize(
    "size, name, epochs",
    [(20_000, "lora", 5), (400_000, "lora", 3), (600_000, "full", 3), (10**9, "full", 1)],
)
def test_the_recipe_follows_from_the_size_of_the_text(size: int, name: str, epochs: int) -> None:
    recipe = make_text_recipe("auto", pretrained=True, size=size)
    config = TextConfig(**recipe.settings)
    assert (recipe.name, config.epochs) == (name, epochs)
    assert (config.lora_rank > 0) == (name == "lora")
    assert "of text is" in recipe.reasons[0]


def test_all_of_a_small_model_is_trained_at_a_higher_rate() -> None:
    recipe = make_text_recipe("auto", pretrained=True, size=20_000, parameters=900_000)
    assert (recipe.name, recipe.settings["lr"], recipe.settings["epochs"]) == ("full", 1e-3, 5)
    assert "0.9 million parameters" in recipe.reasons[0]
    small, large = gpt.VARIANTS["gpt_nano"], gpt.VARIANTS["gpt2"]
    names = [plan_text_config([], "default", "auto", {}, m)[1].name for m in (small, large)]
    assert names == ["full", "lora"]


def test_without_weights_all_is_trained_from_scratch() -> None:
    recipe = make_text_recipe("auto", pretrained=False, size=100)
    assert TextConfig(**recipe.settings) == TEXT_FROM_SCRATCH


def test_settings_win_over_the_recipe(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("some text")
    config, chosen = plan_text_config([path], "default", "auto", {"epochs": 9, "lr": 1e-4})
    assert (chosen.name, config.epochs, config.lr, config.lora_rank) == ("lora", 9, 1e-4, 8)


@pytest.mark.parametrize("name", TEXT_RECIPES)
def test_a_printed_recipe_read_again_is_the_same_configuration(name: str, tmp_path: Path) -> None:
    pretrained = name != "scratch"
    config = TextConfig(**make_text_recipe(name, pretrained=pretrained).settings)
    path = tmp_path / "mine.toml"
    path.write_text(recipe_text(config, ["why"]))
    again = make_text_recipe(str(path), pretrained=pretrained)
    assert TextConfig(**again.settings) == config


@pytest.mark.parametrize(
    "name, content, says",
    [
        ("linear", None, "expected auto, lora, full, scratch, or the path"),
        ("mine.toml", "flip = 0.5", r"mine\.toml: settings: unknown flip"),
        ("mine.toml", "lora_rank = 4", "lora_rank=4 with weights='none' would keep random"),
        ("mine.toml", "freeze_layers = 2", "freeze_layers=2 with weights='none' would keep"),
    ],
)
def test_what_is_no_recipe_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: str | None, says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if content is not None:
        Path(name).write_text(content)
    with pytest.raises(ConfigError, match=says):
        make_text_recipe(name, pretrained=False)


# ---- plans ---------------------------------------------------------------------------------------


def network(**config: int) -> gpt.GPT:
    engine.manual_seed(3)
    model = gpt.build("gpt_nano", **{"vocab": 257, **config})
    model.arch, model.source, model.notices = "gpt_nano", {"name": "random values"}, ()
    return model


AUDIT = TextAudit("a text", 50_000, 5_000, 0, 0.0, True, 0, ())


@pytest.mark.parametrize("settings", [{}, {"lora_rank": 2}, {"freeze_layers": 1}])
def test_measuring_leaves_everything_as_it_was(settings: dict[str, int]) -> None:
    model, config = network(), TextConfig(block_size=32, batch_size=2, **settings)
    make_ready(model, config)
    before = {name: value.numpy().copy() for name, value in model.state_dict().items()}
    random, wanted = engine.get_rng_state(), [p.requires_grad for p in model.parameters()]
    estimate_text(model, 1000, config)
    assert engine.get_rng_state() == random
    assert [p.requires_grad for p in model.parameters()] == wanted and model.training
    assert all(p.grad is None for p in model.parameters())
    for name, value in model.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), before[name])


def test_memory_of_a_step_is_foreseen() -> None:
    model, config = network(width=96), TextConfig(block_size=64, batch_size=16)
    found = estimate_text(model, 100_000, config)
    ids = engine.asarray(np.random.default_rng(1).integers(0, 257, (16, 64)))
    before = engine.memory_stats()["allocated_bytes"]
    engine.reset_peak_memory_stats()
    model.loss(ids, ids).backward()
    taken = engine.memory_stats()["peak_allocated_bytes"] - before
    assert found.step_bytes + 16 * 64 * found.token_bytes == pytest.approx(taken, rel=0.25)


def test_time_is_counted_by_what_each_epoch_does() -> None:
    found = TextEstimate(1.0, 3.0, 5.0, 0.0, 10, 0, 0, 0, 0)
    config = TextConfig(epochs=2, batch_size=2, accumulation=2)
    # Two epochs of 100 tokens in three steps, and 20 validated; 20 validated before.
    assert found.seconds(config, 100, 20) == pytest.approx(2 * (300 + 15 + 20) + 20)


def test_a_plan_takes_smaller_batches_where_memory_is_short(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model, config = network(), TextConfig(block_size=64, batch_size=8)
    plenty = make_text_plan(model, AUDIT, config)
    assert plenty.config == config and plenty.notes == ()
    assert "3 epochs, blocks of 64 tokens, 8 a step" in plenty.lines()[1]
    need = plenty.estimate
    free = (need.fixed_bytes + need.step_bytes + 3 * 64 * need.token_bytes) / 0.85
    monkeypatch.setattr("zoo.train.planning.free_bytes", lambda device: free)
    short = make_text_plan(model, AUDIT, config)
    assert short.config == replace(config, batch_size=2, accumulation=4)
    assert "added up for a step: as many tokens a step as before" in short.notes[0]
    assert "8 a step" in short.lines()[1]
    monkeypatch.setattr("zoo.train.planning.free_bytes", lambda device: 1.0)
    assert "Even batches of one block may not fit" in make_text_plan(model, AUDIT, config).notes[0]
