"""A folder as models are published on the Hugging Face hub: config.json and model.safetensors.

Image classifiers are laid out for timm, GPT-2 for transformers.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import hub
from hub.keymaps import KEY_MAPS
from zoo.errors import ExportError
from zoo.export import hf_gpt2
from zoo.models.gpt import GPT
from zoo.models.image_model import ImageModel
from zoo.models.resnet import ResNet
from zoo.models.vgg import VGG
from zoo.models.zoo_model import ZooModel


def write(model: ZooModel, path: Path) -> list[str]:
    """Write the folder PATH.

    Raises:
        ExportError: neither timm nor transformers has such a network.
    """
    small = isinstance(model, ResNet) and model.config.small_images
    if small or not isinstance(model, ImageModel | GPT):
        raise ExportError(
            f"timm has no {model.arch}. Its weights can be exported as safetensors or onnx."
        )
    try:
        path.mkdir()
        if isinstance(model, GPT):
            return hf_gpt2.write_files(model, path)
        return _write_timm(model, path)
    except BaseException:
        shutil.rmtree(path, ignore_errors=True)
        raise


def _write_timm(model: ImageModel, path: Path) -> list[str]:
    state = {key: value.numpy() for key, value in model.state_dict().items()}
    if isinstance(model, VGG):
        state = _timm_vgg(state, model)
    hub.write_safetensors(path / "model.safetensors", state, {"format": "pt"})
    with hub.atomic_file(path / "config.json") as file:
        file.write(json.dumps(_config(model), indent=2, ensure_ascii=False).encode() + b"\n")
    return [f'Load it: timm.create_model("local-dir:{path}", pretrained=True)']


def _timm_vgg(state: dict[str, Any], model: VGG) -> dict[str, Any]:
    """Names and shapes that KEY_MAPS["timm_vgg"] turns into those of the state."""
    layout, renamed = KEY_MAPS["timm_vgg"], {}
    for key, value in state.items():
        if key in layout.flattened:
            channels = model.num_features if key == layout.flattened[0] else value.shape[1]
            side = round((value.shape[1] / channels) ** 0.5)
            value = value.reshape(len(value), channels, side, side)
        for theirs, ours in layout.renames:
            if key.startswith(ours):
                key = theirs + key[len(ours) :]
                break
        renamed[key] = value
    return renamed


def _config(model: ImageModel) -> dict[str, Any]:
    prepared = model.preprocessing
    head = "head.fc" if isinstance(model, VGG) else model.classifier_name
    facts = model.facts()
    several: dict[str, Any] = {}
    if model.thresholds is not None:
        several = {
            "problem_type": "multi_label_classification",
            "thresholds": list(model.thresholds),
        }
    return {
        "architecture": model.arch,
        "num_classes": len(model.classes),
        "num_features": model.head_features,
        "label_names": list(model.classes),
        **several,
        "pretrained_cfg": {
            "input_size": [facts["config"].get("in_chans", 3), prepared.size, prepared.size],
            "crop_pct": prepared.size / prepared.resize,
            "interpolation": prepared.interpolation,
            "mean": list(prepared.mean),
            "std": list(prepared.std),
            "num_classes": len(model.classes),
            "first_conv": model.input_name,
            "classifier": head,
        },
    }
