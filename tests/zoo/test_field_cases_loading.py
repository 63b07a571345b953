"""Reports from the field about loading weights, each as a test of zoo.load.

B-05 (prefixes, nothing matched) is in test_load.py too, B-10 by hand in test_load_gpt.py.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import engine
import hub
import zoo
from engine import nn

Arrays = dict[str, np.ndarray]
GPT = {"layers": 1, "width": 8, "heads": 2, "context": 8, "vocab": 260}


def state_of(arch: str, **options: int) -> Arrays:
    engine.manual_seed(0)
    model = zoo.load(arch, weights=None, **options)
    return {key: value.numpy().copy() for key, value in model.state_dict().items()}


def logits(model: nn.Module, seed: int = 0) -> np.ndarray:
    draw = np.random.default_rng(seed)
    with engine.no_grad():
        return model(engine.asarray(draw.standard_normal((2, 3, 32, 32), np.float32))).numpy()


def text_logits(model: nn.Module) -> np.ndarray:
    with engine.no_grad():
        return model(engine.asarray([[1, 5, 2, 259]])).numpy()


@pytest.mark.parametrize("kind", ["safetensors", "pth"])
@pytest.mark.parametrize("prefix", ["module.", "model."])
def test_b05_prefixed_keys_give_exactly_the_unprefixed_outputs(tmp_path, kind, prefix) -> None:
    """pytorch/examples#1029, pytorch/pytorch#3805."""
    state = state_of("resnet20")
    write = hub.write_safetensors if kind == "safetensors" else hub.write_pth
    write(tmp_path / "plain", state)
    write(tmp_path / "prefixed", {prefix + key: value for key, value in state.items()})
    plain, prefixed = (
        zoo.load("resnet20", weights=tmp_path / name) for name in ("plain", "prefixed")
    )
    assert np.array_equal(logits(plain), logits(prefixed))


def test_b05_a_lenient_load_that_matches_nothing_is_refused() -> None:
    model = zoo.load("resnet20", weights=None)
    before = logits(model)
    stranger = {f"backbone/{key}": value for key, value in state_of("resnet20").items()}
    with pytest.raises(nn.StateDictError, match="0 of its .* keys matched"):
        model.load_state_dict(stranger, strict=False)
    assert np.array_equal(logits(model), before)


@pytest.mark.parametrize("prefix", ["", "transformer.", "module.transformer."])
def test_b10_a_square_projection_means_x_w_plus_b_as_stored(tmp_path: Path, prefix: str) -> None:
    """lablup/mlxcel#926, nntile/nntile#370: shapes cannot tell, so values do."""
    state = state_of("gpt_nano", **GPT)
    square = "h.0.attn.c_proj.weight"
    state[square] = np.random.default_rng(0).standard_normal((8, 8)).astype(np.float32)
    hub.write_safetensors(tmp_path / "w", {prefix + key: value for key, value in state.items()})
    model = zoo.load("gpt_nano", weights=tmp_path / "w", **GPT)
    attention = model.h[0].attn
    x = np.random.default_rng(1).standard_normal((3, 8)).astype(np.float32)
    with engine.no_grad():
        y = attention.c_proj(engine.asarray(x)).numpy()
    np.testing.assert_allclose(y, x @ state[square] + state["h.0.attn.c_proj.bias"], rtol=1e-5)
    assert not np.allclose(y, x @ state[square].T + state["h.0.attn.c_proj.bias"])


def test_reserve_files_without_num_batches_tracked_load(tmp_path: Path) -> None:
    """pytorch/pytorch#8481."""
    state = state_of("resnet20")
    old = {key: value for key, value in state.items() if not key.endswith("num_batches_tracked")}
    assert len(old) < len(state)
    hub.write_safetensors(tmp_path / "new", state)
    hub.write_pth(tmp_path / "old", old)
    new_model, old_model = (zoo.load("resnet20", weights=tmp_path / n) for n in ("new", "old"))
    assert np.array_equal(logits(new_model), logits(old_model))
    assert old_model.bn1.num_batches_tracked.item() == 0


@pytest.mark.parametrize("copies", [0, 1])
def test_reserve_a_tied_head_may_be_absent_or_there_twice(tmp_path: Path, copies: int) -> None:
    """huggingface/transformers#38870, ml-explore/mlx-lm#1298."""
    state = state_of("gpt_nano", **GPT)
    file = {f"transformer.{key}": value for key, value in state.items()}
    if copies:
        file["lm_head.weight"] = state["wte.weight"].copy()
    hub.write_safetensors(tmp_path / "w", file)
    hub.write_safetensors(tmp_path / "plain", state)
    tied, plain = (zoo.load("gpt_nano", weights=tmp_path / n, **GPT) for n in ("w", "plain"))
    assert np.array_equal(text_logits(tied), text_logits(plain))
    assert tied.num_parameters == plain.num_parameters


@pytest.mark.parametrize("kind", ["safetensors", "pth"])
def test_reserve_bfloat16_is_the_upper_half_of_float32(tmp_path: Path, kind: str) -> None:
    """tinygrad/tinygrad#3310: 0x3FC0 is 1.5."""
    state = state_of("resnet20")
    stored, wanted = {}, {}
    for key, value in state.items():
        if value.dtype != np.float32:
            stored[key] = wanted[key] = value
            continue
        bits = (np.ascontiguousarray(value).view(np.uint32) >> 16).astype(np.uint16)
        stored[key] = bits.view(hub.BFLOAT16)
        wanted[key] = (bits.astype(np.uint32) << 16).view(np.float32)
    stored["fc.bias"] = np.full(10, 0x3FC0, np.uint16).view(hub.BFLOAT16)
    write = hub.write_safetensors if kind == "safetensors" else hub.write_pth
    write(tmp_path / "w", stored)
    model = zoo.load("resnet20", weights=tmp_path / "w")
    assert model.fc.bias.tolist() == [1.5] * 10 and model.fc.bias.dtype == engine.float32
    assert np.array_equal(model.conv1.weight.detach().numpy(), wanted["conv1.weight"])


def test_reserve_a_head_of_another_size_is_named_or_replaced_never_mixed(tmp_path: Path) -> None:
    """mlverse/torchvision#376."""
    state = state_of("resnet20")  # 10 classes
    hub.write_safetensors(tmp_path / "w", state)
    other = zoo.load("resnet20", weights=None, num_classes=4)
    with pytest.raises(nn.StateDictError, match=r"fc\.weight: shape \(10, 64\).*\(4, 64\)"):
        other.load_state_dict(state)
    model = zoo.load("resnet20", weights=tmp_path / "w", num_classes=4)
    assert logits(model).shape == (2, 4) and "new last layer for 4 classes" in model.notices[0]
    assert logits(zoo.load("resnet20", weights=tmp_path / "w")).shape == (2, 10)


def test_a_key_that_is_nearly_right_is_suggested(tmp_path: Path) -> None:
    state = state_of("resnet20")
    state["layer1.0.conv_1.weight"] = state.pop("layer1.0.conv1.weight")
    hub.write_safetensors(tmp_path / "w", state)
    with pytest.raises(zoo.WeightsDoNotFit, match=r"conv1\.weight \(the dict has layer1\.0\.conv_"):
        zoo.load("resnet20", weights=tmp_path / "w")
