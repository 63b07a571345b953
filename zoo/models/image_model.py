"""What every image classifier of the zoo offers besides its layers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from engine import Tensor
from engine.nn import Linear, init
from zoo.data.transforms import Preprocessing
from zoo.models.zoo_model import ZooModel

if TYPE_CHECKING:
    from hub import Card


@dataclass(frozen=True, kw_only=True)
class ImageConfig:
    """What every row of a table of image classifiers has."""

    task: ClassVar[str] = "image-classification"

    num_classes: int = 1000  # of the task in the paper
    image_size: int = 224  # side of its pictures, pixels

    @property
    def designed_for(self) -> str:
        """The pictures and classes of the paper, in words."""
        return f"{self.image_size}x{self.image_size} pixels and {self.num_classes} classes"

    @property
    def preprocessing(self) -> Preprocessing:
        """For weights that do not say how pictures were prepared for them."""
        # Photographs lose a margin, as for the published ImageNet weights; small pictures are
        # whole.
        return Preprocessing(self.image_size, 256 if self.image_size == 224 else self.image_size)


class ImageModel(ZooModel):
    """Base class of image classifiers: (N, C, H, W) floats -> (N, number of classes) logits.

    `zoo.load` sets the attributes below and those of ZooModel, not the constructors.

    Attributes:
        classes: names of the outputs, in their order; numbers where no names are known.
        preprocessing: how pictures are made ready for these weights.
    """

    classifier_name: ClassVar[str]  # of the last layer: what its state-dict keys start with

    config: ImageConfig
    classes: tuple[str, ...]
    preprocessing: Preprocessing

    def forward_features(self, x: Tensor) -> Tensor:
        """The last maps before pooling: (N, num_features, h, w)."""
        raise NotImplementedError(f"{type(self).__name__} has no forward_features method")

    def get_classifier(self) -> Linear:
        """The last layer."""
        return getattr(self, self.classifier_name)

    def reset_classifier(self, num_classes: int) -> None:
        """Puts a new, random last layer of that many outputs in; make optimizers afterwards."""
        setattr(self, self.classifier_name, Linear(self.get_classifier().in_features, num_classes))

    def adapt(
        self, state: dict[str, Any], wanted: Mapping[str, Any], label: str
    ) -> tuple[dict[str, Any], tuple[str, ...]]:
        """A last layer of as many classes as the weights have, or of the wanted number.

        See ZooModel.adapt. With another number than the weights' the layer is new and random.
        """
        head, num_classes = self.classifier_name, wanted.get("num_classes")
        found = state.get(f"{head}.weight")
        stored = None if found is None or found.ndim != 2 else found.shape[0]
        if num_classes in (None, stored):
            with init.skip_random():
                self.reset_classifier(stored or self.config.num_classes)
            return state, ()
        self.reset_classifier(num_classes)
        body = {key: value for key, value in state.items() if not key.startswith(f"{head}.")}
        fresh = self.get_classifier().state_dict()
        has = "none" if stored is None else f"one for {stored}"
        return (
            body | {f"{head}.{key}": value for key, value in fresh.items()},
            (f"new last layer for {num_classes} classes; {label} has {has}",),
        )

    def describe(self, card: Card | None, run: Mapping[str, Any]) -> None:
        """Sets `classes` and `preprocessing`; see ZooModel.describe."""
        names: tuple[str, ...] = ()
        self.preprocessing = self.config.preprocessing
        if card is not None and card.classes is not None and card.input is not None:
            names = card.classes.names
            given = card.input
            self.preprocessing = Preprocessing(
                size=given.crop,
                resize=given.resize,
                interpolation=given.interpolation,
                mean=(given.mean[0], given.mean[1], given.mean[2]),
                std=(given.std[0], given.std[1], given.std[2]),
            )
        elif run:
            names = tuple(str(name) for name in run["classes"])
            self.preprocessing = Preprocessing.from_dict(run["preprocessing"])
        outputs = self.get_classifier().out_features
        self.classes = names if len(names) == outputs else tuple(map(str, range(outputs)))


def expect_images(model: ZooModel) -> ImageModel:
    """The same model, known to classify images.

    Raises:
        WrongTask: it does something else.
    """
    if not isinstance(model, ImageModel):
        from zoo.errors import WrongTask

        raise WrongTask(
            f"{model.arch} does not classify pictures. To see the models that do, type: zoo list"
        )
    return model
