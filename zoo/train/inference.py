"""Run a model over pictures: the same preprocessing and the same forward pass for validation,
`zoo evaluate` and `zoo predict`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import engine
from engine.nn import functional as F
from zoo.data import DataError, Loader, UnreadableImage, decode, to_tensor
from zoo.data.threads import default_threads, ordered_map
from zoo.train.metrics import Tally

if TYPE_CHECKING:
    from zoo.data import Preprocessing
    from zoo.models.image_model import ImageModel


def forward(model: ImageModel, images: NDArray[np.uint8], preprocessing: Preprocessing) -> Any:
    """Logits (N, classes) of a batch (N, H, W, 3) uint8; differentiable in training mode."""
    x = F.normalize_images(to_tensor(images), preprocessing.mean, preprocessing.std)
    return model(x)  # (N, 3, H, W) float32 -> (N, classes)


def evaluate(
    model: ImageModel, loader: Loader, on_batch: Callable[[int], None] | None = None
) -> Tally:
    """Loss and accuracy of a model over all pictures of a loader, in inference mode.

    Args:
        model: with `preprocessing` set; left in inference mode.
        loader: not in training mode, with that preprocessing as its transform.
        on_batch: called after each batch with its number of pictures; may raise to stop.

    >>> evaluate(zoo.load("run1"), loader).accuracy      # doctest: +SKIP
    0.97
    """
    tally = Tally(len(loader.images.classes))
    model.eval()
    batches = loader.epoch()
    try:
        with engine.no_grad():
            for batch in batches:
                logits = forward(model, batch.images, model.preprocessing)
                tally.add(logits.numpy(), batch.labels)
                if on_batch is not None:
                    on_batch(len(batch.labels))
    finally:
        batches.close()
    return tally


@dataclass(frozen=True)
class Prediction:
    """What a model says of one picture.

    Attributes:
        path: the picture's file.
        top: (class name, probability) of the likeliest classes, likeliest first.
        error: why the picture could not be read, or None; `top` is then empty.
    """

    path: str
    top: tuple[tuple[str, float], ...]
    error: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        top = [{"class": name, "probability": probability} for name, probability in self.top]
        return {"path": self.path, "predictions": top, "error": self.error}


def predict(
    model: ImageModel,
    paths: Sequence[str | os.PathLike[str]],
    *,
    topk: int = 5,
    batch_size: int = 16,
    threads: int | None = None,
) -> Iterator[Prediction]:
    """Classify picture files, in their order; pictures are decoded on threads meanwhile.

    Args:
        model: with `preprocessing` and `classes` set, in inference mode.
        paths: picture files. One that cannot be read gives a `Prediction` with `error` set.
        topk: classes to name for each picture.
        batch_size: pictures computed at once.
        threads: that decode; None takes one per CPU, at most 8.

    >>> next(predict(zoo.load("run1"), ["cat.jpg"])).top[0]   # doctest: +SKIP
    ('cat', 0.98)
    """
    preprocessing: Preprocessing = model.preprocessing

    def read(path: str | os.PathLike[str]) -> tuple[str, NDArray[np.uint8] | UnreadableImage]:
        try:
            return os.fspath(path), preprocessing.apply(decode(path))
        except UnreadableImage as failure:
            return os.fspath(path), failure

    threads = default_threads() if threads is None else threads
    pictures = ordered_map(read, paths, threads, ahead=2 * batch_size)
    try:
        waiting: list[tuple[str, NDArray[np.uint8] | UnreadableImage]] = []
        for picture in pictures:
            waiting.append(picture)
            if len(waiting) == batch_size:
                yield from _classify(model, waiting, topk)
                waiting = []
        yield from _classify(model, waiting, topk)
    finally:
        pictures.close()


def _classify(
    model: ImageModel, pictures: list[tuple[str, NDArray[np.uint8] | UnreadableImage]], topk: int
) -> Iterator[Prediction]:
    readable = [image for _, image in pictures if not isinstance(image, DataError)]
    rows: Iterator[NDArray[np.float64]] = iter(())
    if readable:
        with engine.no_grad():
            logits = forward(model, np.stack(readable), model.preprocessing).numpy()
        rows = iter(softmax(logits.astype(np.float64)))
    for path, image in pictures:
        if isinstance(image, UnreadableImage):
            yield Prediction(path, (), image.reason)
            continue
        probabilities = next(rows)
        best = np.argsort(-probabilities, kind="stable")[:topk]
        yield Prediction(path, tuple((model.classes[i], float(probabilities[i])) for i in best))


def softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logits (N, classes) as probabilities."""
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)
