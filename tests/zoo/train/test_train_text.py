"""Language models in the one training loop: what a step is, that a stopped run goes on bit for bit,
adapters, and what a run leaves behind."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine
import hub
import zoo
from zoo.models import gpt
from zoo.models.gpt import IGNORED
from zoo.text.blocks import Tokens
from zoo.text.perplexity import measure_text, text_loss
from zoo.text.tokenizer import byte_tokenizer
from zoo.train.checkpoint import Checkpoints
from zoo.train.errors import ConfigError, DataChanged, Interrupted, SettingsConflict
from zoo.train.log import read_rows
from zoo.train.lora import (
    LoRAConfig,
    LoRAConv1D,
    add_lora,
    load_adapter,
    merge_lora,
    merged_state,
    save_adapter,
)
from zoo.train.stop import StopRequest
from zoo.train.text_config import TextConfig
from zoo.train.text_run import finetune_text, resume_text
from zoo.train.text_task import TextTask

TEXT = "the quick brown fox jumps over the lazy dog and runs away. " * 20
SETTINGS: dict[str, Any] = {
    "weights": "none",
    "tokenizer": "bytes",
    "epochs": 2,
    "batch_size": 2,
    "block_size": 32,
    "save_every": 2,
    "dropout": 0.1,
    "lr": 0.003,
}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZOO_HOME", str(tmp_path / "zoo-home"))


@pytest.fixture(autouse=True)
def no_drawing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing takes longer than these runs do: one test that has "draws" in its name does it."""
    if "draws" not in request.node.name:
        monkeypatch.setattr(
            "zoo.train.text_report.draw_text_curves", lambda rows, file, title: None
        )


@pytest.fixture
def book(tmp_path: Path) -> Path:
    path = tmp_path / "book.txt"
    path.write_text(TEXT)
    return path


def tiny(seed: int = 0, **config: Any) -> gpt.GPT:
    engine.manual_seed(seed)
    model = gpt.build("gpt_nano", **{"vocab": 257, "dropout": 0.0, **config})
    model.tokenizer = byte_tokenizer()
    model.arch = "gpt_nano"
    return model


def task_of(model: gpt.GPT, **settings: Any) -> TextTask:
    tokens = Tokens(np.arange(200, dtype=np.uint16))
    return TextTask(model, tokens, tokens, TextConfig(**{"block_size": 8, **settings}))


def gradients(model: gpt.GPT) -> dict[str, np.ndarray]:
    found = {n: p.grad.numpy().copy() for n, p in model.named_parameters() if p.grad is not None}
    model.zero_grad()
    return found


def quiet(line: str) -> None:
    """Say nothing."""


def test_unequal_batches_weigh_as_one_batch_of_all_their_tokens() -> None:
    """Field case C-03."""
    model = tiny().to(engine.float64)
    task = task_of(model)
    rng = np.random.default_rng(0)
    ids, targets = rng.integers(0, 257, (2, 6)), rng.integers(0, 257, (2, 6))
    targets[0, 1:] = IGNORED  # one token counts in the first batch, three in the second
    targets[1, 3:] = IGNORED
    together = task.backward([(ids, targets)], 12)
    whole = gradients(model)
    apart = task.backward([(ids[:1], targets[:1]), (ids[1:], targets[1:])], 12)
    assert apart.loss == pytest.approx(together.loss, rel=1e-12)
    each = [model.loss(*map(engine.asarray, (ids[i : i + 1], targets[i : i + 1]))).item()
            for i in (0, 1)]  # fmt: skip
    assert together.loss / 12 == pytest.approx(sum(each) / 4, rel=1e-12)
    for name, grad in gradients(model).items():
        np.testing.assert_allclose(grad, whole[name], rtol=1e-7, atol=1e-12)


def test_a_step_without_targets_changes_nothing() -> None:
    model = tiny()
    ids = np.zeros((1, 4), np.int64)
    sums = task_of(model).backward([(ids, np.full_like(ids, IGNORED))], 4)
    assert (sums.loss, sums.finite, gradients(model)) == (0.0, True, {})


def test_a_loss_that_is_not_finite_is_reported_and_changes_nothing() -> None:
    model = tiny()
    model.load_state_dict({"ln_f.bias": np.full(48, np.inf)}, strict=False)
    ids = np.ones((1, 4), np.int64)
    assert not task_of(model).backward([(ids, ids)], 4).finite
    assert gradients(model) == {}


def test_matrices_are_decayed_and_norms_and_biases_are_not() -> None:
    decay = {}
    for group in task_of(tiny(), weight_decay=0.1).make_optimizer().param_groups:
        for parameter in group["params"]:
            decay[parameter.ndim > 1] = group["weight_decay"]
    assert decay == {True: 0.1, False: 0.0}


def test_the_rate_rises_and_then_falls_along_a_cosine() -> None:
    schedule = task_of(tiny(), lr=1.0, warmup=0.2, epochs=10).make_schedule(1)
    rates = [schedule.lr_at(step) for step in range(11)]
    assert rates[:3] == pytest.approx([1 / 3, 2 / 3, 1.0])
    assert rates[6] == pytest.approx(0.5) and rates[10] == pytest.approx(0.0)


def test_tokens_per_step_become_batches() -> None:
    fitted = TextConfig(block_size=64, batch_size=4, tokens_per_step=1024).fitted(128)
    assert (fitted.accumulation, fitted.block_size) == (4, 64)
    assert TextConfig(block_size=0).fitted(128).block_size == 128
    with pytest.raises(ConfigError, match="block_size=256; the model reads at most 128 tokens"):
        TextConfig().fitted(128)


def test_training_lowers_the_loss_draws_and_leaves_a_model_that_loads(
    tmp_path: Path, book: Path
) -> None:
    said: list[str] = []
    summary = finetune_text(
        "gpt_nano", book, out=tmp_path / "run", say=said.append, **{**SETTINGS, "epochs": 4}
    )
    rows = [r for r in read_rows(tmp_path / "run" / "metrics.jsonl") if r["kind"] == "epoch"]
    assert rows[-1]["val_loss"] < rows[0]["val_loss"] < math.log(257)
    assert sum(line.startswith("    | ") for line in said) == 4  # a sample an epoch
    model = zoo.load(tmp_path / "run")
    assert isinstance(model, gpt.GPT) and model.tokenizer.digest == byte_tokenizer().digest
    assert model.config.dropout == 0.1 and not model.training
    assert "    | " + summary.sample_after.split("\n")[0] in "\n".join(said)
    described = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert described["val_perplexity"] == pytest.approx(math.exp(described["val_loss"]))
    assert (tmp_path / "run" / "curves.png").read_bytes().startswith(b"\x89PNG")


class _StopAfter(StopRequest):
    """Asks for a stop after some steps."""

    left = 0

    @property
    def requested(self) -> bool:
        type(self).left -= 1
        return type(self).left < 0

    @requested.setter
    def requested(self, value: bool) -> None:
        pass


@pytest.mark.parametrize("settings", [{}, {"lora_rank": 2}, {"accumulation": 3}])
def test_a_stopped_run_goes_on_bit_for_bit(
    tmp_path: Path, book: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any]
) -> None:
    """Field case C-04 among it: the learning rates of the steps are those of the whole run."""
    settings = {**SETTINGS, **settings}
    if "lora_rank" in settings:  # beside weights that were trained before
        finetune_text("gpt_nano", book, out=tmp_path / "base", say=quiet, **SETTINGS)
        settings |= {"weights": tmp_path / "base"}
        del settings["tokenizer"]
    finetune_text("gpt_nano", book, out=tmp_path / "whole", say=quiet, **settings)
    with monkeypatch.context() as patched:
        patched.setattr("zoo.train.trainer.StopRequest", _StopAfter)
        _StopAfter.left = 4
        with pytest.raises(Interrupted, match="zoo finetune --resume"):
            finetune_text("gpt_nano", book, out=tmp_path / "cut", say=quiet, **settings)
    newest = Checkpoints(tmp_path / "cut" / "last").newest()
    assert newest is not None and 0 < newest.state["progress"]["step"] < 20
    resume_text(tmp_path / "cut", newest, say=quiet)
    files = [hub.sha256_file(tmp_path / run / "model.safetensors") for run in ("whole", "cut")]
    assert files[0] == files[1]
    steps = [
        [(r["step"], r["lr"], r["loss"]) for r in read_rows(tmp_path / run / "metrics.jsonl")
         if r["kind"] == "step"]
        for run in ("whole", "cut")
    ]  # fmt: skip
    assert steps[0] == steps[1]


def test_another_text_or_setting_cannot_be_resumed_with(tmp_path: Path, book: Path) -> None:
    finetune_text("gpt_nano", book, out=tmp_path / "run", say=quiet, **{**SETTINGS, "epochs": 1})
    newest = Checkpoints(tmp_path / "run" / "last").newest()
    assert newest is not None
    other = tmp_path / "other.txt"
    other.write_text(TEXT + "more")
    with pytest.raises(DataChanged, match="not the text that .*run was started with"):
        resume_text(tmp_path / "run", newest, data=other, say=quiet)
    with pytest.raises(SettingsConflict, match="lr is 0.003, not 1.0"):
        resume_text(tmp_path / "run", newest, expected={"lr": 1.0}, say=quiet)


def test_a_run_can_be_trained_on_and_says_what_it_gained(tmp_path: Path, book: Path) -> None:
    finetune_text("gpt_nano", book, out=tmp_path / "one", say=quiet, **{**SETTINGS, "epochs": 1})
    said: list[str] = []
    summary = finetune_text(
        "gpt_nano", book, weights=tmp_path / "one", out=tmp_path / "two", say=said.append,
        epochs=1, block_size=32, lr=0.003,
    )  # fmt: skip
    assert summary.perplexity_before is not None and summary.sample_before is not None
    assert summary.val_perplexity < summary.perplexity_before
    assert any(line.startswith("Before training: validation perplexity") for line in said)


def test_sizes_cannot_be_chosen_for_weights_that_have_them(tmp_path: Path, book: Path) -> None:
    with pytest.raises(SettingsConflict, match="can only be chosen for random weights"):
        finetune_text("gpt2", book, tokenizer="bytes", say=quiet)
    with pytest.raises(SettingsConflict, match="width=50 is no multiple of heads=3"):
        finetune_text(
            "gpt_nano", book, out=tmp_path / "x", options={"width": 50}, say=quiet, **SETTINGS
        )
    assert not (tmp_path / "x").exists()


def test_a_vocabulary_is_found_in_the_text(tmp_path: Path, book: Path) -> None:
    finetune_text(
        "gpt_nano", book, out=tmp_path / "run", say=quiet,
        **{**SETTINGS, "tokenizer": 280, "epochs": 1},
    )  # fmt: skip
    model = zoo.load(tmp_path / "run")
    assert 257 < model.tokenizer.size <= 280 and model.vocab % 8 == 0
    assert len(model.tokenizer.encode(TEXT)) < len(TEXT) / 1.5


def test_frozen_blocks_stand_still() -> None:
    model = tiny()
    before = {name: value.numpy().copy() for name, value in model.state_dict().items()}
    task = task_of(model, freeze_layers=2, weight_decay=0.5)
    optimizer = task.make_optimizer()
    ids = np.ones((1, 4), np.int64)
    task.backward([(ids, ids)], 4)
    optimizer.step()
    moved = {n for n, v in model.state_dict().items() if not np.array_equal(v.numpy(), before[n])}
    assert moved and all(name.startswith(("h.2.", "ln_f.")) for name in moved)


# ---- adapters ------------------------------------------------------------------------------------

LORA = LoRAConfig(rank=2, alpha=8.0, targets=("c_attn", "c_proj"))


def moved_adapters(model: gpt.GPT) -> gpt.GPT:
    """The model with adapters that do something."""
    add_lora(model, LORA)
    rng = np.random.default_rng(1)
    with engine.no_grad():
        for module in model.modules():
            if isinstance(module, LoRAConv1D):
                shape = module.lora_B.shape
                module.lora_B.copy_(engine.asarray(rng.normal(0, 0.1, shape).astype(np.float32)))
    return model.eval()


def logits_of(model: gpt.GPT) -> np.ndarray:
    with engine.no_grad():
        return model.eval()(engine.asarray([[1, 2, 3, 4]])).numpy()


def test_fresh_adapters_change_nothing_and_are_all_that_is_trained() -> None:
    model = tiny()
    plain = logits_of(model)
    names = add_lora(model, LORA)
    assert names[:3] == ["h.0.attn.c_attn", "h.0.attn.c_proj", "h.0.mlp.c_proj"]
    np.testing.assert_array_equal(logits_of(model), plain)
    trained = [name for name, p in model.named_parameters() if p.requires_grad]
    assert len(trained) == 2 * len(names)
    assert all(name.endswith((".lora_A", ".lora_B")) for name in trained)


def test_merged_weights_do_what_adapters_did() -> None:
    model = moved_adapters(tiny())
    adapted = logits_of(model)
    assert not np.allclose(adapted, logits_of(tiny()), atol=1e-3)
    plain = tiny()
    plain.load_state_dict(merged_state(model))
    np.testing.assert_allclose(logits_of(plain), adapted, atol=1e-5)
    merge_lora(model)
    np.testing.assert_allclose(logits_of(model), adapted, atol=1e-5)
    assert list(model.state_dict()) == list(tiny().state_dict())


def test_adapters_are_the_formula_of_the_paper() -> None:
    layer = LoRAConv1D(gpt.Conv1D(5, 3), LoRAConfig(rank=2, alpha=6.0))
    rng = np.random.default_rng(0)
    state = {k: rng.normal(size=v.shape).astype(np.float32) for k, v in layer.state_dict().items()}
    layer.load_state_dict(state)
    x = rng.normal(size=(4, 5)).astype(np.float32)
    wanted = x @ state["weight"] + state["bias"]
    wanted += 3.0 * (x @ state["lora_A"].T) @ state["lora_B"].T
    np.testing.assert_allclose(layer(engine.asarray(x)).detach().numpy(), wanted, rtol=1e-5)


def test_adapters_are_written_and_read_as_peft_has_them(tmp_path: Path) -> None:
    model = moved_adapters(tiny())
    save_adapter(tmp_path / "adapter", model, "gpt2")
    arrays, _ = hub.read_safetensors(tmp_path / "adapter" / "adapter_model.safetensors")
    key = "base_model.model.transformer.h.0.attn.c_attn.lora_A.weight"
    assert arrays[key].shape == (2, 48) and len(arrays) == 2 * 3 * 3
    facts = json.loads((tmp_path / "adapter" / "adapter_config.json").read_text())
    assert facts["r"] == 2 and facts["fan_in_fan_out"] and facts["peft_type"] == "LORA"
    again = tiny()
    assert load_adapter(again, tmp_path / "adapter") == LORA
    np.testing.assert_array_equal(logits_of(again), logits_of(model))


@pytest.mark.parametrize(
    "change, message",
    [
        ({"peft_type": "IA3"}, "a IA3 adapter"),
        ({"use_dora": True}, "use_dora; expected plain LoRA"),
        ({"r": "many"}, "cannot be read"),
        ({"target_modules": ["c_fc"]}, "do not fit this model"),
        ({"target_modules": ["q_proj"]}, "no projection is named 'q_proj'"),
    ],
)
def test_other_adapters_are_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    save_adapter(tmp_path, moved_adapters(tiny()), "gpt2")
    path = tmp_path / "adapter_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(ConfigError, match=message):
        load_adapter(tiny(), tmp_path)


def test_a_run_with_adapters_leaves_both(tmp_path: Path, book: Path) -> None:
    finetune_text("gpt_nano", book, out=tmp_path / "one", say=quiet, **{**SETTINGS, "epochs": 1})
    finetune_text(
        "gpt_nano", book, weights=tmp_path / "one", out=tmp_path / "two", say=quiet, lora=True,
        lr=0.01, epochs=1, block_size=32,
    )  # fmt: skip
    merged, adapted = zoo.load(tmp_path / "two"), zoo.load(tmp_path / "one")
    assert isinstance(merged, gpt.GPT) and isinstance(adapted, gpt.GPT)
    base = logits_of(adapted)
    load_adapter(adapted, tmp_path / "two" / "adapter")
    np.testing.assert_allclose(logits_of(adapted), logits_of(merged), atol=1e-5)
    assert not np.allclose(base, logits_of(merged), atol=1e-3)


# ---- measuring -----------------------------------------------------------------------------------


def test_perplexity_is_that_of_all_tokens_however_they_are_batched() -> None:
    model = tiny().to(engine.float64)
    tokens = Tokens(np.random.default_rng(0).integers(0, 257, 50))
    found = [text_loss(model, tokens, length=16, stride=16, batch_size=size) for size in (1, 2, 5)]
    assert [count for _, count in found] == [49] * 3
    assert found[0][0] == pytest.approx(found[1][0], rel=1e-12)
    assert found[0][0] == pytest.approx(found[2][0], rel=1e-12)


def test_one_window_over_all_is_the_plain_loss() -> None:
    model = tiny()
    tokens = np.random.default_rng(0).integers(0, 257, 40)
    ids = engine.asarray(tokens[None])
    plain = model.eval().loss(ids[:, :-1], ids[:, 1:]).item()
    total, count = text_loss(model, Tokens(tokens), length=64, stride=64)
    assert total == pytest.approx(plain, rel=1e-6) and count == 39


def test_bits_per_byte_count_the_bytes_of_the_text(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("é" * 30)
    found = measure_text(tiny(), str(path), stride=3)
    assert found.tokens == 60  # bytes, and the end, but the first
    bits = found.loss * found.tokens / math.log(2)
    assert found.bits_per_byte == pytest.approx(bits / 60)
    assert found.perplexity == pytest.approx(math.exp(found.loss))


def test_unknown_settings_are_named() -> None:
    with pytest.raises(ConfigError, match="unknown flip"):
        TextConfig.from_dict({"flip": 0.5})


def test_recomputing_blocks_changes_no_bit(tmp_path: Path, book: Path) -> None:
    digests = []
    for name in ("off", "on"):
        finetune_text(
            "gpt_nano", book, out=tmp_path / name, say=quiet, checkpointing=name,
            **{**SETTINGS, "epochs": 1},
        )  # fmt: skip
        arrays, _ = hub.read_safetensors(tmp_path / name / "model.safetensors")
        digests.append({key: array.tobytes() for key, array in arrays.items()})
    assert digests[0] == digests[1]
