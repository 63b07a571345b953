"""Weights of the reference implementation, saved in each format, give its logits after loading.

The state is seeded (reference/seeded.py), the logits are PyTorch's (reference/golden.npz). Files
of the two older formats that PyTorch itself wrote, or at least read, lie in reference/old_formats,
with what its network says after loading them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import engine
import hub
import zoo
from tests.hub.legacy_pth import legacy_file
from tests.hub.legacy_tar import tar_file, tar_members
from tests.zoo.reference import seeded_gpt
from tests.zoo.reference.cases import BATCH, CASES, CLASSES, SEED, build
from tests.zoo.reference.seeded import seeded_pictures, seeded_state
from tests.zoo.test_models_vgg import timm_layout
from zoo.models import gpt, vgg
from zoo.models.image_model import ImageModel

REFERENCE = Path(__file__).parent / "reference"
GOLDEN = np.load(REFERENCE / "golden.npz", allow_pickle=False)
GOLDEN_GPT = np.load(REFERENCE / "golden_gpt.npz", allow_pickle=False)
Arrays = dict[str, np.ndarray]


def state_of(model: ImageModel) -> Arrays:
    return seeded_state({key: value.shape for key, value in model.state_dict().items()}, SEED)


def without_counters(state: Arrays) -> Arrays:
    return {key: value for key, value in state.items() if not key.endswith("num_batches_tracked")}


# name: how a state dict becomes a file
FORMATS: dict[str, Callable[[Path, Arrays], object]] = {
    "safetensors": hub.write_safetensors,
    "pth": hub.write_pth,
    "pth of DataParallel": lambda path, state: hub.write_pth(
        path, {f"module.{key}": value for key, value in state.items()}
    ),
    "legacy pth": lambda path, state: path.write_bytes(legacy_file(state)),
    "tar pth": lambda path, state: path.write_bytes(tar_file(tar_members(state))),
    "old safetensors": lambda path, state: hub.write_safetensors(path, without_counters(state)),
}


def error(model: ImageModel, name: str) -> float:
    """Largest difference to the reference's logits, over the largest of them."""
    size = CASES[name].size
    x = engine.asarray(seeded_pictures((BATCH, 3, size, size), SEED))
    with engine.no_grad():
        logits = model.eval()(x).numpy()
    wanted = GOLDEN[f"{name}/eval_logits"]
    return float(np.abs(logits - wanted).max() / np.abs(wanted).max())


@pytest.mark.parametrize("name", ["resnet18", "resnet20"])
@pytest.mark.parametrize("form", FORMATS)
def test_residual_networks(tmp_path: Path, name: str, form: str) -> None:
    FORMATS[form](tmp_path / "w", state_of(build(name)))
    model = zoo.load(name, weights=tmp_path / "w")
    assert len(model.classes) == CLASSES and error(model, name) < 1e-4


@pytest.mark.parametrize("name", ["vgg13_bn", "vgg16"])
@pytest.mark.parametrize("timm", [False, True], ids=["torchvision", "timm"])
@pytest.mark.parametrize("form", FORMATS)
def test_plain_networks(tmp_path: Path, name: str, timm: bool, form: str) -> None:
    model = build(name)
    state = state_of(model)
    FORMATS[form](tmp_path / "w", timm_layout(state) if timm else state)
    stored = hub.read_state_dict(tmp_path / "w", writable=True)
    model.load_state_dict(
        hub.match_keys(stored, model.state_dict(), key_map=model.key_maps), assign=True
    )
    assert error(model, name) < 1e-4


@pytest.mark.parametrize("prefix", ["", "transformer."])
@pytest.mark.parametrize("form", FORMATS)
def test_language_models(tmp_path: Path, prefix: str, form: str) -> None:
    layers, width, heads = seeded_gpt.CASES["distilgpt2"]
    sizes = {"layers": layers, "width": width, "heads": heads, "vocab": seeded_gpt.VOCAB,
             "context": seeded_gpt.CONTEXT}  # fmt: skip
    model = gpt.build("distilgpt2", **sizes)
    state = seeded_gpt.seeded_gpt_state({k: v.shape for k, v in model.state_dict().items()})
    FORMATS[form](tmp_path / "w", {f"{prefix}{key}": value for key, value in state.items()})
    stored = hub.read_state_dict(tmp_path / "w", writable=True)
    model.load_state_dict(
        hub.match_keys(stored, model.state_dict(), key_map=model.key_maps), assign=True
    )
    with engine.no_grad():
        logits = model.eval()(engine.asarray(seeded_gpt.seeded_tokens())).numpy()
    wanted = GOLDEN_GPT["distilgpt2/logits"]
    assert np.abs(logits - wanted).max() < 1e-4 * np.abs(wanted).max()


@pytest.mark.parametrize("file", ["legacy.pth", "tar.pth"])
def test_files_of_the_older_formats(file: str) -> None:
    """Made by reference/make_old_formats.py."""
    config = replace(vgg.VARIANTS["vgg11_bn"], widths=(2, 3, 4, 5, 6), hidden=7)
    model = vgg.VGG(config, CLASSES)
    stored = hub.read_state_dict(REFERENCE / "old_formats" / file, writable=True)
    model.load_state_dict(
        hub.match_keys(stored, model.state_dict(), key_map=model.key_maps), assign=True
    )
    with engine.no_grad():
        logits = model.eval()(engine.asarray(seeded_pictures((BATCH, 3, 64, 64), SEED))).numpy()
    wanted = np.load(REFERENCE / "old_formats" / "logits.npy")
    assert np.abs(logits - wanted).max() < 1e-4 * np.abs(wanted).max()


@pytest.mark.peer
@pytest.mark.parametrize("write", [legacy_file, lambda s: tar_file(tar_members(s))])
def test_pytorch_reads_what_stands_for_its_older_formats(tmp_path: Path, write: Callable) -> None:
    import torch

    state = state_of(build("resnet20"))
    (tmp_path / "w").write_bytes(write(state))
    loaded = torch.load(tmp_path / "w", weights_only=write is legacy_file)
    assert list(loaded) == list(state)
    assert all(np.array_equal(loaded[name].numpy(), state[name]) for name in state)


@pytest.mark.peer
@pytest.mark.parametrize("zip_format", [True, False])
def test_what_pytorch_saves_gives_its_logits(tmp_path: Path, zip_format: bool) -> None:
    import torch

    from tests.zoo.reference.make_golden import network

    theirs = network("resnet20").eval()
    path = tmp_path / "w.pth"
    torch.save(theirs.state_dict(), path, _use_new_zipfile_serialization=zip_format)
    ours = zoo.load("resnet20", path)
    x = seeded_pictures((BATCH, 3, 32, 32), SEED)
    with torch.no_grad(), engine.no_grad():
        wanted = theirs(torch.from_numpy(x)).numpy()
        assert np.abs(ours(engine.asarray(x)).numpy() - wanted).max() < 1e-4 * np.abs(wanted).max()
