"""`model.safetensors`: the best weights of a run, with all that is needed to use them.

Tensors have the published key names, so other libraries load the file as it is. The metadata holds,
as JSON texts: arch, config, classes (names in index order), preprocessing, thresholds (where
pictures may have several labels), step, recipe (the settings), source (the weights that training
started from, with their SHA-256), data (what was trained on, with its fingerprint), result and
versions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hub
from zoo.train.checkpoint import as_arrays, cannot_save
from zoo.train.provenance import versions

if TYPE_CHECKING:
    from zoo.models.image_model import ImageModel


def save_weights(
    path: Path,
    model: ImageModel,
    *,
    recipe: Mapping[str, Any],
    origin: Mapping[str, Any],
    result: Mapping[str, Any],
) -> None:
    """Write a model's weights and description, whole or not at all. Equal runs give equal bytes.

    Args:
        path: of the file; an old one stays until the new one is whole.
        model: with `arch`, `classes` and `preprocessing` set.
        recipe: settings of the run.
        origin: with `source` and `data`; see the module's text.
        result: step, epoch, accuracy and loss of these weights.

    Raises:
        CannotSave: with the system's reason.
    """
    facts = {
        "arch": model.arch,
        "config": {"num_classes": len(model.classes)},
        "classes": list(model.classes),
        "preprocessing": model.preprocessing.to_dict(),
        "step": result["step"],
        "recipe": recipe,
        "source": origin["source"],
        "data": origin["data"],
        "result": result,
        "versions": versions(),
    }
    if model.thresholds is not None:
        facts["thresholds"] = list(model.thresholds)
    metadata = {key: json.dumps(value, ensure_ascii=False) for key, value in facts.items()}
    metadata["format"] = "pt"  # some readers refuse files that do not name a framework's layout
    try:
        hub.write_safetensors(path, as_arrays(model.state_dict()), metadata)
    except OSError as error:
        raise cannot_save(path, error) from error
