"""GPT-2 weights from files of every layout there is: with and without prefix, masks and head."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import engine
import hub
import zoo
from tests.zoo.reference.seeded_gpt import seeded_gpt_state
from zoo.errors import WeightsDoNotFit, WrongTask
from zoo.models import gpt
from zoo.models.text_model import expect_text
from zoo.text.tokenizer import byte_tokenizer, gpt2_tokenizer

SIZES = {"width": 8, "heads": 2, "layers": 1, "context": 8, "vocab": 260, "dropout": 0.0}


def tiny_state() -> dict[str, np.ndarray]:
    shapes = {k: v.shape for k, v in gpt.build("gpt_nano", **SIZES).state_dict().items()}
    return seeded_gpt_state(shapes)


def published(state: dict[str, np.ndarray], prefix: str, extras: bool) -> dict[str, np.ndarray]:
    """As the files of the Hugging Face hub have it."""
    found = {f"{prefix}{name}": array for name, array in state.items()}
    if extras:
        found[f"{prefix}h.0.attn.bias"] = np.tril(np.ones((1, 1, 8, 8), np.float32))
        found[f"{prefix}h.0.attn.masked_bias"] = np.array(-1e4, np.float32)
        found["lm_head.weight"] = state["wte.weight"]
    return found


def by_hand(state: dict[str, np.ndarray], ids: list[int]) -> np.ndarray:
    """The network of one block, in numpy: every projection is x W + b with W as stored."""

    def norm(x: np.ndarray, name: str) -> np.ndarray:
        x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
        return x * state[f"{name}.weight"] + state[f"{name}.bias"]

    def project(x: np.ndarray, name: str) -> np.ndarray:
        return x @ state[f"h.0.{name}.weight"] + state[f"h.0.{name}.bias"]

    x = state["wte.weight"][ids] + state["wpe.weight"][: len(ids)]
    q, k, v = np.split(project(norm(x, "h.0.ln_1"), "attn.c_attn"), 3, axis=-1)
    heads = []
    for i in range(2):
        part = slice(4 * i, 4 * i + 4)
        scores = np.where(np.tri(len(ids)) > 0, q[:, part] @ k[:, part].T / 2, -np.inf)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        heads.append(weights / weights.sum(-1, keepdims=True) @ v[:, part])
    x = x + project(np.concatenate(heads, -1), "attn.c_proj")
    h = project(norm(x, "h.0.ln_2"), "mlp.c_fc")
    h = 0.5 * h * (1 + np.tanh(np.sqrt(2 / np.pi) * (h + 0.044715 * h**3)))
    x = x + project(h, "mlp.c_proj")
    return norm(x, "ln_f") @ state["wte.weight"].T


@pytest.mark.parametrize("prefix", ["", "transformer.", "module.transformer."])
@pytest.mark.parametrize("extras", [False, True])
def test_every_layout_gives_the_network_by_hand(tmp_path: Path, prefix: str, extras: bool) -> None:
    """Field case B-10: no check of shapes sees a square matrix that was transposed."""
    state = tiny_state()
    hub.write_safetensors(tmp_path / "w.safetensors", published(state, prefix, extras), {})
    model = expect_text(zoo.load("gpt_nano", tmp_path / "w.safetensors", **SIZES))
    ids = [1, 5, 2, 259]
    with engine.no_grad():
        logits = model(engine.asarray([ids])).numpy()[0]
    np.testing.assert_allclose(logits, by_hand(state, ids), rtol=1e-4, atol=1e-4)


def test_a_head_that_is_not_the_embedding_is_refused(tmp_path: Path) -> None:
    state = tiny_state()
    file = published(state, "transformer.", True)
    file["lm_head.weight"] = state["wte.weight"] + 1
    hub.write_safetensors(tmp_path / "w.safetensors", file, {})
    with pytest.raises(hub.KeyMismatch, match="lm_head.weight.*different values"):
        zoo.load("gpt_nano", tmp_path / "w.safetensors", **SIZES)


def test_weights_of_another_size_are_refused(tmp_path: Path) -> None:
    hub.write_safetensors(tmp_path / "w.safetensors", tiny_state(), {})
    with pytest.raises(WeightsDoNotFit, match="does not fit gpt_nano"):
        zoo.load("gpt_nano", tmp_path / "w.safetensors", **{**SIZES, "width": 16})


def test_the_tokenizer_fits_the_vocabulary() -> None:
    assert expect_text(zoo.load("gpt_nano", None)).tokenizer is byte_tokenizer()
    wide = zoo.load("gpt_nano", None, vocab=50257, width=4, heads=1)
    assert expect_text(wide).tokenizer is gpt2_tokenizer()


def test_a_model_of_pictures_writes_no_text() -> None:
    with pytest.raises(WrongTask, match="resnet20 does not write text"):
        expect_text(zoo.load("resnet20", None))
