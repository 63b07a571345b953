"""Weights of the reference implementation, saved in each format, give its logits after loading.

The state is seeded (reference/seeded.py), the logits are PyTorch's (reference/golden.npz).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import engine
import hub
import zoo
from tests.zoo.reference.cases import BATCH, CASES, CLASSES, SEED, build
from tests.zoo.reference.seeded import seeded_pictures, seeded_state
from tests.zoo.test_models_vgg import timm_layout
from zoo.models.image_model import ImageModel

GOLDEN = np.load(Path(__file__).parent / "reference" / "golden.npz", allow_pickle=False)
Arrays = dict[str, np.ndarray]


def state_of(model: ImageModel) -> Arrays:
    return seeded_state({key: value.shape for key, value in model.state_dict().items()}, SEED)


def without_counters(state: Arrays) -> Arrays:
    return {key: value for key, value in state.items() if not key.endswith("num_batches_tracked")}


# name: how a state dict becomes a file
FORMATS: dict[str, Callable[[Path, Arrays], None]] = {
    "safetensors": hub.write_safetensors,
    "pth": hub.write_pth,
    "pth of DataParallel": lambda path, state: hub.write_pth(
        path, {f"module.{key}": value for key, value in state.items()}
    ),
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
