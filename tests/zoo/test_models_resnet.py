"""The ResNet family: sizes and keys as published, structure, heads, initial values."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

import engine
from engine import nn
from zoo.models import resnet

# As published with the torchvision weights, and for CIFAR-10 as the paper's table 6 rounds them.
PARAMETERS = {
    "resnet18": 11_689_512,
    "resnet34": 21_797_672,
    "resnet50": 25_557_032,
    "resnet101": 44_549_160,
    "resnet152": 60_192_808,
    "wide_resnet50_2": 68_883_240,
    "wide_resnet101_2": 126_886_696,
    "resnext50_32x4d": 25_028_904,
    "resnext101_32x8d": 88_791_336,
    "resnext101_64x4d": 83_455_272,
}
CIFAR_MILLIONS = {
    "resnet20": 0.27,
    "resnet32": 0.46,
    "resnet44": 0.66,
    "resnet56": 0.85,
    "resnet110": 1.7,
}
KEYS = json.loads((Path(__file__).parent / "reference" / "state_dict_keys.json").read_text())
ALL = list(resnet.VARIANTS)


def empty(name: str, **config: object) -> resnet.ResNet:
    """Without the time that random values take."""
    with nn.init.skip_random():
        return resnet.build(name, **config)


def test_every_variant_has_its_row_here() -> None:
    assert set(ALL) == PARAMETERS.keys() | CIFAR_MILLIONS.keys()
    assert set(ALL) <= KEYS.keys()


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameter_counts_are_the_published_ones(name: str) -> None:
    assert empty(name).num_parameters == PARAMETERS[name]


@pytest.mark.parametrize("name", CIFAR_MILLIONS)
def test_small_image_networks_have_the_papers_sizes(name: str) -> None:
    digits = 1 if name == "resnet110" else 2
    assert round(empty(name).num_parameters / 1e6, digits) == CIFAR_MILLIONS[name]


@pytest.mark.parametrize("name", ALL)
def test_state_dict_is_the_reference_frameworks(name: str) -> None:
    lines = [
        f"{key} {value.shape} {value.dtype}" for key, value in empty(name).state_dict().items()
    ]
    if "lines" in KEYS[name]:
        assert lines == KEYS[name]["lines"]
    assert len(lines) == KEYS[name]["number"]
    assert hashlib.sha256("\n".join(lines).encode()).hexdigest() == KEYS[name]["sha256"]


@pytest.mark.parametrize(
    "name, size, features",
    [
        ("resnet18", 64, (512, 2, 2)),
        ("resnet50", 33, (2048, 2, 2)),
        ("resnext50_32x4d", 32, (2048, 1, 1)),
        ("resnet20", 32, (64, 8, 8)),
    ],
)
def test_shapes(name: str, size: int, features: tuple[int, int, int]) -> None:
    model = resnet.build(name, num_classes=7).eval()
    x = engine.zeros((2, 3, size, size))
    assert model.forward_features(x).shape == (2, *features)
    assert model(x).shape == (2, 7)


def test_pictures_may_have_other_channels() -> None:
    model = resnet.build("resnet20", in_chans=1).eval()
    assert model(engine.zeros((1, 1, 32, 32))).shape == (1, 10)


def test_bottlenecks_stride_in_their_3x3_convolution() -> None:
    block = empty("resnet50").layer2[0]
    assert (block.conv1.stride, block.conv2.stride) == ((1, 1), (2, 2))


def test_pad_shortcut_subsamples_and_appends_zeros() -> None:
    x = np.arange(2 * 3 * 5 * 4, dtype=np.float32).reshape(2, 3, 5, 4)
    y = resnet.PadShortcut(new_channels=2, stride=2)(engine.asarray(x)).numpy()
    np.testing.assert_array_equal(y[:, :3], x[:, :, ::2, ::2])
    assert y.shape == (2, 5, 3, 2) and (y[:, 3:] == 0).all()


def test_pad_shortcut_passes_gradients_to_the_pixels_it_read() -> None:
    x = engine.ones((1, 2, 4, 4))
    x.requires_grad = True
    resnet.PadShortcut(new_channels=2, stride=2)(x).sum().backward()
    wanted = np.zeros((1, 2, 4, 4))
    wanted[:, :, ::2, ::2] = 1
    np.testing.assert_array_equal(x.grad.numpy(), wanted)


def test_convolutions_start_with_hes_deviation_by_fan_out() -> None:
    engine.manual_seed(0)
    weight = resnet.build("resnet18").layer3[0].conv1.weight.detach().numpy()  # (256, 128, 3, 3)
    assert weight.std() == pytest.approx(np.sqrt(2 / (256 * 9)), rel=0.01)


def test_the_seed_decides_the_initial_values() -> None:
    def first(seed: int) -> list[float]:
        engine.manual_seed(seed)
        return resnet.build("resnet20").fc.weight.detach().numpy()[0].tolist()

    assert first(3) == first(3) != first(4)


@pytest.mark.parametrize("name, norm", [("resnet20", "bn2"), ("resnet50", "bn3")])
def test_zero_init_residual_starts_blocks_as_identities(name: str, norm: str) -> None:
    block = empty(name, zero_init_residual=True).layer1[1]
    assert not getattr(block, norm).weight.detach().numpy().any()
    assert block.bn1.weight.detach().numpy().all()
    block.eval()
    x = engine.ones((1, block.conv1.in_channels, 4, 4))
    np.testing.assert_array_equal(block(x).detach().numpy(), x.numpy())


def test_reset_classifier_puts_a_new_last_layer_in() -> None:
    model = resnet.build("resnet20")
    old = model.get_classifier()
    model.reset_classifier(5)
    assert model.get_classifier() is model.fc is not old
    assert model.eval()(engine.zeros((1, 3, 32, 32))).shape == (1, 5)


def test_an_unknown_variant_is_refused() -> None:
    with pytest.raises(KeyError, match="no variant 'resnet51'"):
        resnet.build("resnet51")


def test_a_training_step_lowers_the_loss() -> None:
    engine.manual_seed(0)
    model = resnet.build("resnet20", num_classes=3)
    optimizer = engine.optim.SGD(model.named_parameters(), lr=0.05, momentum=0.9)
    x, target = engine.randn((6, 3, 16, 16)), engine.asarray([0, 1, 2, 0, 1, 2])
    losses = []
    for _ in range(5):
        loss = nn.functional.cross_entropy(model(x), target)
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert losses[-1] < losses[0] / 2
