"""Where a model looked: Grad-CAM (Selvaraju et al., 2017, arXiv:1610.02391)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import engine
from engine.nn import functional as F
from zoo.placement import host_array
from zoo.train.inference import as_input

if TYPE_CHECKING:
    from zoo.models.image_model import ImageModel


def grad_cam(
    model: ImageModel, images: NDArray[np.uint8], classes: NDArray[np.int64]
) -> NDArray[np.float32]:
    """How much each place of a picture speaks for a class: relu of the last feature maps' sum,
    each weighted by the mean gradient of the class's logit over it.

    Args:
        model: in inference mode, with `preprocessing` set; its parameters keep their gradients.
        images: (N, H, W, 3) uint8, preprocessed.
        classes: (N,) index of the class to explain in each picture.

    Returns:
        (N, h, w) float32, 0 to 1: each picture's largest is 1, all 0 where nothing speaks for it.

    Raises:
        NotImplementedError: the model has no `forward_features`.

    >>> grad_cam(model, batch.images, batch.labels).shape     # doctest: +SKIP
    (16, 7, 7)
    """
    maps, logits = _maps_and_logits(model, images)
    chosen = F.one_hot(engine.asarray(classes, device=logits.device), num_classes=logits.shape[1])
    score = (logits * chosen.astype(logits.dtype)).sum()  # pictures do not mix, so neither do these
    (gradient,) = engine.autograd.grad(score, [maps])
    assert gradient is not None  # the logits are computed from the maps
    weights = gradient.mean(axis=(2, 3), keepdims=True)  # (N, C, 1, 1)
    found = np.maximum(host_array((maps.detach() * weights).sum(axis=1)), 0)  # (N, h, w)
    largest = found.max(axis=(1, 2), keepdims=True)
    return (found / np.where(largest > 0, largest, 1)).astype(np.float32)


def heat_maps(
    model: ImageModel, squares: Sequence[NDArray[np.uint8]], classes: NDArray[np.int64]
) -> list[NDArray[np.float32] | None]:
    """`grad_cam` of pictures one at a time, which takes no more memory than a step of training;
    None for each where the model has no maps to look at.

    >>> heat_maps(model, list(batch.images), batch.labels)[0].shape     # doctest: +SKIP
    (7, 7)
    """
    try:
        return [
            grad_cam(model, square[None], classes[i : i + 1])[0] for i, square in enumerate(squares)
        ]
    except NotImplementedError:
        return [None] * len(squares)


def _maps_and_logits(model: ImageModel, images: NDArray[np.uint8]) -> tuple[Any, Any]:
    """The last feature maps, as the start of a graph, and the logits computed from them."""
    x = as_input(model, images, model.preprocessing)
    with engine.no_grad():
        maps = model.forward_features(x)
    maps = maps.detach()
    maps.requires_grad = True
    return maps, model.forward_head(maps)
