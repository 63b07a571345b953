"""The VGG family: sizes and keys as published, layouts of files, structure, heads."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

import engine
import hub
from engine import nn
from zoo.models import vgg

# As published with the torchvision weights.
PARAMETERS = {
    "vgg11": 132_863_336,
    "vgg11_bn": 132_868_840,
    "vgg13": 133_047_848,
    "vgg13_bn": 133_053_736,
    "vgg16": 138_357_544,
    "vgg16_bn": 138_365_992,
    "vgg19": 143_667_240,
    "vgg19_bn": 143_678_248,
}
KEYS = json.loads((Path(__file__).parent / "reference" / "state_dict_keys.json").read_text())
THIN = vgg.VGGConfig((1, 1, 1, 1, 1), widths=(4, 6, 8, 8, 8), hidden=16, batch_norm=True)


def empty(name: str, **config: object) -> vgg.VGG:
    """Without the time that random values take."""
    with nn.init.skip_random():
        return vgg.build(name, **config)


def test_every_variant_has_its_row_here() -> None:
    assert vgg.VARIANTS.keys() == PARAMETERS.keys()


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameter_counts_are_the_published_ones(name: str) -> None:
    assert empty(name).num_parameters == PARAMETERS[name]


@pytest.mark.parametrize("name", PARAMETERS)
def test_state_dict_is_the_reference_frameworks(name: str) -> None:
    lines = [
        f"{key} {value.shape} {value.dtype}" for key, value in empty(name).state_dict().items()
    ]
    if "lines" in KEYS[name]:
        assert lines == KEYS[name]["lines"]
    assert len(lines) == KEYS[name]["number"]
    assert hashlib.sha256("\n".join(lines).encode()).hexdigest() == KEYS[name]["sha256"]


@pytest.mark.parametrize("size, last", [(32, 1), (96, 3), (65, 2)])
def test_pictures_may_have_any_size_from_32(size: int, last: int) -> None:
    model = vgg.VGG(THIN, num_classes=7).eval()
    x = engine.zeros((2, 3, size, size))
    assert model.forward_features(x).shape == (2, 8, last, last)
    assert model(x).shape == (2, 7)


def test_smaller_pictures_are_refused_with_the_size_they_need() -> None:
    with pytest.raises(ValueError, match="pictures of 31x40 pixels; expected 32 or more"):
        vgg.VGG(THIN, num_classes=7)(engine.zeros((1, 3, 31, 40)))


def test_maps_of_large_pictures_are_averaged_in_even_windows() -> None:
    # 14x14 maps become 7x7 by means of 2x2, so a picture of 2x2 blocks of pixels of a head that
    # only adds up gives the same as its 7x7 maps.
    model = vgg.VGG(THIN, num_classes=2).eval()
    maps = engine.asarray(np.random.default_rng(0).standard_normal((1, 8, 7, 7), np.float32))
    doubled = engine.repeat(engine.repeat(maps, 2, axis=2), 2, axis=3)
    with engine.no_grad():
        np.testing.assert_allclose(
            model.forward_head(doubled).numpy(), model.forward_head(maps).numpy(), atol=1e-6
        )


def test_norm_and_relu_in_one_pass_give_what_the_layers_give_one_by_one() -> None:
    model = vgg.VGG(THIN, num_classes=2)
    x = engine.asarray(np.random.default_rng(0).standard_normal((3, 3, 32, 32), np.float32))
    model(x)  # moves the running statistics away from 0 and 1
    with engine.no_grad():
        maps = model.eval().forward_features(x).numpy()
        np.testing.assert_allclose(maps, model.features(x).numpy(), rtol=1e-5, atol=1e-6)


def test_dropout_is_active_in_training_only() -> None:
    model = vgg.VGG(THIN, num_classes=5, dropout=0.5)
    x = engine.ones((1, 8, 7, 7))
    with engine.no_grad():
        assert not engine.equal(model.forward_head(x), model.forward_head(x)).all()
        assert engine.equal(model.eval().forward_head(x), model.forward_head(x)).all()


def test_initial_values_are_the_papers() -> None:
    engine.manual_seed(0)
    model = vgg.VGG(vgg.VGGConfig((1,), widths=(256,), hidden=8), num_classes=500)
    conv, last = model.features[0], model.get_classifier()
    assert conv.weight.detach().numpy().std() == pytest.approx((2 / (256 * 9)) ** 0.5, rel=0.05)
    assert last.weight.detach().numpy().std() == pytest.approx(0.01, rel=0.05)
    assert not conv.bias.detach().numpy().any() and not last.bias.detach().numpy().any()


def timm_layout(state: dict[str, np.ndarray], side: int = 7) -> dict[str, np.ndarray]:
    """The state as timm names and shapes it."""
    names = {"classifier.0": "pre_logits.fc1", "classifier.3": "pre_logits.fc2"}
    names |= {"classifier.6": "head.fc"}
    out = {}
    for key, value in state.items():
        layer, _, what = key.rpartition(".")
        if what == "weight" and layer == "classifier.0":
            value = value.reshape(len(value), -1, side, side)
        elif what == "weight" and layer == "classifier.3":
            value = value[:, :, None, None]
        out[f"{names.get(layer, layer)}.{what}"] = value
    return out


@pytest.mark.parametrize("prefix", ["", "module."])
@pytest.mark.parametrize("key_map", ["timm_vgg", vgg.VGG.key_maps])
def test_files_in_timms_layout_give_the_same_logits(prefix: str, key_map) -> None:
    first, second = vgg.VGG(THIN, num_classes=5).eval(), vgg.VGG(THIN, num_classes=5).eval()
    state = timm_layout({key: value.numpy() for key, value in first.state_dict().items()})
    assert state["pre_logits.fc1.weight"].shape == (16, 8, 7, 7)
    stored = {prefix + key: value for key, value in state.items()}
    second.load_state_dict(hub.match_keys(stored, second.state_dict(), key_map=key_map))
    x = engine.asarray(np.random.default_rng(0).standard_normal((2, 3, 32, 32), np.float32))
    with engine.no_grad():
        assert np.array_equal(first(x).numpy(), second(x).numpy())


def test_files_in_torchvisions_layout_are_taken_as_they_are() -> None:
    model = vgg.VGG(THIN, num_classes=5)
    state = model.state_dict()
    fitted = hub.match_keys(state, state, key_map=vgg.VGG.key_maps)
    assert all(fitted[key] is state[key] for key in state) and len(fitted) == len(state)


def test_an_unknown_variant_is_refused() -> None:
    with pytest.raises(KeyError, match="vgg: no variant 'vgg12'; expected one of vgg11"):
        vgg.build("vgg12")
