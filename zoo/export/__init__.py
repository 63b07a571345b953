"""Trained and published models as files of other programs: `zoo export`."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from zoo.errors import ExportError

if TYPE_CHECKING:
    from zoo.models.zoo_model import ZooModel


@dataclass(frozen=True)
class Format:
    """One way to write a model.

    >>> FORMATS["onnx"].suffix
    '.onnx'
    """

    suffix: str  # of the file or folder
    text: str  # what it is, for help
    module: str  # of zoo.export; its `write` does it

    @property
    def write(self) -> Callable[[ZooModel, Path], list[str]]:
        """Writes a model at a path; returns what there is to say about it."""
        return import_module(f"zoo.export.{self.module}").write


FORMATS = {
    "safetensors": Format(
        ".safetensors", "weights, with classes and preprocessing in the header", "safetensors_file"
    ),
    "torchvision": Format(
        ".pth", "state dict for torchvision's model of that name, and a .json", "torchvision_file"
    ),
    "hf": Format("-hf", "folder for timm or, of GPT-2, for transformers", "hf_folder"),
    "onnx": Format(".onnx", "graph with weights, for ONNX Runtime and others", "onnx_file"),
}


@dataclass(frozen=True, repr=False)
class Exported:
    """What was written.

    >>> export("run1", "onnx").path     # doctest: +SKIP
    PosixPath('run1.onnx')
    """

    path: Path
    bytes: int  # of the file, or of the folder's files
    notes: tuple[str, ...]  # what there is to say about it

    def __repr__(self) -> str:
        return f"<{self.path}, {self.bytes:,} bytes{''.join(f'; {note}' for note in self.notes)}>"


def export(
    model: str | os.PathLike[str] | ZooModel,
    format: str,
    out: str | os.PathLike[str] | None = None,
) -> Exported:
    """Write a model in a format of other programs.

    Args:
        model: a finished run (its folder or weights file), a name from `zoo list` with its
            published weights, or a model that `zoo.load` gave.
        format: a key of FORMATS.
        out: where to; None for the run's or model's name and the format's suffix, in the current
            folder. It must not exist.

    Raises:
        ExportError: there is something at `out`, the format cannot hold this model, or a package
            is missing. Nothing is written.
        zoo.LoadError, hub.HubError: the model cannot be loaded.

    >>> export("runs/resnet50-1", "onnx").path                                # doctest: +SKIP
    PosixPath('resnet50-1.onnx')
    """
    if format not in FORMATS:
        raise ExportError(f"there is no format {format!r}; expected one of {', '.join(FORMATS)}")
    chosen = FORMATS[format]
    path = Path(_name(model) + chosen.suffix if out is None else out)
    if path.exists():
        raise ExportError(f"{path} exists already. Remove it, or choose another place: --out PATH")
    if not path.parent.is_dir():
        raise ExportError(f"{path}: there is no folder {path.parent}. Create it first.")
    from zoo.loading import load

    loaded = load(model) if isinstance(model, str | os.PathLike) else model
    loaded.eval()
    notes = chosen.write(loaded, path)
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return Exported(path, sum(file.stat().st_size for file in files), tuple(notes))


def _name(model: str | os.PathLike[str] | ZooModel) -> str:
    if not isinstance(model, str | os.PathLike):
        return model.arch
    path = Path(model)
    if path.is_file():  # runs/NAME/model.safetensors
        path = path.absolute().parent
    return path.absolute().name if path.exists() else path.name
