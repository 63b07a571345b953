"""`zoo.export`: each format read back by its own readers, and every way it can refuse."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

import engine
import hub
import zoo
from engine import nn
from zoo.export import FORMATS, export
from zoo.export.onnx_graph import Graph
from zoo.models import resnet, vgg
from zoo.models.image_model import ImageModel
from zoo.models.vgg import VGG
from zoo.text.tokenizer import gpt2_tokenizer, load_tokenizer
from zoo.text.tokenizer_files import save_tokenizer

FAMILIES = {
    "basic": lambda: resnet.ResNet(resnet.ResNetConfig((1, 1, 1, 1), widths=(4, 6, 8, 8)), 5),
    "grouped": lambda: resnet.ResNet(
        resnet.ResNetConfig(
            (2, 1, 1, 1), bottleneck=True, widths=(8, 8, 16, 16), groups=4, group_width=16
        ),
        5,
    ),
    "small": lambda: resnet.build("resnet20", 5),
    "plain": lambda: VGG(vgg.VGGConfig((1, 1, 2, 1, 1), widths=(4, 6, 8, 8, 8), hidden=16), 5),
    "normed": lambda: VGG(
        vgg.VGGConfig((1, 1, 1, 1, 1), widths=(4, 6, 8, 8, 8), hidden=16, batch_norm=True), 5
    ),
}
ARCH = {"small": "resnet20", "plain": "vgg13", "normed": "vgg13_bn"}


def made(family: str, size: int = 64) -> ImageModel:
    """A model as zoo.load would give it, with running statistics that are not the first ones."""
    engine.manual_seed(3)
    model = FAMILIES[family]()
    model(engine.asarray(np.random.default_rng(0).standard_normal((4, 3, 32, 32), np.float32)))
    model.arch, model.card, model.notices = ARCH.get(family, "resnet50"), None, ()
    model.source = {"name": "random values", "sha256": None}
    model.describe(None, {})
    model.classes = ("ant", "bee", "кот", "dog", "eel")
    model.preprocessing = replace(model.preprocessing, size=size, resize=size)
    return model.eval()


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("size", [64, 224, 250])
def test_onnx_runtime_gives_the_same_logits(tmp_path: Path, family: str, size: int) -> None:
    import onnxruntime

    model = made(family, size)
    done = export(model, "onnx", tmp_path / "m.onnx")
    session = onnxruntime.InferenceSession(str(done.path), providers=["CPUExecutionProvider"])
    x = np.random.default_rng(1).standard_normal((3, 3, size, size), np.float32)
    theirs = session.run(["logits"], {"pixels": x})[0]
    with engine.no_grad():
        ours = model(engine.asarray(x)).numpy()
    assert theirs.shape == (3, 5)
    assert np.abs(ours - theirs).max() < 1e-4 * np.abs(ours).max()
    facts = session.get_modelmeta().custom_metadata_map
    assert json.loads(facts["classes"]) == list(model.classes)
    assert json.loads(facts["preprocessing"])["size"] == size
    assert any("Compared with ONNX Runtime" in note for note in done.notes)


def test_networks_that_end_in_a_mean_take_pictures_of_any_size(tmp_path: Path) -> None:
    import onnxruntime

    model = made("basic", 64)
    export(model, "onnx", tmp_path / "m.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
    x = np.random.default_rng(1).standard_normal((1, 3, 75, 101), np.float32)
    with engine.no_grad():
        ours = model(engine.asarray(x)).numpy()
    np.testing.assert_allclose(session.run(None, {"pixels": x})[0], ours, rtol=1e-3, atol=1e-5)


def test_other_channels_and_no_last_layer_are_exported(tmp_path: Path) -> None:
    model = zoo.load("resnet20", weights=None, in_chans=1, num_classes=0)
    done = export(model, "onnx", tmp_path / "m.onnx")
    assert any("Compared with ONNX Runtime" in note for note in done.notes)


def test_a_graph_that_computes_something_else_is_not_written(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(Graph, "relu", lambda self, x: self.node("Abs", [x]))
    with pytest.raises(zoo.ExportError, match="ONNX Runtime's outputs differ"):
        export(made("basic"), "onnx", tmp_path / "m.onnx")
    assert list(tmp_path.iterdir()) == []


def test_a_missing_onnx_package_is_named(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(zoo.ExportError, match=r'pip install "zoo\[onnx\]"'):
        export(made("basic"), "onnx", tmp_path / "m.onnx")


@pytest.mark.parametrize("family", ["basic", "grouped", "plain", "normed"])
def test_a_torchvision_file_holds_the_state_dict_and_the_facts(tmp_path, family: str) -> None:
    model = made(family)
    done = export(model, "torchvision", tmp_path / "m.pth")
    state = hub.read_state_dict(done.path)
    own = model.state_dict()
    assert list(state) == list(own)
    assert all(np.array_equal(state[key], own[key].numpy()) for key in own)
    facts = json.loads((tmp_path / "m.json").read_text("utf-8"))
    assert facts["classes"] == list(model.classes) and facts["arch"] == model.arch


def test_an_hf_folder_names_the_network_and_its_pictures(tmp_path: Path) -> None:
    model = made("grouped")
    done = export(model, "hf", tmp_path / "m")
    config = json.loads((done.path / "config.json").read_text("utf-8"))
    assert (config["architecture"], config["num_classes"]) == ("resnet50", 5)
    assert config["label_names"] == list(model.classes)
    assert config["pretrained_cfg"]["input_size"] == [3, 64, 64]
    state = hub.read_state_dict(done.path / "model.safetensors")
    assert state.keys() == model.state_dict().keys()


@pytest.mark.parametrize("family", ["plain", "normed"])
def test_an_hf_folder_of_vgg_is_in_timms_layout_and_loads_again(tmp_path, family: str) -> None:
    model, again = made(family), made(family)
    done = export(model, "hf", tmp_path / "m")
    state = hub.read_state_dict(done.path / "model.safetensors")
    assert state["pre_logits.fc1.weight"].shape == (16, 8, 7, 7)
    assert state["pre_logits.fc2.weight"].shape == (16, 16, 1, 1)
    assert state["head.fc.weight"].shape == (5, 16)
    with nn.init.skip_random():
        again.reset_classifier(5)
    again.load_state_dict(hub.match_keys(state, again.state_dict(), key_map=again.key_maps))
    x = engine.ones((1, 3, 32, 32))
    with engine.no_grad():
        assert np.array_equal(model(x).numpy(), again(x).numpy())


def test_a_safetensors_file_is_loaded_by_its_name_alone(tmp_path: Path) -> None:
    model = zoo.load("resnet20", in_chans=4)
    done = export(model, "safetensors", tmp_path / "m.safetensors")
    again = zoo.load(done.path)
    assert (again.arch, again.classes) == ("resnet20", model.classes)
    assert again.preprocessing == model.preprocessing
    for key, value in model.state_dict().items():
        assert np.array_equal(again.state_dict()[key].numpy(), value.numpy()), key


def test_a_run_or_a_name_is_exported_under_its_name(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert export("resnet20", "safetensors").path == Path("resnet20.safetensors")
    (tmp_path / "runs" / "mine").mkdir(parents=True)
    (tmp_path / "resnet20.safetensors").rename("runs/mine/model.safetensors")
    assert export("runs/mine", "onnx").path == Path("mine.onnx")
    assert export("runs/mine/model.safetensors", "safetensors").path == Path("mine.safetensors")
    assert export(zoo.load("runs/mine"), "onnx").path == Path("resnet20.onnx")


@pytest.mark.parametrize("format", ["torchvision", "hf"])
def test_networks_that_others_do_not_have_are_refused(tmp_path: Path, format: str) -> None:
    with pytest.raises(zoo.ExportError, match="has no resnet20"):
        export(made("small"), format, tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("format", FORMATS)
def test_what_exists_is_not_overwritten(tmp_path: Path, format: str) -> None:
    path = tmp_path / f"m{FORMATS[format].suffix}"
    path.write_text("precious")
    with pytest.raises(zoo.ExportError, match="exists already"):
        export(made("basic"), format, path)
    assert path.read_text() == "precious"


def test_the_facts_beside_a_torchvision_file_are_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text("precious")
    with pytest.raises(zoo.ExportError, match=r"m\.json, for the classes, exists already"):
        export(made("basic"), "torchvision", tmp_path / "m.pth")
    assert [path.name for path in tmp_path.iterdir()] == ["m.json"]


def test_unknown_formats_and_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(zoo.ExportError, match="no format 'tflite'; expected one of safetensors"):
        export(made("basic"), "tflite", tmp_path / "m")
    with pytest.raises(zoo.ExportError, match="there is no folder"):
        export(made("basic"), "onnx", tmp_path / "absent" / "m.onnx")
    with pytest.raises(zoo.UnknownModelError):
        export("resnet21", "onnx", tmp_path / "m.onnx")


# ---- language models ---------------------------------------------------------------------------


def test_a_gpt2_folder_is_what_transformers_publishes(tmp_path: Path) -> None:
    model = zoo.load("gpt_shakespeare")
    done = export(model, "hf", tmp_path / "m")
    config = json.loads((done.path / "config.json").read_text("utf-8"))
    assert (config["model_type"], config["n_layer"], config["n_head"]) == (
        "gpt2", model.config.layers, model.config.heads,
    )  # fmt: skip
    assert config["eos_token_id"] == model.tokenizer.end
    state = hub.read_state_dict(done.path / "model.safetensors")
    assert set(state) == {f"transformer.{key}" for key in model.state_dict()}
    # Projections lie as published, (in, out): no shape of a square one would tell.
    square = "h.0.attn.c_proj.weight"
    assert np.array_equal(state[f"transformer.{square}"], model.state_dict()[square].numpy())
    again = zoo.load("gpt_shakespeare", done.path / "model.safetensors", **asdict(model.config))
    tokens = engine.asarray([[1, 2, 3]])
    with engine.no_grad():
        assert np.array_equal(model(tokens).numpy(), again(tokens).numpy())


def test_a_folders_tokenizer_is_the_models(tmp_path: Path) -> None:
    model = zoo.load("gpt_shakespeare")
    export(model, "hf", tmp_path / "m")
    assert load_tokenizer(tmp_path / "m").digest == model.tokenizer.digest


def test_gpt2s_tokenizer_files_are_the_published_ones_byte_for_byte(tmp_path: Path) -> None:
    save_tokenizer(gpt2_tokenizer(), tmp_path)
    assert {path.name: hub.sha256_file(path) for path in tmp_path.iterdir()} == {
        "vocab.json": "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783",
        "merges.txt": "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5",
    }


def test_a_safetensors_file_of_a_language_model_has_its_tokenizer(tmp_path: Path) -> None:
    model = zoo.load("gpt_nano", None, layers=1)
    done = export(model, "safetensors", tmp_path / "m.safetensors")
    again = zoo.load(done.path)
    assert again.config == model.config and again.tokenizer.digest == model.tokenizer.digest


@pytest.mark.parametrize("heads", [1, 3])
def test_onnx_runtime_gives_the_same_logits_of_text(tmp_path: Path, heads: int) -> None:
    import onnxruntime

    engine.manual_seed(0)
    model = zoo.load("gpt_nano", None, layers=2, width=12, heads=heads, vocab=300)
    for weight in model.parameters():  # far from where it starts, where attention is flat
        with engine.no_grad():
            weight.mul_(8.0)
    export(model, "onnx", tmp_path / "m.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
    tokens = np.random.default_rng(0).integers(0, 300, (3, 41))
    theirs = session.run(["logits"], {"tokens": tokens})[0]
    with engine.no_grad():
        ours = model(engine.asarray(tokens)).numpy()
    assert theirs.shape == (3, 41, 300)
    assert np.abs(ours - theirs).max() < 1e-4 * np.abs(ours).max()
    facts = session.get_modelmeta().custom_metadata_map
    assert json.loads(facts["config"])["heads"] == heads


def test_what_one_onnx_file_cannot_hold_is_refused(tmp_path: Path) -> None:
    with nn.init.skip_random():
        model = zoo.registry.get_arch("gpt2-large").build()
    model.arch = "gpt2-large"
    with pytest.raises(zoo.ExportError, match=r"3\.1 GB of weights, and one ONNX file holds 2 GB"):
        export(model, "onnx", tmp_path / "m.onnx")


def test_torchvision_has_no_language_model(tmp_path: Path) -> None:
    with pytest.raises(zoo.ExportError, match="torchvision has no gpt_nano"):
        export(zoo.load("gpt_nano", None), "torchvision", tmp_path / "m.pth")
