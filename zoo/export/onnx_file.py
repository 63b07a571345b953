"""Image classifiers as ONNX graphs, with ONNX Runtime to check them where it is installed."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np

import engine
import hub
from zoo.errors import ExportError
from zoo.export.onnx_graph import Graph
from zoo.models.image_model import ImageModel
from zoo.models.zoo_model import ZooModel

OPSET = 17
_IR_VERSION = 8  # the first with that opset; newer ones are refused by older readers
_TOLERANCE = 1e-3  # of the largest output, float32 on both sides


def write(model: ZooModel, path: Path) -> list[str]:
    """Write the graph, and compare what ONNX Runtime makes of it with the model.

    The input "pixels" is (N, C, H, W) float32, normalised as the metadata's "preprocessing" says;
    the output "logits" is (N, number of classes). Networks that end in a mean take any H and W,
    the others those of their preprocessing.

    Raises:
        ExportError: the network is no image classifier, the onnx package is missing, or ONNX
            Runtime disagrees; nothing is left behind then.
    """
    if not isinstance(model, ImageModel):
        raise ExportError(f"{model.arch} is no image classifier, and only those can be exported.")
    if importlib.util.find_spec("onnx") is None:
        raise ExportError('the onnx package is missing. To get it, type: pip install "zoo[onnx]"')
    import onnx

    graph = Graph(model)
    made = graph.to_onnx(OPSET, _IR_VERSION)
    for key, value in model.facts().items():
        made.metadata_props.add(key=key, value=json.dumps(value, ensure_ascii=False))
    onnx.checker.check_model(made, full_check=True)
    content = made.SerializeToString()
    notes = _compared(model, content, graph.sides)
    with hub.atomic_file(path, len(content)) as file:
        file.write(content)
    size = " x ".join(str(side) for side in graph.sides) if graph.fixed else "any size"
    return [f"Takes normalised pictures of {size}, any number at once", *notes]


def _compared(model: ImageModel, content: bytes, sides: tuple[int, int]) -> list[str]:
    if importlib.util.find_spec("onnxruntime") is None:
        return ["Not compared with ONNX Runtime, which is not installed"]
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors only
    session = onnxruntime.InferenceSession(content, options, ["CPUExecutionProvider"])
    channels = session.get_inputs()[0].shape[1]
    x = np.random.default_rng(0).standard_normal((2, channels, *sides), np.float32)
    with engine.no_grad():
        ours: Any = model(engine.asarray(x)).numpy()
    theirs = session.run(["logits"], {"pixels": x})[0]
    difference = float(np.abs(ours - theirs).max() / np.abs(ours).max())
    if not difference < _TOLERANCE:
        raise ExportError(
            f"ONNX Runtime's outputs differ from the model's by {difference:.1e} of the largest, "
            f"expected less than {_TOLERANCE:g}; nothing was written. Please report this."
        )
    return [f"Compared with ONNX Runtime: outputs differ by {difference:.1e} of the largest"]
