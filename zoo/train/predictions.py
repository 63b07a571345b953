"""What a model says of pictures that nobody labelled: classes, or features.

Pictures go through the same preprocessing and the same forward pass as in validation. They are
taken from their source one by one, decoded on threads and computed in batches, so any number of
them takes the memory of a few batches.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import engine
from zoo.data import UnreadableImage
from zoo.data.sources import Source, many_sources, name_of, open_source
from zoo.data.threads import default_threads, ordered_map
from zoo.placement import host_array
from zoo.train.inference import as_probabilities, forward, scores
from zoo.train.tta import views_for

if TYPE_CHECKING:
    from zoo.models.image_model import ImageModel

_Square = NDArray[np.uint8] | UnreadableImage


@dataclass(frozen=True, repr=False)
class Prediction:
    """What a model says of one picture.

    Attributes:
        path: the picture's file, or its number where it has none.
        top: (class name, probability) of the likeliest classes, likeliest first; where pictures
            may have several labels, first all that the model gives it, whatever `topk` says.
        error: why the picture could not be read, or None; `top` is then empty.
        labels: of a model that gives several, those whose probability reaches their threshold;
            None: the model gives one class.

    >>> Prediction("a.jpg", (("cat", 0.9), ("dog", 0.1))).label
    'cat'
    """

    path: str
    top: tuple[tuple[str, float], ...]
    error: str | None = None
    labels: tuple[str, ...] | None = None

    @property
    def label(self) -> str | None:
        """The likeliest class; None where the picture could not be read."""
        return self.top[0][0] if self.top else None

    @property
    def probability(self) -> float | None:
        """Of the likeliest class, 0 to 1; None where the picture could not be read."""
        return self.top[0][1] if self.top else None

    def __repr__(self) -> str:
        said = ", ".join(f"{name} {probability:.1%}" for name, probability in self.top[:3])
        more = ", ..." if len(self.top) > 3 else ""
        return f"<{self.path}: {said or self.error}{more}>"

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        top = [{"class": name, "probability": probability} for name, probability in self.top]
        several = {} if self.labels is None else {"labels": list(self.labels)}
        return {"path": self.path, "predictions": top, **several, "error": self.error}


def predict(
    model: ImageModel,
    sources: Iterable[Source],
    *,
    topk: int = 5,
    batch_size: int = 16,
    threads: int | None = None,
    tta: str = "none",
) -> Iterator[Prediction]:
    """Classify pictures, in their order.

    Args:
        model: with `preprocessing` and `classes` set; its mode is left as it is.
        sources: paths, PIL images or arrays; taken one by one. One that cannot be read gives a
            `Prediction` with `error` set.
        topk: classes to name for each picture.
        batch_size: pictures computed at once.
        threads: that decode; None takes one per CPU, at most 8.
        tta: views whose probabilities are averaged: "none", "flip" or "ten"; see `zoo.train.tta`.

    Raises:
        TypeError, ValueError: a source is none, or an array of another dtype or shape.

    >>> next(predict(zoo.load("run1"), ["cat.jpg"])).top[0]   # doctest: +SKIP
    ('cat', 0.98)
    """
    for name, row in _rows(model, sources, _probabilities, batch_size, threads, tta):
        if isinstance(row, UnreadableImage):
            labels = None if model.thresholds is None else ()
            yield Prediction(name, (), row.reason, labels)
            continue
        yield _prediction(model, name, row, topk)


def _prediction(model: ImageModel, name: str, row: NDArray[np.float64], topk: int) -> Prediction:
    """From a picture's probabilities (classes,)."""
    best, labels = np.argsort(-row, kind="stable"), None
    if model.thresholds is not None:
        given = row >= np.asarray(model.thresholds)
        best = np.concatenate([best[given[best]], best[~given[best]]])
        labels = tuple(model.classes[i] for i in best[: given.sum()])
        topk = max(topk, len(labels))
    top = tuple((model.classes[i], float(row[i])) for i in best[:topk])
    return Prediction(name, top, labels=labels)


def predict_any(model: ImageModel, images: Any, **options: Any) -> Any:
    """`predict` for one source, which gives one `Prediction`, or for many, which give a list.

    Raises:
        UnreadableImage: a single picture cannot be read.

    >>> predict_any(zoo.load("run1"), "cat.jpg").label   # doctest: +SKIP
    'cat'
    """
    many = many_sources(images)
    if many is not None:
        return list(predict(model, many, **options))
    (found,) = predict(model, [images], **options)
    if found.error is not None:
        raise UnreadableImage(found.path, found.error)
    return found


def embed(
    model: ImageModel,
    sources: Iterable[Source],
    *,
    batch_size: int = 16,
    threads: int | None = None,
) -> Iterator[tuple[str, NDArray[np.float32] | UnreadableImage]]:
    """(name, features) of pictures, in their order: what the model's last layer gets to see, (D,)
    float32, or why a picture could not be read. Arguments are those of `predict`.

    >>> name, features = next(embed(zoo.load("run1"), ["cat.jpg"]))   # doctest: +SKIP
    >>> features.shape                                                 # doctest: +SKIP
    (512,)
    """
    return _rows(model, sources, _features, batch_size, threads)


def embed_any(model: ImageModel, images: Any, **options: Any) -> NDArray[np.float32]:
    """`embed` for one source, (D,), or for many, (N, D).

    Raises:
        UnreadableImage: a picture cannot be read.

    >>> embed_any(zoo.load("run1"), ["cat.jpg", "dog.jpg"]).shape   # doctest: +SKIP
    (2, 512)
    """
    many = many_sources(images)
    rows = []
    for _, row in embed(model, [images] if many is None else many, **options):
        if isinstance(row, UnreadableImage):
            raise row
        rows.append(row)
    if many is None:
        return rows[0]
    return np.stack(rows) if rows else np.empty((0, model.head_features), np.float32)


def _rows(
    model: ImageModel,
    sources: Iterable[Source],
    compute: Any,
    batch_size: int,
    threads: int | None,
    tta: str = "none",
) -> Generator[tuple[str, Any], None, None]:
    """(name, row of `compute`'s result or what is wrong with the picture) of every source."""
    transform = views_for(model.preprocessing, tta)

    def read(numbered: tuple[int, Source]) -> tuple[str, _Square]:
        position, source = numbered
        name = name_of(source, position)
        try:
            return name, transform.apply(open_source(source, name))
        except UnreadableImage as failure:
            return name, UnreadableImage(name, failure.reason)  # without its traceback

    threads = default_threads() if threads is None else threads
    with closing(ordered_map(read, enumerate(sources), threads, ahead=2 * batch_size)) as pictures:
        waiting: list[tuple[str, _Square]] = []
        for picture in pictures:
            waiting.append(picture)
            if len(waiting) == batch_size:
                yield from _computed(model, waiting, compute)
                waiting = []
        yield from _computed(model, waiting, compute)


@contextmanager
def _inferring(model: ImageModel) -> Iterator[None]:
    """Inference mode for a while, as in a callback in the midst of training."""
    training = [module for module in model.modules() if module.training]
    model.eval()
    try:
        yield
    finally:
        for module in training:
            module.training = True


def _computed(
    model: ImageModel, pictures: list[tuple[str, _Square]], compute: Any
) -> Iterator[tuple[str, Any]]:
    readable = [image for _, image in pictures if not isinstance(image, UnreadableImage)]
    rows: Iterator[Any] = iter(())
    if readable:
        with _inferring(model), engine.no_grad():
            rows = iter(compute(model, np.stack(readable)))
    for name, image in pictures:
        yield name, image if isinstance(image, UnreadableImage) else next(rows)


def _probabilities(model: ImageModel, images: NDArray[np.uint8]) -> NDArray[np.float64]:
    return as_probabilities(model, scores(model, images, model.preprocessing))  # (N, classes)


def _features(model: ImageModel, images: NDArray[np.uint8]) -> NDArray[np.float32]:
    seen: list[Any] = []
    head = model.get_classifier()
    with head.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0])):
        forward(model, images, model.preprocessing)
    return host_array(seen[0]).astype(np.float32)  # (N, D)
