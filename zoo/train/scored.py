"""What a model answers for every picture of a loader: more than a `Tally` counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

import engine
from zoo.placement import host_array
from zoo.report.measures import Answers
from zoo.train.inference import forward, softmax

if TYPE_CHECKING:
    from zoo.data import Loader
    from zoo.models.image_model import ImageModel


def answer(
    model: ImageModel, loader: Loader, on_batch: Callable[[int], object] | None = None
) -> Answers:
    """The answers of a model, in inference mode, to all pictures of a loader, in their order.

    Args:
        model: with `preprocessing` set; left in inference mode.
        loader: not in training mode, with that preprocessing as its transform.
        on_batch: called after each batch with its number of pictures; may raise to stop.

    >>> answer(zoo.load("run1"), loader).accuracy      # doctest: +SKIP
    Share(value=0.97, low=0.94, high=0.98)
    """
    model.eval()
    predicted, confidence, of_label = [], [], []
    batches = loader.epoch()
    try:
        with engine.no_grad():
            for batch in batches:
                logits = host_array(forward(model, batch.images, model.preprocessing))
                with np.errstate(invalid="ignore"):
                    probabilities = softmax(logits.astype(np.float64))  # (N, classes)
                # Logits that are not finite say nothing, so the model is sure of nothing.
                probabilities = np.nan_to_num(probabilities, nan=0.0)
                rows = np.arange(len(batch.labels))
                best = probabilities.argmax(axis=1)
                predicted.append(best)
                confidence.append(probabilities[rows, best])
                of_label.append(probabilities[rows, batch.labels])
                if on_batch is not None:
                    on_batch(len(batch.labels))
    finally:
        batches.close()
    return Answers(
        labels=loader.images.labels,
        predicted=np.concatenate(predicted).astype(np.int64),
        confidence=np.concatenate(confidence),
        label_probability=np.concatenate(of_label),
        classes=loader.images.classes,
    )
