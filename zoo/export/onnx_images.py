"""Image classifiers as ONNX nodes: (N, C, H, W) "pixels" -> (N, number of classes) "logits"."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine import nn
from zoo.export.onnx_graph import Graph, Size
from zoo.models.image_model import ImageModel
from zoo.models.resnet import BasicBlock, Bottleneck, PadShortcut, ResNet
from zoo.models.vgg import VGG

_END = np.iinfo(np.int64).max
_POOLED = 7  # side of the maps that VGG's fully connected layers see, pixels


def draw_resnet(graph: Graph, model: ResNet) -> None:
    """Adds the nodes of a residual network."""
    x = graph.relu(graph.norm(graph.conv("pixels", "conv1", model.conv1), "bn1", model.bn1))
    if not model.config.small_images:
        x = graph.node("MaxPool", [x], kernel_shape=(3, 3), strides=(2, 2), pads=(1, 1, 1, 1))
    for stage in model.stages:
        for number, block in enumerate(getattr(model, stage)):
            x = _block(graph, x, f"{stage}.{number}", block)
    x = graph.node("Flatten", [graph.node("GlobalAveragePool", [x])])
    if isinstance(model.fc, nn.Linear):
        x = graph.linear(x, "fc")
    graph.node("Identity", [x], "logits")


def _block(graph: Graph, x: str, name: str, block: BasicBlock | Bottleneck) -> str:
    shortcut, count = x, 3 if isinstance(block, Bottleneck) else 2
    for i in range(1, count + 1):
        x = graph.conv(x, f"{name}.conv{i}", getattr(block, f"conv{i}"))
        x = graph.norm(x, f"{name}.bn{i}", getattr(block, f"bn{i}"))
        x = graph.relu(x) if i < count else x
    down = block.downsample
    if isinstance(down, PadShortcut):
        shortcut = _pad_shortcut(graph, shortcut, name, down)
    elif down is not None:
        conv, norm = down.children()
        assert isinstance(conv, nn.Conv2d) and isinstance(norm, nn.BatchNorm2d)
        shortcut = graph.conv(shortcut, f"{name}.downsample.0", conv)
        shortcut = graph.norm(shortcut, f"{name}.downsample.1", norm)
    return graph.relu(graph.node("Add", [x, shortcut]))


def _pad_shortcut(graph: Graph, x: str, name: str, layer: PadShortcut) -> str:
    steps = (layer.stride, layer.stride)
    slices = {"starts": (0, 0), "ends": (_END, _END), "axes": (2, 3), "steps": steps}
    inputs = [graph.constant(f"{name}.{key}", value) for key, value in slices.items()]
    x = graph.node("Slice", [x, *inputs])
    pads = graph.constant(f"{name}.pads", (0, 0, 0, 0, 0, layer.new_channels, 0, 0))
    return graph.node("Pad", [x, pads])


def draw_vgg(graph: Graph, model: VGG) -> None:
    """Adds the nodes of a plain network, for pictures of the size of its preprocessing."""
    x, side = "pixels", model.preprocessing.size
    for number, layer in enumerate(model.features.children()):
        if isinstance(layer, nn.Conv2d):
            x = graph.conv(x, f"features.{number}", layer)
        elif isinstance(layer, nn.BatchNorm2d):
            x = graph.norm(x, f"features.{number}", layer)
        elif isinstance(layer, nn.MaxPool2d):
            x = graph.node("MaxPool", [x], kernel_shape=(2, 2), strides=(2, 2))
            side //= 2
        else:
            x = graph.relu(x)
    if side != _POOLED:  # averaged to 7x7 as adaptive_avg_pool2d does: A x A^T
        rows = graph.constant("averages", _averages(side), np.float32)
        columns = graph.constant("averages.T", _averages(side).T, np.float32)
        x = graph.node("MatMul", [rows, graph.node("MatMul", [x, columns])])
    x = graph.node("Flatten", [x])
    for number, layer in enumerate(model.classifier.children()):
        if isinstance(layer, nn.Linear):
            x = graph.linear(x, f"classifier.{number}")
        elif isinstance(layer, nn.ReLU):
            x = graph.relu(x)
    graph.node("Identity", [x], "logits")


def _averages(side: int) -> NDArray[np.float32]:
    """Rows that each average one of the even windows over `side` pixels: (7, side)."""
    rows = np.zeros((_POOLED, side), np.float32)
    for i in range(_POOLED):
        start, stop = i * side // _POOLED, -(-(i + 1) * side // _POOLED)
        rows[i, start:stop] = 1 / (stop - start)
    return rows


def ends(model: ImageModel) -> tuple[tuple[Any, ...], tuple[Any, ...], NDArray[Any]]:
    """Input and output for Graph.to_onnx, and pictures to try it on."""
    channels = model.state_dict()[f"{model.input_name}.weight"].shape[1]
    side = model.preprocessing.size
    sides: tuple[Size, Size] = (side, side) if isinstance(model, VGG) else ("height", "width")
    outputs = len(model.classes) or model.head_features
    pixels = np.random.default_rng(0).standard_normal((2, channels, side, side), np.float32)
    return (
        ("pixels", np.float32, ("batch", channels, *sides)),
        ("logits", np.float32, ("batch", outputs)),
        pixels,
    )
