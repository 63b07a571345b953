"""Preprocessing and augmentation: sizes, rounding, filters, randomness, round trips."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from PIL import Image

from zoo.data import Preprocessing, TrainAugmentation, sample_rng
from zoo.data.transforms import center_crop_box, resized_size


def noise(width: int, height: int, seed: int = 0) -> Image.Image:
    rng = np.random.default_rng(seed)
    return Image.fromarray(rng.integers(0, 256, (height, width, 3), dtype=np.uint8))


def coordinates(width: int, height: int) -> Image.Image:
    """Red counts columns and green rows, so that a view tells where it was cut."""
    pixels = np.zeros((height, width, 3), np.uint8)
    pixels[..., 0], pixels[..., 1] = np.arange(width)[None, :], np.arange(height)[:, None]
    return Image.fromarray(pixels)


# As torchvision computes them: int(shorter * long / short).
@pytest.mark.parametrize(
    ("size", "shorter", "expected"),
    [
        ((500, 375), 256, (341, 256)),
        ((375, 500), 256, (256, 341)),
        ((333, 500), 256, (256, 384)),
        ((640, 480), 232, (309, 232)),
        ((641, 480), 232, (309, 232)),
        ((480, 641), 232, (232, 309)),
        ((300, 300), 256, (256, 256)),
        ((256, 999), 256, (256, 999)),
        ((7, 1000), 32, (32, 4571)),
        ((64, 48), 256, (341, 256)),
    ],
    ids=str,
)
def test_resize_rounds_the_longer_side_down(
    size: tuple[int, int], shorter: int, expected: tuple[int, int]
) -> None:
    assert resized_size(*size, shorter) == expected


# round() takes halves to the even neighbour: 16.5 -> 16, 17.5 -> 18, 58.5 -> 58, 59.5 -> 60.
@pytest.mark.parametrize(
    ("width", "left"), [(224, 0), (256, 16), (257, 16), (259, 18), (341, 58), (343, 60)]
)
def test_center_crop_rounds_halves_to_even(width: int, left: int) -> None:
    assert center_crop_box(width, 300, 224) == (left, 38, left + 224, 262)


@pytest.mark.parametrize("interpolation", ["bilinear", "bicubic"])
def test_preprocessing_is_pillows_resize_then_the_center(interpolation: str) -> None:
    image = noise(97, 61)
    found = Preprocessing(size=32, resize=40, interpolation=interpolation).apply(image)
    resized = image.resize((63, 40), getattr(Image.Resampling, interpolation.upper()))
    np.testing.assert_array_equal(found, np.asarray(resized)[4:36, 16:48])
    assert found.dtype == np.uint8


def test_downscaling_is_antialiased() -> None:
    stripes = np.zeros((512, 512, 3), np.uint8)
    stripes[:, ::2] = 255  # one-pixel stripes: without a low-pass filter all white or all black
    found = Preprocessing(size=32, resize=32).apply(Image.fromarray(stripes)).astype(float)
    assert np.abs(found[:, 1:-1] - 127.5).max() < 3


def test_upscaling_a_small_gray_picture_keeps_its_mean() -> None:
    small = Image.fromarray(np.full((8, 8), 77, np.uint8)).convert("RGB")
    found = Preprocessing(size=32, resize=32).apply(small)
    assert found.shape == (32, 32, 3)
    assert (found == 77).all()


def test_preprocessing_refuses_a_picture_that_is_not_rgb() -> None:
    with pytest.raises(ValueError, match="mode L; expected RGB"):
        Preprocessing().apply(Image.new("L", (300, 300)))


def test_preprocessing_survives_json() -> None:
    before = Preprocessing(32, 36, "bicubic", (0.1, 0.2, 0.3), (0.4, 0.5, 0.6))
    assert Preprocessing.from_dict(json.loads(json.dumps(before.to_dict()))) == before


def test_augmentation_survives_json() -> None:
    before = TrainAugmentation(
        Preprocessing(size=32, resize=32), kind="shift", scale=(0.2, 0.9), hflip=0.0, shift=2
    )
    assert TrainAugmentation.from_dict(json.loads(json.dumps(before.to_dict()))) == before


@pytest.mark.parametrize("cls", [Preprocessing, TrainAugmentation])
def test_an_unknown_key_is_an_error_by_name(cls: Any) -> None:
    with pytest.raises(ValueError, match="unknown sized; expected"):
        cls.from_dict({"sized": 32})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"size": 300}, "size=300, resize=256"),
        ({"size": 0}, "0 < size"),
        ({"interpolation": "nearest"}, "'nearest'; expected bilinear or bicubic"),
        ({"std": (1, 1, 0)}, "expected positive"),
        ({"mean": (0.5,)}, "expected three numbers"),
        ({"mean": (0.5, 0.5, float("nan"))}, "expected three numbers"),
    ],
    ids=str,
)
def test_preprocessing_refuses_values_that_cannot_work(values: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Preprocessing(**values)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"kind": "zoom"}, "'zoom'; expected one of"),
        ({"scale": (0.5, 0.2)}, "scale"),
        ({"scale": (0.0, 0.2)}, "above 0"),
        ({"ratio": (2.0,)}, "ratio"),
        ({"hflip": 1.5}, "probability"),
        ({"shift": -1}, "0 or more"),
    ],
    ids=str,
)
def test_augmentation_refuses_values_that_cannot_work(values: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TrainAugmentation(**values)


def test_same_seed_epoch_and_index_give_the_same_view() -> None:
    image, augmentation = noise(90, 70), TrainAugmentation(Preprocessing(size=32, resize=32))
    first, again = (augmentation.apply(image, sample_rng(1, 2, 3)) for _ in range(2))
    np.testing.assert_array_equal(first, again)


@pytest.mark.parametrize("other", [(2, 2, 3), (1, 3, 3), (1, 2, 4)], ids=str)
def test_another_seed_epoch_or_index_gives_another_view(other: tuple[int, int, int]) -> None:
    image, augmentation = noise(90, 70), TrainAugmentation(Preprocessing(size=32, resize=32))
    first = augmentation.apply(image, sample_rng(1, 2, 3))
    assert not np.array_equal(first, augmentation.apply(image, sample_rng(*other)))


def test_the_largest_seed_works() -> None:
    assert 0 <= sample_rng(2**64 - 1, 0, 0).random() < 1


def crop_boxes(augmentation: TrainAugmentation, width: int, height: int, n: int) -> np.ndarray:
    boxes = [augmentation._crop_box(width, height, sample_rng(0, 0, i)) for i in range(n)]
    return np.array(boxes)


def test_random_crops_stay_inside_and_within_scale_and_ratio() -> None:
    boxes = crop_boxes(TrainAugmentation(), 500, 375, 2000)
    width, height = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    assert boxes[:, :2].min() >= 0
    assert boxes[:, 2].max() <= 500 and boxes[:, 3].max() <= 375
    area = width * height / (500 * 375)
    assert 0.079 < area.min() < 0.09 and area.max() > 0.9
    ratio = width / height
    assert 0.74 < ratio.min() < 0.77 and 1.3 < ratio.max() < 1.35


def test_random_crops_reach_every_border() -> None:
    boxes = crop_boxes(TrainAugmentation(scale=(0.2, 0.3)), 20, 20, 2000)
    np.testing.assert_array_equal(boxes.min(axis=0)[:2], [0, 0])
    np.testing.assert_array_equal(boxes.max(axis=0)[2:], [20, 20])


@pytest.mark.parametrize(
    ("size", "box"), [((1000, 10), (493, 0, 506, 10)), ((10, 1000), (0, 493, 10, 506))], ids=str
)
def test_a_very_long_picture_falls_back_to_its_center(
    size: tuple[int, int], box: tuple[int, ...]
) -> None:
    augmentation = TrainAugmentation(scale=(0.9, 1.0))
    assert augmentation._crop_box(*size, sample_rng(0, 0, 0)) == box


def test_resized_crop_shows_its_box() -> None:
    augmentation = TrainAugmentation(Preprocessing(size=16, resize=16), hflip=0.0)
    view = augmentation.apply(coordinates(200, 150), sample_rng(0, 0, 7)).astype(float)
    rng = sample_rng(0, 0, 7)
    rng.random()  # the draw that decides on mirroring
    left, top, right, bottom = augmentation._crop_box(200, 150, rng)
    assert abs(view[..., 0].mean() - (left + right - 1) / 2) < 1
    assert abs(view[..., 1].mean() - (top + bottom - 1) / 2) < 1


def test_mirroring_happens_as_often_as_asked() -> None:
    image = coordinates(16, 16)
    augmentation = TrainAugmentation(Preprocessing(size=16, resize=16), kind="none", hflip=0.25)
    mirrored = 0
    for i in range(2000):
        view = augmentation.apply(image, sample_rng(0, 0, i))
        columns = view[0, :, 0].tolist()
        assert columns in (list(range(16)), list(range(15, -1, -1)))
        mirrored += columns[0] == 15
    assert abs(mirrored / 2000 - 0.25) < 0.04


def test_shift_moves_the_square_both_ways_and_repeats_its_edge() -> None:
    image = coordinates(32, 32)
    augmentation = TrainAugmentation(
        Preprocessing(size=32, resize=32), kind="shift", hflip=0.0, shift=4
    )
    moves = set()
    for i in range(1000):
        view = augmentation.apply(image, sample_rng(0, 0, i)).astype(int)
        dx, dy = view[16, 16, 0] - 16, view[16, 16, 1] - 16
        np.testing.assert_array_equal(view[0, :, 0], np.clip(np.arange(32) + dx, 0, 31))
        np.testing.assert_array_equal(view[:, 0, 1], np.clip(np.arange(32) + dy, 0, 31))
        moves.add((dx, dy))
    assert moves == {(x, y) for x in range(-4, 5) for y in range(-4, 5)}


def test_kind_none_is_the_preprocessing() -> None:
    image, preprocessing = noise(80, 60), Preprocessing(size=32, resize=40)
    augmentation = TrainAugmentation(preprocessing, kind="none", hflip=0.0)
    found = augmentation.apply(image, sample_rng(0, 0, 0))
    np.testing.assert_array_equal(found, preprocessing.apply(image))


def test_only_random_crops_allow_reduced_decoding() -> None:
    for transform in (Preprocessing(), TrainAugmentation(kind="shift")):
        assert transform.min_side(4000, 3000, sample_rng(0, 0, 0)) is None


@pytest.mark.parametrize("width, height", [(500, 375), (1024, 768), (3000, 4000), (9000, 600)])
def test_a_picture_is_halved_as_often_as_its_crop_keeps_the_squares_side(
    width: int, height: int
) -> None:
    augmentation = TrainAugmentation(Preprocessing(size=224), scale=(0.2, 1.0))
    reduced = 0
    for i in range(200):
        rng = sample_rng(0, 0, i)
        rng.random()
        left, top, right, bottom = augmentation._crop_box(width, height, rng)
        crop = min(right - left, bottom - top)
        least = augmentation.min_side(width, height, sample_rng(0, 0, i))
        factor = 1 if least is None else min(width, height) // least
        assert crop // factor >= 224 or factor == 1
        assert crop // (2 * factor) < 224  # once more would be too often
        reduced += factor > 1
    assert (reduced > 50) == (width > 600)
