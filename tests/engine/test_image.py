"""Pictures into normalised channels-last tensors."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine import _C
from tests import reference as ref
from tests.threads import assert_same_for_any_thread_count

rng = np.random.default_rng(2009)
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def test_decoded_pictures_are_read_in_place_and_come_out_channels_last() -> None:
    decoded = rng.integers(0, 256, (2, 9, 7, 3), dtype=np.uint8)  # (N, H, W, C)
    view = engine.from_numpy(decoded).permute_dims((0, 3, 1, 2))
    y = _C.normalize_images(view, MEAN, STD)
    assert y.dtype == engine.float32
    assert y.is_contiguous(memory_format="channels_last")
    wanted = ((decoded / 255.0 - MEAN) / STD).astype(np.float32).transpose(0, 3, 1, 2)
    np.testing.assert_array_equal(y.numpy(), wanted)


@pytest.mark.parametrize("channels", [1, 3, 4, 5])
def test_any_number_of_channels(channels) -> None:
    x = rng.integers(0, 256, (2, channels, 4, 6), dtype=np.uint8)
    mean, std = rng.uniform(0.2, 0.8, (2, channels)).tolist()
    y = _C.normalize_images(engine.asarray(x), mean, std)
    np.testing.assert_allclose(y.numpy(), ref.normalize_images(x, mean, std), rtol=1e-6, atol=1e-6)


def test_strides_of_a_crop_and_a_flip_are_followed() -> None:
    x = rng.integers(0, 256, (2, 3, 8, 9), dtype=np.uint8)
    t = engine.flip(engine.asarray(x)[:, :, 1:6, 2:9:2], (3,))
    y = _C.normalize_images(t, MEAN, STD)
    wanted = ref.normalize_images(x[:, :, 1:6, 2:9:2][..., ::-1], MEAN, STD)
    np.testing.assert_allclose(y.numpy(), wanted, rtol=1e-6, atol=1e-6)


def test_an_empty_batch_stays_empty() -> None:
    x = engine.zeros((0, 3, 4, 4), dtype=engine.uint8)
    assert _C.normalize_images(x, MEAN, STD).shape == (0, 3, 4, 4)


def test_floats_are_refused() -> None:
    with pytest.raises(TypeError, match="expected uint8 pictures, got float32"):
        _C.normalize_images(engine.ones((1, 3, 2, 2)), MEAN, STD)


@pytest.mark.parametrize(
    "mean, std, message", [([0.5], STD, "mean has 1"), (MEAN, [1.0, 0.0, 1.0], "channel 1 is 0")]
)
def test_statistics_must_fit_the_channels(mean, std, message) -> None:
    with pytest.raises(ValueError, match=message):
        _C.normalize_images(engine.zeros((1, 3, 2, 2), dtype=engine.uint8), mean, std)


def test_pictures_are_the_same_for_any_thread_count() -> None:
    x = engine.asarray(rng.integers(0, 256, (3, 3, 65, 71), dtype=np.uint8))
    assert_same_for_any_thread_count(lambda: [_C.normalize_images(x, MEAN, STD)])
