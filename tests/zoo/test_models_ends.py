"""What every image classifier offers at its ends: other channels and classes, features."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import engine
import hub
import zoo
from engine import nn
from zoo.models import resnet, vgg
from zoo.models.features import FeatureExtractor
from zoo.models.image_model import ImageModel

FAMILIES = {
    "resnet": lambda **options: resnet.build("resnet20", **options),
    "bottleneck": lambda **options: resnet.ResNet(
        resnet.ResNetConfig((1, 1, 1, 1), bottleneck=True, widths=(4, 4, 8, 8)), **options
    ),
    "vgg": lambda **options: vgg.VGG(
        vgg.VGGConfig((1, 1, 2, 1, 1), widths=(4, 6, 8, 8, 8), hidden=16), **options
    ),
}
each_family = pytest.mark.parametrize("family", FAMILIES)


def build(family: str, **options: Any) -> ImageModel:
    engine.manual_seed(0)
    return FAMILIES[family](**options).eval()


def pictures(channels: int = 3, size: int = 64) -> engine.Tensor:
    draw = np.random.default_rng(0).standard_normal
    return engine.asarray(draw((2, channels, size, size), np.float32))


def arrays(model: nn.Module) -> dict[str, np.ndarray]:
    return {key: value.numpy() for key, value in model.state_dict().items()}


# ---- the last layer ----------------------------------------------------------------------------


@each_family
def test_the_last_layer_can_be_read_replaced_and_taken_off(family: str) -> None:
    model = build(family, num_classes=7)
    assert model.get_classifier().out_features == 7
    model.reset_classifier(3)
    assert model(pictures()).shape == (2, 3)
    model.reset_classifier(0)
    assert isinstance(model.get_classifier(), nn.Identity)
    assert model(pictures()).shape == (2, model.head_features)
    assert not any(key.startswith(model.classifier_name) for key in model.state_dict())
    model.reset_classifier(5)
    assert model(pictures()).shape == (2, 5)


@each_family
def test_a_model_without_last_layer_can_be_built(family: str) -> None:
    model = build(family, num_classes=0)
    assert model(pictures()).shape == (2, model.head_features)


@each_family
def test_features_then_head_is_forward(family: str) -> None:
    model, x = build(family, num_classes=7), pictures()
    with engine.no_grad():
        maps = model.forward_features(x)
        assert maps.shape[1] == model.num_features
        assert np.array_equal(model.forward_head(maps).numpy(), model(x).numpy())


@each_family
def test_a_negative_number_of_classes_is_refused(family: str) -> None:
    with pytest.raises(ValueError, match="num_classes=-2; expected 0 or more"):
        build(family).reset_classifier(-2)


# ---- features ----------------------------------------------------------------------------------


@each_family
def test_maps_are_as_large_as_their_info_says(family: str) -> None:
    model, x = build(family), pictures()
    extractor = FeatureExtractor(model)
    for info, maps in zip(extractor.feature_info, extractor(x), strict=True):
        assert maps.shape == (2, info.channels, 64 // info.stride, 64 // info.stride)
    last = extractor.feature_info[-1]
    assert last.channels == model.num_features


@pytest.mark.parametrize(
    "name, channels, strides",
    [
        ("resnet18", [64, 64, 128, 256, 512], [2, 4, 8, 16, 32]),
        ("resnet50", [64, 256, 512, 1024, 2048], [2, 4, 8, 16, 32]),
        ("resnet20", [16, 16, 32, 64], [1, 1, 2, 4]),
        ("vgg16", [64, 128, 256, 512, 512, 512], [1, 2, 4, 8, 16, 32]),
    ],
)
def test_published_families_have_the_usual_stages(name, channels, strides) -> None:
    with nn.init.skip_random():
        info = zoo.registry.get_arch(name).build().feature_info
    assert [stage.channels for stage in info] == channels
    assert [stage.stride for stage in info] == strides


@each_family
def test_chosen_stages_are_those_of_all(family: str) -> None:
    x = pictures()
    with engine.no_grad():
        whole, some = FeatureExtractor(build(family)), FeatureExtractor(build(family), [3, 1])
        wanted = [whole(x)[3].numpy(), whole(x)[1].numpy()]
        assert all(np.array_equal(a.numpy(), b) for a, b in zip(some(x), wanted, strict=True))
    assert some.feature_info == (whole.feature_info[3], whole.feature_info[1])


@each_family
def test_the_last_stage_is_forward_features(family: str) -> None:
    model, x = build(family), pictures()
    with engine.no_grad():
        maps = model.forward_features(x).numpy()
        assert np.array_equal(FeatureExtractor(model)(x)[-1].numpy(), maps)


@pytest.mark.parametrize("stages", [[], [4], [-1]])
def test_stages_that_do_not_exist_are_refused(stages: list[int]) -> None:
    with pytest.raises(ValueError, match="expected some of 0 to 3: 0 16 channels 1/1, 1 16"):
        FeatureExtractor(build("resnet"), stages)


def test_load_gives_features_with_what_is_known_about_the_weights() -> None:
    extractor = zoo.load("resnet20", features_only=True, stages=[2])
    model = zoo.load("resnet20")
    assert (extractor.arch, extractor.card.name) == ("resnet20", "resnet20.letters")
    assert extractor.preprocessing == model.preprocessing and not extractor.training
    x, taps = pictures(size=32), []
    with engine.no_grad():
        model.forward_features(x, taps)
        assert np.array_equal(extractor(x)[0].numpy(), taps[2].numpy())


def test_features_need_no_layer_behind_them(tmp_path) -> None:
    """A file of VGG's convolutions alone, as feature extractors are often published."""
    thin = vgg.VGG(vgg.VGGConfig((1, 1), widths=(4, 6), hidden=8), num_classes=3)
    whole = FeatureExtractor(thin)
    assert not any("classifier" in key for key in whole.state_dict())
    state = arrays(build("resnet"))
    body = {key: value for key, value in state.items() if not key.startswith("fc.")}
    hub.write_safetensors(tmp_path / "body.safetensors", body)
    hub.write_safetensors(tmp_path / "all.safetensors", state)
    x = pictures(size=32)
    with engine.no_grad():
        of_body, of_all = (
            zoo.load("resnet20", tmp_path / f"{name}.safetensors", features_only=True)(x)
            for name in ("body", "all")
        )
        assert all(
            np.array_equal(a.numpy(), b.numpy()) for a, b in zip(of_body, of_all, strict=True)
        )


def test_a_run_of_any_number_of_classes_gives_features(tmp_path) -> None:
    zoo.export.export("resnet20", "safetensors", tmp_path / "run.safetensors")
    assert len(zoo.load(tmp_path / "run.safetensors", features_only=True, stages=[0, 1])(
        pictures(size=32)
    )) == 2  # fmt: skip


def test_stages_that_do_not_exist_are_refused_before_a_download() -> None:
    with pytest.raises(ValueError, match=r"stages \[7\]; expected some of 0 to 4"):
        zoo.load("resnet152", features_only=True, stages=[7])
    with pytest.raises(zoo.WrongTask, match="does not classify pictures"):
        zoo.load("gpt2-xl", features_only=True)


def test_stages_without_features_are_refused() -> None:
    with pytest.raises(ValueError, match="features_only=True"):
        zoo.load("resnet20", stages=[1])


# ---- the first layer ---------------------------------------------------------------------------


@each_family
@pytest.mark.parametrize("channels", [1, 2, 4, 6, 7])
def test_colour_filters_become_filters_for_other_channels(family: str, channels: int) -> None:
    stored, model = arrays(build(family)), build(family, in_chans=channels)
    key = f"{model.input_name}.weight"
    state, notices = model.adapt(stored, {}, "tests")
    model.load_state_dict(state)
    old, new = stored[key], arrays(model)[key]
    assert new.shape[1] == channels and f"{channels} channels" in notices[0]
    if channels == 1:
        np.testing.assert_allclose(new[:, 0], old.sum(axis=1), rtol=1e-5, atol=1e-6)
    for i in range(channels if channels > 1 else 0):
        np.testing.assert_allclose(new[:, i], old[:, i % 3] * 3 / channels, rtol=1e-6)


@each_family
def test_a_grey_picture_means_the_same_in_one_channel_as_in_three(family: str) -> None:
    three, one = build(family), build(family, in_chans=1)
    one.load_state_dict(one.adapt(arrays(three), {}, "tests")[0])
    grey = pictures(channels=1)
    with engine.no_grad():
        a, b = one(grey).numpy(), three(engine.concat([grey] * 3, axis=1)).numpy()
    np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_load_adapts_the_first_layer_and_says_so() -> None:
    model = zoo.load("resnet20", in_chans=4, num_classes=3)
    assert model(pictures(channels=4, size=32)).shape == (2, 3)
    assert model.notices == (
        "first layer for 4 channels, made of resnet20.letters's for 3",
        "new last layer for 3 classes; resnet20.letters has one for 47",
    )


def test_weights_for_other_channels_are_not_adapted_in_silence() -> None:
    model = build("resnet", in_chans=5)
    state, notices = model.adapt(arrays(build("resnet", in_chans=2)), {}, "tests")
    assert notices == ()
    with pytest.raises(nn.StateDictError, match=r"conv1.weight: shape \(16, 2, 3, 3\)"):
        model.load_state_dict(state)


def test_half_precision_filters_are_summed_in_single() -> None:
    model = build("resnet", in_chans=1)
    stored = {k: v.astype(np.float16) for k, v in arrays(build("resnet")).items()}
    adapted = model.adapt(stored, {}, "tests")[0]["conv1.weight"]
    wanted = stored["conv1.weight"].astype(np.float32).sum(axis=1, keepdims=True)
    assert adapted.dtype == np.float32 and np.array_equal(adapted, wanted)


def test_bfloat16_filters_are_widened_by_the_reader_first(tmp_path) -> None:
    bits = np.full((1, 3, 1, 1), 0x3FC0, np.uint16).view(hub.BFLOAT16)
    hub.write_safetensors(tmp_path / "w", {"w": bits})
    assert hub.read_state_dict(tmp_path / "w")["w"].sum() == 4.5
