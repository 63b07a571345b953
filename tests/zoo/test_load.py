"""zoo.load: names, cards, files, runs, new last layers, and every way it can refuse."""

from __future__ import annotations

import json
import os
import pickle
import sys
import types
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine
import hub
import zoo
from zoo.data.transforms import Preprocessing

Arrays = dict[str, np.ndarray]

CARD = """---
name: {name}
arch: {arch}
default: {default}
files:
  - url: https://weights.example/{name}.safetensors
    format: safetensors
    sha256: "{sha256}"
    verified: full
input: {{size: 32, resize: 36, crop: 32, interpolation: bicubic, mean: [0.1, 0.2, 0.3],
        std: [0.4, 0.5, 0.6]}}
classes: {{number: 3, labels: pets, names: [cat, dog, owl]}}
metrics: [{{dataset: pets, top1: 90.0, size: 32}}]
params: 1
license: MIT
source: https://weights.example
---
A card for tests.
"""


def weights_of(arch: str, classes: int, seed: int = 0, **options: Any) -> Arrays:
    engine.manual_seed(seed)
    model = zoo.load(arch, weights=None, num_classes=classes, **options)
    return {key: value.numpy() for key, value in model.state_dict().items()}


def same(model: Any, state: Arrays, but: str = "\0") -> bool:
    """Whether the model holds these values, apart from keys that start with `but`."""
    own = model.state_dict()
    return all(
        np.array_equal(own[key].numpy(), value)
        for key, value in state.items()
        if not key.startswith(but)
    )


@pytest.fixture
def state() -> Arrays:
    return weights_of("resnet20", 3)


@pytest.fixture
def cards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: Arrays) -> Path:
    """Two cards of resnet20, whose files are in the cache, and one of resnet32, whose is not."""
    folder, blobs = tmp_path / "cards", tmp_path / "home" / "blobs"
    folder.mkdir()
    blobs.mkdir(parents=True)
    monkeypatch.setattr("hub.cards.cards_folder", lambda: folder)
    monkeypatch.setenv("ZOO_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ZOO_OFFLINE", "1")
    for name, arch, default, content in [
        ("resnet20.first", "resnet20", False, weights_of("resnet20", 3, seed=1)),
        ("resnet20.second", "resnet20", True, state),
        ("resnet32.only", "resnet32", True, None),
    ]:
        digest = "0" * 64
        if content is not None:
            hub.write_safetensors(tmp_path / "file", content)
            digest = hub.sha256_file(tmp_path / "file")
            os.replace(tmp_path / "file", blobs / digest)
        text = CARD.format(name=name, arch=arch, default=str(default).lower(), sha256=digest)
        (folder / f"{name}.md").write_text(text)
    return folder


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def writer(state: Arrays, name: str = "w.safetensors", **facts: Any) -> Path:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        hub.write_safetensors(path, state, {k: json.dumps(v) for k, v in facts.items()})
        return path

    return writer


RUN = {
    "arch": "resnet20",
    "classes": ["10", "9", "2"],
    "preprocessing": Preprocessing(size=40, resize=48, interpolation="bicubic").to_dict(),
}


@pytest.fixture
def run(write: Callable[..., Path], state: Arrays) -> Path:
    """The folder of a finished run."""
    return write(state, "run/model.safetensors", **RUN).parent


# ---- random values -----------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [None, "none"])
def test_random_values_on_request(weights: str | None) -> None:
    model = zoo.load("resnet20", weights=weights, num_classes=4)
    assert (model.arch, model.card, model.training) == ("resnet20", None, False)
    assert model.classes == ("0", "1", "2", "3") and model.fc.out_features == 4
    assert model.source == {"name": "random values", "sha256": None}


@pytest.mark.parametrize("arch, size, resize", [("resnet18", 224, 256), ("resnet20", 32, 32)])
def test_random_models_get_the_pictures_they_were_designed_for(arch, size, resize) -> None:
    model = zoo.load(arch, weights=None)
    assert (model.preprocessing.size, model.preprocessing.resize) == (size, resize)


def test_the_seed_decides_random_values() -> None:
    assert np.array_equal(weights_of("resnet20", 3, 5)["fc.weight"],
                          weights_of("resnet20", 3, 5)["fc.weight"])  # fmt: skip


# ---- cards -------------------------------------------------------------------------------------


def test_default_is_the_default_card(cards: Path, state: Arrays) -> None:
    model = zoo.load("resnet20")
    assert same(model, state)
    assert model.card.name == model.source["name"] == "resnet20.second"
    assert model.classes == ("cat", "dog", "owl") and model.notices == ()
    assert not model.training


def test_preprocessing_comes_from_the_card(cards: Path) -> None:
    assert zoo.load("resnet20").preprocessing == Preprocessing(
        32, 36, "bicubic", (0.1, 0.2, 0.3), (0.4, 0.5, 0.6)
    )


def test_the_source_names_the_files_digest(cards: Path) -> None:
    model = zoo.load("resnet20")
    assert model.source["sha256"] == model.card.files[0].sha256


@pytest.mark.parametrize(
    "call", [lambda: zoo.load("resnet20.first"), lambda: zoo.load("resnet20", "resnet20.first")]
)
def test_another_card_by_its_name(cards: Path, state: Arrays, call) -> None:
    model = call()
    assert model.card.name == "resnet20.first" and not same(model, state)


def test_other_classes_get_a_new_last_layer_and_a_notice(cards: Path, state: Arrays, caplog):
    with caplog.at_level("INFO", logger="zoo"):
        model = zoo.load("resnet20", num_classes=5)
    assert same(model, state, but="fc.")
    assert model.fc.weight.shape == (5, 64) and model.classes == ("0", "1", "2", "3", "4")
    notice = "new last layer for 5 classes; resnet20.second has one for 3"
    assert model.notices == (notice,) and notice in caplog.text


def test_the_seed_decides_the_new_last_layer(cards: Path) -> None:
    def head(seed: int) -> list[list[float]]:
        engine.manual_seed(seed)
        return zoo.load("resnet20", num_classes=5).fc.weight.tolist()

    assert head(1) == head(1) != head(2)


def test_the_same_number_of_classes_keeps_the_last_layer(cards: Path, state: Arrays) -> None:
    assert same(zoo.load("resnet20", num_classes=3), state)


def test_an_architecture_without_card_says_so(cards: Path) -> None:
    with pytest.raises(zoo.NoPublishedWeights, match="no published weights for resnet110.*'none'"):
        zoo.load("resnet110")


def test_a_card_of_another_architecture_is_refused(cards: Path) -> None:
    with pytest.raises(zoo.ArchMismatch, match=r"resnet32\.only holds weights of resnet32"):
        zoo.load("resnet20", weights="resnet32.only")


def test_weights_that_are_not_at_hand_are_the_hubs_error(cards: Path) -> None:
    with pytest.raises(hub.OfflineError, match=r"resnet32\.only"):
        zoo.load("resnet32")


def test_unknown_weights_list_the_cards(cards: Path) -> None:
    with pytest.raises(zoo.WeightsNotFound, match=r"'imagenet'.*resnet20\.second, resnet20\.first"):
        zoo.load("resnet20", weights="imagenet")


@pytest.mark.parametrize("name", ["resnet21", "resnet20.secnd"])
def test_unknown_names_get_near_ones(cards: Path, name: str) -> None:
    with pytest.raises(zoo.UnknownModelError, match="did you mean") as caught:
        zoo.load(name)
    assert {"resnet20", "resnet20.second"} & set(caught.value.near)


# ---- files -------------------------------------------------------------------------------------


def test_a_foreign_file_decides_the_number_of_classes(write, state: Arrays) -> None:
    path = write(state)
    model = zoo.load("resnet20", weights=path)
    assert same(model, state) and model.classes == ("0", "1", "2")
    assert model.source == {"name": str(path), "sha256": hub.sha256_file(path)}


def test_a_file_can_give_its_body_to_other_classes(write, state: Arrays) -> None:
    model = zoo.load("resnet20", weights=write(state), num_classes=7)
    assert same(model, state, but="fc.") and model.fc.out_features == 7


def test_a_body_without_last_layer_needs_a_number_of_classes(write, state: Arrays) -> None:
    path = write({key: value for key, value in state.items() if not key.startswith("fc.")})
    assert same(zoo.load("resnet20", weights=path, num_classes=7), state, but="fc.")
    with pytest.raises(zoo.WeightsDoNotFit, match="2 missing"):
        zoo.load("resnet20", weights=path)


@pytest.mark.parametrize("prefix", ["module.", "model.", "module.model."])
def test_prefixed_keys_load_the_same(write, state: Arrays, prefix: str) -> None:
    """Field case B-05."""
    path = write({prefix + key: value for key, value in state.items()})
    assert same(zoo.load("resnet20", weights=path), state)


def test_keys_without_any_match_are_refused(write, state: Arrays) -> None:
    """Field case B-05: zero matched keys is never success."""
    path = write({f"encoder_{key}": value for key, value in state.items()})
    with pytest.raises(hub.KeyMismatch, match="does not fit this model"):
        zoo.load("resnet20", weights=path)


def test_missing_and_unexpected_keys_are_listed(write, state: Arrays) -> None:
    state["layer1.0.conv9.weight"] = state.pop("layer1.0.conv1.weight")
    with pytest.raises(zoo.WeightsDoNotFit, match=r"1 missing, 1 unexpected") as caught:
        zoo.load("resnet20", weights=write(state))
    assert "layer1.0.conv1.weight" in str(caught.value)


def test_half_precision_files_are_widened(write, state: Arrays) -> None:
    halves = {k: v.astype(np.float16) if v.dtype == np.float32 else v for k, v in state.items()}
    model = zoo.load("resnet20", weights=write(halves))
    assert model.fc.weight.dtype == engine.float32
    assert same(model, {key: value.astype(np.float32) for key, value in halves.items()})


def test_old_files_may_lack_num_batches_tracked(write, state: Arrays) -> None:
    old = {key: value for key, value in state.items() if not key.endswith("tracked")}
    assert same(zoo.load("resnet20", weights=write(old)), old)


def test_weights_of_another_size_name_the_architecture_they_fit(write) -> None:
    path = write(weights_of("resnet32", 10))
    with pytest.raises(zoo.WeightsDoNotFit, match="names and shapes of resnet32: load it as that"):
        zoo.load("resnet20", weights=path)


@pytest.mark.parametrize("name", ["absent.safetensors", "./absent", "absent.pth"])
def test_a_file_that_does_not_exist_is_named(name: str) -> None:
    with pytest.raises(zoo.WeightsNotFound, match=f"{Path(name).name}: no such file"):
        zoo.load("resnet20", weights=name)


def test_a_folder_without_weights_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(zoo.WeightsNotFound, match=r"no model.safetensors in this folder"):
        zoo.load("resnet20", weights=tmp_path)


def test_a_pth_file_loads_like_any_other(tmp_path, monkeypatch, state: Arrays) -> None:
    path = tmp_path / "w.pth"
    write_pth(path, state, monkeypatch)
    assert same(zoo.load("resnet20", weights=path), state)


def test_a_truncated_pth_file_is_the_hubs_error(tmp_path, monkeypatch, state: Arrays) -> None:
    path = tmp_path / "w.pth"
    write_pth(path, state, monkeypatch)
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(hub.CorruptCheckpoint, match=r"w\.pth"):
        zoo.load("resnet20", weights=path)


def write_pth(path: Path, state: Arrays, monkeypatch: pytest.MonkeyPatch) -> None:
    """A zip archive as torch.save writes it, without torch: the names are all that pickle sees."""
    torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")

    def rebuild(*args: Any) -> None:
        raise AssertionError("only named, never called")

    rebuild.__module__, rebuild.__qualname__ = "torch._utils", "_rebuild_tensor_v2"
    utils._rebuild_tensor_v2 = rebuild
    for kind in ("FloatStorage", "LongStorage"):
        setattr(torch, kind, type(kind, (), {"__module__": "torch"}))
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "torch._utils", utils)

    class Storage:
        def __init__(self, key: str, array: np.ndarray) -> None:
            self.key, self.array = key, array

    class TensorOf:
        def __init__(self, storage: Storage) -> None:
            self.storage = storage

        def __reduce__(self) -> Any:
            a = self.storage.array
            strides = tuple(step // a.itemsize for step in a.strides)
            return rebuild, (self.storage, 0, a.shape, strides, False, {})

    class Pickler(pickle.Pickler):
        def persistent_id(self, obj: Any) -> Any:
            if not isinstance(obj, Storage):
                return None
            kind = torch.FloatStorage if obj.array.dtype == np.float32 else torch.LongStorage
            return "storage", kind, obj.key, "cpu", obj.array.size

    storages = {key: Storage(str(i), value) for i, (key, value) in enumerate(state.items())}
    with zipfile.ZipFile(path, "w") as archive:
        with archive.open("archive/data.pkl", "w") as file:
            Pickler(file, 2).dump({key: TensorOf(s) for key, s in storages.items()})
        archive.writestr("archive/byteorder", "little")
        for storage in storages.values():
            archive.writestr(f"archive/data/{storage.key}", storage.array.tobytes())
        archive.writestr("archive/version", "3\n")


# ---- runs --------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", ["folder", "file"])
def test_a_run_brings_its_classes_and_preprocessing(run: Path, state: Arrays, which: str) -> None:
    model = zoo.load(run if which == "folder" else run / "model.safetensors")
    assert same(model, state)
    assert (model.arch, model.classes) == ("resnet20", ("10", "9", "2"))
    assert model.preprocessing == Preprocessing(40, 48, "bicubic")


def test_a_run_can_be_named_as_weights(run: Path, state: Arrays) -> None:
    model = zoo.load("resnet20", weights=run)
    assert same(model, state) and model.classes == ("10", "9", "2")


def test_a_run_gives_its_body_to_other_classes_when_named_as_weights(run: Path, state: Arrays):
    model = zoo.load("resnet20", weights=run, num_classes=4)
    assert same(model, state, but="fc.") and model.classes == ("0", "1", "2", "3")
    assert "new last layer" in model.notices[0]
    assert model.preprocessing == Preprocessing(40, 48, "bicubic")


def test_a_run_itself_cannot_have_other_classes(run: Path) -> None:
    with pytest.raises(zoo.ClassCountMismatch, match=r"3 classes \(10, 9, 2\), not 4.*num_classes"):
        zoo.load(run, num_classes=4)


def test_a_run_of_another_architecture_is_refused(run: Path) -> None:
    with pytest.raises(zoo.ArchMismatch, match="holds weights of resnet20, not of resnet32"):
        zoo.load("resnet32", weights=run)


def test_a_run_takes_no_other_weights(run: Path) -> None:
    with pytest.raises(zoo.LoadError, match="a run has its own weights"):
        zoo.load(run, weights="none")


def test_a_foreign_file_is_no_run(write, state: Arrays) -> None:
    with pytest.raises(zoo.LoadError, match=r"does not say which architecture.*zoo.load\(ARCH"):
        zoo.load(write(state))


def test_damaged_metadata_is_named(write, state: Arrays) -> None:
    facts = {**RUN, "preprocessing": {"size": 40, "colour": "blue"}}
    with pytest.raises(zoo.LoadError, match=r"metadata cannot be read.*unknown colour"):
        zoo.load(write(state, **facts))


def test_an_option_the_architecture_lacks_is_refused_before_a_download(cards: Path) -> None:
    with pytest.raises(zoo.UnknownOption, match="resnet32 has no option 'depth'; it takes num_cl"):
        zoo.load("resnet32", depth=3)


def test_options_reach_the_builder(cards: Path, state: Arrays) -> None:
    model = zoo.load("resnet20", weights=None, zero_init_residual=True)
    assert (model.layer1[0].bn2.weight.detach().numpy() == 0).all()
    assert same(zoo.load("resnet20", zero_init_residual=True), state)


def test_the_config_of_a_run_builds_its_model(write, state: Arrays) -> None:
    thin = weights_of("resnet20", 3, in_chans=1)
    path = write(thin, **{**RUN, "config": {"num_classes": 3, "in_chans": 1}})
    assert same(zoo.load(path), thin)


def test_a_number_of_classes_below_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="num_classes=-1"):
        zoo.load("resnet20", weights=None, num_classes=-1)


# ---- lists -------------------------------------------------------------------------------------


def test_list_models_by_pattern() -> None:
    assert zoo.list_models("*net5*") == ["resnet50", "wide_resnet50_2", "resnet56"]


def test_list_models_by_task() -> None:
    assert zoo.list_models("resnet1*", task="image-classification") == zoo.list_models("resnet1*")
    assert zoo.list_models("resnet*", task="text-generation") == []


def test_list_pretrained_gives_cards_default_first(cards: Path) -> None:
    wanted = ["resnet20.second", "resnet20.first", "resnet32.only"]
    assert zoo.list_models(pretrained=True) == wanted
    assert zoo.list_models("resnet20", pretrained=True) == wanted[:2]
    assert zoo.list_models("*.first", pretrained=True) == ["resnet20.first"]


def test_every_card_is_of_a_known_architecture_with_its_size() -> None:
    for card in hub.load_cards().values():
        arch = zoo.registry.get_arch(card.name)
        assert arch.name == card.arch
        with engine.nn.init.skip_random():
            model = arch.build(**card.config)
        assert model.num_parameters == card.params, card.name
        if card.classes:
            assert model.get_classifier().out_features == card.classes.number, card.name
        if card.text:
            assert (model.context, model.vocab) == (card.text.context, card.text.vocabulary)


def test_check_name_accepts_architectures_and_cards(cards: Path) -> None:
    zoo.registry.check_name("resnet50")
    zoo.registry.check_name("resnet20.first")


def test_the_namespace_has_what_it_lists() -> None:
    assert all(hasattr(zoo, name) for name in zoo.__all__)
    with pytest.raises(AttributeError, match="no attribute 'laod'"):
        zoo.laod  # noqa: B018
