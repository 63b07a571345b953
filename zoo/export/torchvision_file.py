"""A state dict as torch.save writes it, with torchvision's key names."""

from __future__ import annotations

import json
from pathlib import Path

import hub
from zoo.errors import ExportError
from zoo.models.image_model import ImageModel
from zoo.models.resnet import ResNet
from zoo.models.zoo_model import ZooModel


def write(model: ZooModel, path: Path) -> list[str]:
    """Write PATH, and beside it PATH with the suffix .json: classes and preprocessing.

    Raises:
        ExportError: torchvision has no such network.
    """
    small = isinstance(model, ResNet) and model.config.small_images
    if small or not isinstance(model, ImageModel):
        raise ExportError(f"torchvision has no {model.arch}. Export its weights as another format.")
    facts = path.with_suffix(".json")
    if facts.exists() or facts == path:
        raise ExportError(f"{facts}, for the classes, exists already. Choose another --out PATH.")
    hub.write_pth(path, {key: value.numpy() for key, value in model.state_dict().items()})
    with hub.atomic_file(facts) as file:
        file.write(json.dumps(model.facts(), indent=2, ensure_ascii=False).encode() + b"\n")
    outputs = len(model.classes)
    return [
        f"Classes and preprocessing are in {facts}",
        f"Load it: net = torchvision.models.{model.arch}(num_classes={outputs}); "
        f'net.load_state_dict(torch.load("{path}"))',
    ]
