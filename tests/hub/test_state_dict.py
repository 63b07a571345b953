"""What counts as a weights file (B-03), where the model is in it, whose names fit (B-05)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hub
from hub.keymaps import PREFIXES
from hub.pickle_values import StorageRef, TensorRef
from hub.state_dict import WRAPPERS, _state_of

FIXTURES = Path(__file__).parent / "fixtures"
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n"
TENSOR = TensorRef(StorageRef("0", "F32", 1), "F32", 0, (1,), (1,))


@pytest.mark.parametrize(
    ("content", "error", "said"),
    [
        (b"<!DOCTYPE html><html></html>", hub.NotWeights, "web page"),
        (b"\n  <HTML><head></head></HTML>", hub.NotWeights, "web page"),
        (POINTER, hub.NotWeights, "Git LFS pointer.*git lfs pull"),
        (b'{"error": "Repository not found"}', hub.NotWeights, "JSON"),
        (b"", hub.NotWeights, "empty"),
        (b"\x89HDF\r\n\x1a\n" + bytes(600), hub.UnsupportedFormat, "HDF5"),
        (b"\x1f\x8b\x08" + bytes(600), hub.UnsupportedFormat, "gzip"),
        (b"some text of a few words", hub.CorruptCheckpoint, "some text"),
        (bytes(600), hub.UnsupportedFormat, "no weights format"),
        (b"abc", hub.CorruptCheckpoint, "3 bytes"),
        (b"\x80\x02K\x01. and more", hub.UnsupportedFormat, "not one of torch.save"),
    ],
)
def test_what_is_no_weights_file_is_named(
    tmp_path: Path, content: bytes, error: type[hub.HubError], said: str
) -> None:
    """Field case B-03: a page or a Git LFS pointer saved as weights."""
    path = tmp_path / "weights.pth"
    path.write_bytes(content)
    with pytest.raises(error, match=f"(?s){said}") as caught:
        hub.read_state_dict(path)
    assert str(path) in str(caught.value)


def test_an_array_archive_is_no_weights_file(tmp_path: Path) -> None:
    np.savez(tmp_path / "w.npz", w=np.ones(1))
    with pytest.raises(hub.UnsupportedFormat, match="torch.save did not make it"):
        hub.read_state_dict(tmp_path / "w.npz")


def test_a_missing_file_is_an_oserror() -> None:
    with pytest.raises(FileNotFoundError):
        hub.read_state_dict("nowhere.pth")


@pytest.mark.parametrize("suffix", [".safetensors", ".pth", ".bin", ""])
def test_content_decides_not_the_suffix(tmp_path: Path, suffix: str) -> None:
    (tmp_path / f"a{suffix}").write_bytes((FIXTURES / "legacy.pth").read_bytes())
    hub.write_safetensors(tmp_path / f"b{suffix}", {"w": np.ones(2)})
    assert "scalar" in hub.read_state_dict(tmp_path / f"a{suffix}")
    assert hub.read_state_dict(tmp_path / f"b{suffix}")["w"].sum() == 2


def test_a_header_that_starts_like_a_pickle_is_read(tmp_path: Path) -> None:
    # 640 is 80 02 in the bytes of a header's length, as are pickle's first two.
    path = tmp_path / "w.safetensors"
    text = b'{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'.ljust(640)
    path.write_bytes((640).to_bytes(8, "little") + text + np.float32(3).tobytes())
    assert hub.read_state_dict(path)["w"][0] == 3


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_a_wrapped_state_dict_is_found_beside_other_tensors(wrapper: str) -> None:
    value = {"best_acc1": TENSOR, "epoch": 3, wrapper: {"w": TENSOR}}
    assert list(_state_of(value, Path("f"))) == ["w"]


def test_a_wrapper_in_a_wrapper_is_opened() -> None:
    assert list(_state_of({"model": {"state_dict": {"w": TENSOR}}}, Path("f"))) == ["w"]


def test_a_tensor_named_like_a_wrapper_is_a_tensor() -> None:
    assert list(_state_of({"model": TENSOR, "w": TENSOR}, Path("f"))) == ["model", "w"]


@pytest.mark.parametrize("value", [{}, {"model": {}}, [TENSOR], 3, {"epoch": 3}])
def test_a_file_without_named_tensors_is_refused(value: Any) -> None:
    with pytest.raises(hub.UnsupportedFormat, match="no named tensors"):
        _state_of(value, Path("f"))


NAMES = ["conv1.weight", "bn1.bias", "fc.weight"]


@pytest.mark.parametrize("prefix", ["", *PREFIXES, "module.model.", "_orig_mod.module."])
def test_a_prefix_before_every_name_is_taken_off(prefix: str) -> None:
    state = {prefix + name: name for name in NAMES}
    assert hub.match_keys(state, NAMES) == {name: name for name in NAMES}


def test_a_prefix_that_the_model_itself_has_stays() -> None:
    names = ["model.fc.weight", "model.fc.bias"]
    assert list(hub.match_keys(dict.fromkeys(names, 0), names)) == names


def test_a_prefix_the_model_has_too_is_taken_off_once() -> None:
    names = ["module.fc.weight"]
    assert list(hub.match_keys({"module.module.fc.weight": 0}, names)) == names


def test_names_that_fit_nothing_stay_for_the_strict_load_to_report() -> None:
    state = {"module.fc.weight": 0, "module.extra": 0, "epoch": 0}
    assert list(hub.match_keys(state, NAMES)) == ["fc.weight", "extra", "epoch"]


@pytest.mark.parametrize("state", [{}, {"blocks.0.attn": 0}, {"module.blocks.0.attn": 0}])
def test_no_name_that_fits_is_never_success(state: dict[str, int]) -> None:
    with pytest.raises(hub.KeyMismatch, match="none of its .* names") as caught:
        hub.match_keys(state, NAMES, source="x.pth")
    assert "x.pth" in str(caught.value) and "conv1.weight" in str(caught.value)


def test_two_entries_for_one_name_are_refused() -> None:
    state = {"fc.weight": 1, "module.fc.weight": 2, "module.conv1.weight": 3, "module.bn1.bias": 4}
    with pytest.raises(hub.KeyMismatch, match="both"):
        hub.match_keys(state, NAMES)


def test_prefixed_values_are_the_same_arrays() -> None:
    state = hub.read_state_dict(FIXTURES / "training.pth")
    fitted = hub.match_keys(state, ["0.weight", "0.bias", "1.weight"])
    assert fitted["0.weight"] is state["module.0.weight"]


GPT2_NAMES = ["wte.weight", "h.0.attn.c_proj.weight"]


@pytest.mark.parametrize("prefix", ["", "transformer.", "module.transformer.", "model."])
def test_gpt2_files_of_the_body_and_of_the_whole_model_fit(prefix: str) -> None:
    state = {prefix + name: name for name in GPT2_NAMES}
    state |= {f"{prefix}h.0.attn.bias": "mask", f"{prefix}h.0.attn.masked_bias": "-10000"}
    fitted = hub.match_keys(state, GPT2_NAMES, key_map="hf_gpt2")
    assert fitted == {name: name for name in GPT2_NAMES}


def test_a_tied_output_projection_may_be_there_twice() -> None:
    table = np.arange(6.0).reshape(3, 2)
    state = {"lm_head.weight": table.copy(), "transformer.wte.weight": table}
    assert list(hub.match_keys(state, GPT2_NAMES, key_map="hf_gpt2")) == GPT2_NAMES[:1]


def test_an_output_projection_of_its_own_is_refused() -> None:
    state = {"lm_head.weight": np.ones((3, 2)), "transformer.wte.weight": np.zeros((3, 2))}
    with pytest.raises(hub.KeyMismatch, match="'lm_head.weight'.*does not tie them"):
        hub.match_keys(state, GPT2_NAMES, key_map="hf_gpt2")


def test_a_square_projection_keeps_its_values_as_stored() -> None:
    """Field case B-10: no shape would tell that a square matrix was transposed."""
    stored = np.random.default_rng(0).standard_normal((8, 8))
    fitted = hub.match_keys(
        {"transformer.h.0.attn.c_proj.weight": stored}, GPT2_NAMES, key_map="hf_gpt2"
    )
    assert fitted["h.0.attn.c_proj.weight"] is stored


def test_the_layout_that_fits_most_names_is_taken() -> None:
    state = {"transformer.wte.weight": 0, "transformer.h.0.attn.c_proj.weight": 0}
    for layouts in (["torchvision", "hf_gpt2"], ["hf_gpt2", "torchvision"]):
        assert list(hub.match_keys(state, GPT2_NAMES, key_map=layouts)) == GPT2_NAMES
