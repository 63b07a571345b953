"""Models as ONNX graphs, with ONNX Runtime to check them where it is installed."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import engine
import hub
from zoo.errors import ExportError
from zoo.export import onnx_gpt, onnx_images
from zoo.export.onnx_graph import Graph
from zoo.models.gpt import GPT
from zoo.models.resnet import ResNet
from zoo.models.vgg import VGG
from zoo.models.zoo_model import ZooModel

OPSET = 17
_IR_VERSION = 8  # the first with that opset; newer ones are refused by older readers
_MOST_BYTES = 2**31 - 2**20  # what one protocol buffer can hold
_TOLERANCE = 1e-3  # of the largest output, float32 on both sides


def write(model: ZooModel, path: Path) -> list[str]:
    """Write the graph, and compare what ONNX Runtime makes of it with the model.

    Pictures go in normalised as the metadata's "preprocessing" says, text as tokens. Networks that
    end in a mean take pictures of any size, the others those of their preprocessing.

    Raises:
        ExportError: the family is not known here, the model has more than 2 GB, the onnx package is
            missing, or ONNX Runtime disagrees; nothing is left behind then.
    """
    if importlib.util.find_spec("onnx") is None:
        raise ExportError('the onnx package is missing. To get it, type: pip install "zoo[onnx]"')
    import onnx

    state = {key: value.numpy() for key, value in model.state_dict().items()}
    size = sum(array.nbytes for array in state.values())
    if size > _MOST_BYTES:
        raise ExportError(
            f"{model.arch} has {size / 1e9:.1f} GB of weights, and one ONNX file holds 2 GB. "
            "Export it as safetensors or hf."
        )
    graph = Graph(state)
    if isinstance(model, ResNet):
        onnx_images.draw_resnet(graph, model)
        given, made, example = onnx_images.ends(model)
    elif isinstance(model, VGG):
        onnx_images.draw_vgg(graph, model)
        given, made, example = onnx_images.ends(model)
    elif isinstance(model, GPT):
        onnx_gpt.draw_gpt(graph, model)
        given, made, example = onnx_gpt.ends(model)
    else:
        raise ExportError(f"{model.arch}: networks of its family cannot be exported to ONNX.")
    proto = graph.to_onnx(given, made, OPSET, _IR_VERSION)
    for key, value in model.facts().items():
        proto.metadata_props.add(key=key, value=json.dumps(value, ensure_ascii=False))
    onnx.checker.check_model(proto, full_check=True)
    content = proto.SerializeToString()
    notes = _compared(model, content, given[0], example)
    with hub.atomic_file(path, len(content)) as file:
        file.write(content)
    return [f"Takes {given[0]} {_shape(given[2])}, gives {made[0]} {_shape(made[2])}", *notes]


def _shape(sizes: tuple[Any, ...]) -> str:
    return "(" + ", ".join(str(size) for size in sizes) + ")"


def _compared(model: ZooModel, content: bytes, name: str, example: NDArray[Any]) -> list[str]:
    if importlib.util.find_spec("onnxruntime") is None:
        return ["Not compared with ONNX Runtime, which is not installed"]
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors only
    session = onnxruntime.InferenceSession(content, options, ["CPUExecutionProvider"])
    with engine.no_grad():
        ours = model(engine.asarray(example)).numpy()
    theirs = session.run(["logits"], {name: example})[0]
    difference = float(np.abs(ours - theirs).max() / np.abs(ours).max())
    if not difference < _TOLERANCE:
        raise ExportError(
            f"ONNX Runtime's outputs differ from the model's by {difference:.1e} of the largest, "
            f"expected less than {_TOLERANCE:g}; nothing was written. Please report this."
        )
    return [f"Compared with ONNX Runtime: outputs differ by {difference:.1e} of the largest"]
