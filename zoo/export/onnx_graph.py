"""Image classifiers as ONNX nodes: one method per layer, one function per family."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine import nn
from zoo.errors import ExportError
from zoo.models.image_model import ImageModel
from zoo.models.resnet import BasicBlock, Bottleneck, PadShortcut, ResNet
from zoo.models.vgg import VGG

_END = np.iinfo(np.int64).max
_POOLED = 7  # side of the maps that VGG's fully connected layers see, pixels


class Graph:
    """The nodes of a model and the arrays they use; weights have their state-dict keys as names.

    Attributes:
        fixed: whether pictures must have the sides of the model's preprocessing.
        sides: rows and columns of the pictures, pixels.

    Raises:
        ExportError: the family is not known here.
    """

    def __init__(self, model: ImageModel) -> None:
        self._state = {key: value.numpy() for key, value in model.state_dict().items()}
        self._nodes: list[tuple[str, list[str], str, dict[str, Any]]] = []
        self._arrays: dict[str, NDArray[Any]] = {}
        self._channels = self._state[f"{model.input_name}.weight"].shape[1]
        self._outputs = len(model.classes) or model.head_features
        self.sides = (model.preprocessing.size, model.preprocessing.size)
        self.fixed = isinstance(model, VGG)
        if isinstance(model, ResNet):
            self._resnet(model)
        elif isinstance(model, VGG):
            self._vgg(model)
        else:
            raise ExportError(f"{model.arch}: networks of its family cannot be exported to ONNX.")

    def to_onnx(self, opset: int, ir_version: int) -> Any:
        """The whole as an onnx.ModelProto."""
        from onnx import TensorProto, helper, numpy_helper

        rows, columns = self.sides if self.fixed else ("height", "width")
        nodes = [
            helper.make_node(kind, inputs, [output], name=output, **attributes)
            for kind, inputs, output, attributes in self._nodes
        ]
        pixels = helper.make_tensor_value_info(
            "pixels", TensorProto.FLOAT, ["batch", self._channels, rows, columns]
        )
        logits = helper.make_tensor_value_info(
            "logits", TensorProto.FLOAT, ["batch", self._outputs]
        )
        arrays = [
            numpy_helper.from_array(np.ascontiguousarray(array), name)
            for name, array in self._arrays.items()
        ]
        graph = helper.make_graph(nodes, "zoo", [pixels], [logits], arrays)
        imports = [helper.make_opsetid("", opset)]
        return helper.make_model(
            graph, producer_name="zoo", opset_imports=imports, ir_version=ir_version
        )

    # ---- layers: each takes and gives the name of a value ----------------------------------------

    def _node(self, kind: str, inputs: list[str], name: str = "", **attributes: Any) -> str:
        output = name or f"{kind}_{len(self._nodes)}"
        self._nodes.append((kind, inputs, output, attributes))
        return output

    def _weights(self, layer: str, *names: str) -> list[str]:
        keys = [f"{layer}.{name}" for name in names if f"{layer}.{name}" in self._state]
        for key in keys:
            self._arrays[key] = self._state[key]
        return keys

    def _constant(self, name: str, values: Any, dtype: Any = np.int64) -> str:
        self._arrays[name] = np.asarray(values, dtype)
        return name

    def _conv(self, x: str, name: str, layer: nn.Conv2d) -> str:
        assert not isinstance(layer.padding, str)
        return self._node(
            "Conv",
            [x, *self._weights(name, "weight", "bias")],
            kernel_shape=layer.kernel_size,
            strides=layer.stride,
            pads=(*layer.padding, *layer.padding),
            dilations=layer.dilation,
            group=layer.groups,
        )

    def _norm(self, x: str, name: str, layer: nn.BatchNorm2d) -> str:
        weights = self._weights(name, "weight", "bias", "running_mean", "running_var")
        return self._node("BatchNormalization", [x, *weights], epsilon=layer.eps)

    def _relu(self, x: str) -> str:
        return self._node("Relu", [x])

    def _linear(self, x: str, name: str) -> str:
        return self._node("Gemm", [x, *self._weights(name, "weight", "bias")], transB=1)

    def _name_output(self, x: str) -> None:
        self._node("Identity", [x], "logits")

    # ---- families --------------------------------------------------------------------------------

    def _resnet(self, model: ResNet) -> None:
        x = self._relu(self._norm(self._conv("pixels", "conv1", model.conv1), "bn1", model.bn1))
        if not model.config.small_images:
            x = self._node("MaxPool", [x], kernel_shape=(3, 3), strides=(2, 2), pads=(1, 1, 1, 1))
        for stage in model.stages:
            for number, block in enumerate(getattr(model, stage)):
                x = self._block(x, f"{stage}.{number}", block)
        x = self._node("Flatten", [self._node("GlobalAveragePool", [x])])
        self._name_output(self._linear(x, "fc") if isinstance(model.fc, nn.Linear) else x)

    def _block(self, x: str, name: str, block: BasicBlock | Bottleneck) -> str:
        shortcut, count = x, 3 if isinstance(block, Bottleneck) else 2
        for i in range(1, count + 1):
            conv, norm = getattr(block, f"conv{i}"), getattr(block, f"bn{i}")
            x = self._norm(self._conv(x, f"{name}.conv{i}", conv), f"{name}.bn{i}", norm)
            x = self._relu(x) if i < count else x
        down = block.downsample
        if isinstance(down, PadShortcut):
            shortcut = self._pad_shortcut(shortcut, name, down)
        elif down is not None:
            conv, norm = down  # type: ignore[misc, has-type]
            shortcut = self._conv(shortcut, f"{name}.downsample.0", conv)
            shortcut = self._norm(shortcut, f"{name}.downsample.1", norm)
        return self._relu(self._node("Add", [x, shortcut]))

    def _pad_shortcut(self, x: str, name: str, layer: PadShortcut) -> str:
        slices = {"starts": (0, 0), "ends": (_END, _END), "axes": (2, 3)} | {
            "steps": (layer.stride, layer.stride)
        }
        inputs = [self._constant(f"{name}.{key}", value) for key, value in slices.items()]
        x = self._node("Slice", [x, *inputs])
        pads = self._constant(f"{name}.pads", (0, 0, 0, 0, 0, layer.new_channels, 0, 0))
        return self._node("Pad", [x, pads])

    def _vgg(self, model: VGG) -> None:
        x, sides = "pixels", list(self.sides)
        for number, layer in enumerate(model.features):
            if isinstance(layer, nn.Conv2d):
                x = self._conv(x, f"features.{number}", layer)
            elif isinstance(layer, nn.BatchNorm2d):
                x = self._norm(x, f"features.{number}", layer)
            elif isinstance(layer, nn.MaxPool2d):
                x = self._node("MaxPool", [x], kernel_shape=(2, 2), strides=(2, 2))
                sides = [side // 2 for side in sides]
            else:
                x = self._relu(x)
        x = self._averaged(x, sides)
        x = self._node("Flatten", [x])
        for number, layer in enumerate(model.classifier.children()):
            if isinstance(layer, nn.Linear):
                x = self._linear(x, f"classifier.{number}")
            elif isinstance(layer, nn.ReLU):
                x = self._relu(x)
        self._name_output(x)

    def _averaged(self, x: str, sides: list[int]) -> str:
        """Maps of these sides, averaged to 7x7 as adaptive_avg_pool2d does: P x Q."""
        if sides == [_POOLED, _POOLED]:
            return x
        rows = self._constant("averages.rows", _averages(sides[0]), np.float32)
        columns = self._constant("averages.columns", _averages(sides[1]).T, np.float32)
        return self._node("MatMul", [rows, self._node("MatMul", [x, columns])])


def _averages(side: int) -> NDArray[np.float32]:
    """Rows that each average one of the even windows over `side` pixels: (7, side)."""
    rows = np.zeros((_POOLED, side), np.float32)
    for i in range(_POOLED):
        start, stop = i * side // _POOLED, -(-(i + 1) * side // _POOLED)
        rows[i, start:stop] = 1 / (stop - start)
    return rows
