"""Batches of pictures through a model: one forward pass to train, validate and predict."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import engine
from engine.nn import functional as F
from zoo.data import Loader, to_tensor
from zoo.placement import device_of, host_array
from zoo.train.distributed import ALONE, Ranks
from zoo.train.label_metrics import LabelTally
from zoo.train.metrics import Tally

if TYPE_CHECKING:
    from zoo.data import Preprocessing
    from zoo.models.image_model import ImageModel


def forward(model: ImageModel, images: NDArray[np.uint8], preprocessing: Preprocessing) -> Any:
    """Logits (N, classes) of a batch (N, H, W, 3) uint8; differentiable in training mode."""
    return model(as_input(model, images, preprocessing))


def as_input(model: ImageModel, images: NDArray[np.uint8], preprocessing: Preprocessing) -> Any:
    """A batch (N, H, W, 3) uint8 as the model takes it: normalised, (N, 3, H, W) float32, where the
    model is."""
    pixels = to_tensor(images).to(device_of(model))
    return F.normalize_images(pixels, preprocessing.mean, preprocessing.std)


def evaluate(
    model: ImageModel,
    loader: Loader,
    on_batch: Callable[[int], None] | None = None,
    ranks: Ranks = ALONE,
    tally: Any = None,
) -> Any:
    """Loss and accuracy of a model over all pictures of a loader, in inference mode.

    Args:
        model: with `preprocessing` set; left in inference mode.
        loader: not in training mode, with that preprocessing, or `zoo.train.tta.Views` of it, as
            its transform.
        on_batch: called after each batch with its number of pictures; may raise to stop.
        ranks: among which the loader shares batches out.
        tally: to count in, a Tally or LabelTally; None for a new one that suits the pictures.

    Returns:
        The tally.

    >>> evaluate(zoo.load("run1"), loader).accuracy      # doctest: +SKIP
    0.97
    """
    if tally is None:
        kind = LabelTally if loader.images.several else Tally
        tally = kind(len(loader.images.classes))
    model.eval()
    batches = loader.epoch()
    try:
        with engine.no_grad():
            for _ in range(ranks.rounds(len(loader))):
                batch = next(batches, None)  # in the last round some ranks have none
                if batch is not None:
                    tally.add(scores(model, batch.images, model.preprocessing), batch.labels)
                if on_batch is not None:
                    on_batch(0 if batch is None else len(batch.labels))
    finally:
        batches.close()
    tally.join(ranks)
    return tally


def scores(
    model: ImageModel, images: NDArray[np.uint8], preprocessing: Preprocessing
) -> NDArray[np.float64]:
    """Logits (N, classes) of pictures (N, H, W, 3) uint8. Of several views of each,
    (N, views, H, W, 3), the logits of the mean of their probabilities."""
    if images.ndim == 4:
        return host_array(forward(model, images, preprocessing)).astype(np.float64)
    count, views = images.shape[:2]
    flat = images.reshape(count * views, *images.shape[2:])
    logits = host_array(forward(model, flat, preprocessing))
    each = as_probabilities(model, logits.astype(np.float64))
    mean = each.reshape(count, views, -1).mean(axis=1)
    with np.errstate(divide="ignore"):  # a probability of 0 is a score of minus infinity
        return np.log(mean) - (0.0 if model.thresholds is None else np.log1p(-mean))


def as_probabilities(model: ImageModel, logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logits (N, classes) as probabilities: of one class each, or of each label by itself."""
    if model.thresholds is None:
        return softmax(logits)
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-logits))


def softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logits (N, classes) as probabilities."""
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)
