"""What a model says of one picture, and where it looked."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import engine
from zoo.data.decode import decode_with_facts
from zoo.report.gradcam import grad_cam
from zoo.report.pictures import heated, thumbnail
from zoo.train.inference import as_probabilities, scores

if TYPE_CHECKING:
    from zoo.models.image_model import ImageModel


@dataclass(frozen=True)
class Look:
    """What a model says of a picture.

    Attributes:
        name: of the picture.
        width, height: of the upright picture, pixels.
        top: the likeliest classes: {"class", "number", "probability"}, likeliest first.
        seen: what the model was shown, as an address that holds the picture.
        heat: the same under a map of where it looked, or None where it has no maps.
        explained: name of the class that the map is for.
    """

    name: str
    width: int
    height: int
    top: tuple[dict[str, Any], ...]
    seen: str
    heat: str | None
    explained: str

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)


def look(
    model: ImageModel, data: bytes, *, name: str, topk: int = 5, explain: int | None = None
) -> Look:
    """Classify a picture and find what in it speaks for a class.

    Args:
        model: in inference mode, with `preprocessing` and `classes` set.
        data: the picture's file.
        name: what to call it.
        topk: classes to name.
        explain: index of the class to explain; None takes the likeliest.

    Raises:
        zoo.data.UnreadableImage: it is no picture, or too large a one.
        IndexError: the model has no class of that index.

    >>> look(zoo.load("run1"), file.read(), name="cat.jpg").top[0]["class"]   # doctest: +SKIP
    'cat'
    """
    found = decode_with_facts(data, name=name)
    square = model.preprocessing.apply(found.image)  # (size, size, 3)
    with engine.no_grad():
        (shares,) = as_probabilities(model, scores(model, square[None], model.preprocessing))
    best = np.argsort(-shares, kind="stable")[:topk].tolist()
    chosen = best[0] if explain is None else explain
    if not 0 <= chosen < len(shares):
        raise IndexError(f"class {chosen}; expected 0 to {len(shares) - 1}")
    try:
        (map_,) = grad_cam(model, square[None], np.array([chosen]))
        heat = heated(square, map_)
    except NotImplementedError:  # a model without maps to look at
        heat = None
    return Look(
        name=name,
        width=found.width,
        height=found.height,
        top=tuple(
            {"class": model.classes[i], "number": i, "probability": float(shares[i])} for i in best
        ),
        seen=thumbnail(square),
        heat=heat,
        explained=model.classes[chosen],
    )
