"""Test-time augmentation."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image
from tiny_run import Tiny, pictures

import engine
from zoo.data import Loader, Preprocessing
from zoo.train.inference import evaluate, forward, softmax
from zoo.train.predictions import predict
from zoo.train.tta import Views, views_for


def picture():
    pixels = np.random.default_rng(0).integers(0, 256, (20, 14, 3), dtype=np.uint8)
    return Image.fromarray(pixels)


def test_flip_is_the_view_of_validation_and_its_mirror_image():
    preprocessing = Preprocessing(size=8, resize=10)
    views = Views(preprocessing, "flip").apply(picture())
    assert np.array_equal(views[0], preprocessing.apply(picture()))
    assert np.array_equal(views[1], views[0][:, ::-1])


def test_ten_are_centre_and_corners_with_their_mirror_images():
    preprocessing = Preprocessing(size=8, resize=10)
    views = Views(preprocessing, "ten").apply(picture())
    whole = np.asarray(preprocessing.resized(picture()))
    assert views.shape == (10, 8, 8, 3)
    assert np.array_equal(views[0], preprocessing.apply(picture()))
    corners = [whole[:8, :8], whole[:8, -8:], whole[-8:, :8], whole[-8:, -8:]]
    assert all(np.array_equal(a, b) for a, b in zip(views[2::2], corners, strict=True))
    assert np.array_equal(views[1::2], views[::2, :, ::-1])


@pytest.mark.parametrize("kind", ["flip", "ten"])
def test_predictions_are_means_over_the_views(kind):
    engine.manual_seed(0)
    model = Tiny().eval()
    model.preprocessing = Preprocessing(size=8, resize=10)
    images = [picture(), picture().rotate(90)]
    found = list(predict(model, images, tta=kind, topk=3))
    for image, prediction in zip(images, found, strict=True):
        views = Views(model.preprocessing, kind).apply(image)
        with engine.no_grad():
            logits = forward(model, views, model.preprocessing).numpy()
        mean = softmax(logits.astype(np.float64)).mean(axis=0)
        assert dict(prediction.top) == pytest.approx(
            dict(zip(model.classes, mean, strict=True)), rel=1e-5
        )


@pytest.mark.parametrize("kind", ["none", "flip", "ten"])
def test_evaluation_agrees_with_prediction(kind):
    engine.manual_seed(0)
    model, images = Tiny().eval(), pictures(12)
    transform = views_for(model.preprocessing, kind)
    with Loader(images, transform, 5, threads=1) as loader:
        tally = evaluate(model, loader)
    found = predict(model, [images.load(i) for i in range(12)], tta=kind, topk=3)
    of_label = [
        dict(p.top)[model.classes[label]] for p, label in zip(found, images.labels, strict=True)
    ]
    assert tally.loss == pytest.approx(-np.log(of_label).mean(), rel=1e-5)


def test_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="hundred"):
        views_for(Preprocessing(), "hundred")
