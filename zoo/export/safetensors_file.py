"""One .safetensors file: published key names, and in the header what makes it a model again."""

from __future__ import annotations

import json
from pathlib import Path

import hub
from zoo.models.zoo_model import ZooModel


def write(model: ZooModel, path: Path) -> list[str]:
    """Write the weights and facts of a model; `zoo.load(path)` gives it back."""
    metadata = {key: json.dumps(value, ensure_ascii=False) for key, value in model.facts().items()}
    metadata["format"] = "pt"  # some readers refuse files that do not name a framework's layout
    hub.write_safetensors(path, {k: v.numpy() for k, v in model.state_dict().items()}, metadata)
    return []
