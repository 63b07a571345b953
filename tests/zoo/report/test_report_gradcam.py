"""Grad-CAM against what it comes to where it can be worked out, and what it leaves alone."""

from __future__ import annotations

import numpy as np
import pytest

import engine
import zoo
from engine.nn import functional as F
from zoo.data import to_tensor
from zoo.report.gradcam import grad_cam


@pytest.fixture
def model():
    engine.manual_seed(3)
    return zoo.load("resnet20", weights=None, num_classes=5)


@pytest.fixture
def images():
    return np.random.default_rng(0).integers(0, 256, (3, 32, 32, 3), dtype=np.uint8)


def test_over_a_mean_and_a_linear_layer_it_is_the_maps_weighted_by_the_layers_row(model, images):
    # The logit is the mean over places of weight · maps, so its gradient is weight / places.
    classes = np.array([4, 0, 2])
    with engine.no_grad():
        p = model.preprocessing
        x = F.normalize_images(to_tensor(images), p.mean, p.std)
        maps = model.forward_features(x).numpy()
    rows = model.fc.weight.detach().numpy()[classes]
    expected = np.maximum(np.einsum("nchw,nc->nhw", maps, rows), 0)
    expected /= expected.max(axis=(1, 2), keepdims=True)
    np.testing.assert_allclose(grad_cam(model, images, classes), expected, rtol=1e-4, atol=1e-5)


def test_pictures_in_a_batch_do_not_mix(model, images):
    classes = np.array([1, 1, 3])
    together = grad_cam(model, images, classes)
    for i in range(3):
        alone = grad_cam(model, images[i : i + 1], classes[i : i + 1])[0]
        np.testing.assert_allclose(together[i], alone, atol=1e-5)


def test_the_model_is_as_it_was(model, images):
    before = {name: value.numpy().copy() for name, value in model.state_dict().items()}
    attributes = set(vars(model))
    grad_cam(model, images, np.array([0, 1, 2]))
    assert set(vars(model)) == attributes
    for name, value in model.state_dict().items():
        assert np.array_equal(value.numpy(), before[name]), name
    assert all(p.grad is None for p in model.parameters())


def test_a_map_without_anything_that_speaks_for_the_class_is_all_zero(model, images):
    model.fc.weight.detach()[...] = 0.0
    assert not grad_cam(model, images, np.array([0, 1, 2])).any()
