"""What every image classifier of the zoo offers besides its layers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from engine import Tensor
from engine.nn import Identity, Linear, Module, init
from zoo.data.transforms import Preprocessing
from zoo.models.zoo_model import ZooModel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hub import Card

_COLOURS = 3  # channels of the pictures that published weights are for


@dataclass(frozen=True, kw_only=True)
class ImageConfig:
    """What every row of a table of image classifiers has.

    >>> zoo.load("resnet20").config.num_classes
    10
    """

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


@dataclass(frozen=True)
class FeatureInfo:
    """What one stage's maps are.

    >>> zoo.load("resnet20").feature_info[0].channels
    16
    """

    name: str  # of the stage
    channels: int
    stride: int  # pixels of the picture that a pixel of the maps stands for, along each side


class ImageModel(ZooModel):
    """Base class of image classifiers: (N, C, H, W) floats -> (N, number of classes) logits.

    `zoo.load` sets `classes` and `preprocessing`, and what ZooModel says; the constructors set the
    rest.

    Attributes:
        classes: names of the outputs, in their order; numbers where no names are known; none
            without a last layer.
        preprocessing: how pictures are made ready for these weights.
        thresholds: where pictures may have several labels, the probability from which each is
            given; None: each picture has one class.
        num_features: channels of the last maps.
        head_features: numbers that the last layer sees.

    >>> model = zoo.load("resnet20", num_classes=3)
    >>> isinstance(model, ImageModel), model.classes
    (True, ('0', '1', '2'))
    """

    input_name: ClassVar[str]  # of the first convolution: what its state-dict keys start with
    classifier_name: ClassVar[str]  # of the last layer, likewise
    head_name: ClassVar[str]  # of the module that holds all layers behind the last maps

    config: ImageConfig
    classes: tuple[str, ...]
    preprocessing: Preprocessing
    thresholds: tuple[float, ...] | None = None
    num_features: int
    head_features: int

    @property
    def feature_info(self) -> tuple[FeatureInfo, ...]:
        """The maps of every stage, largest first: what a FeatureExtractor returns."""
        raise NotImplementedError(f"{type(self).__name__} has no feature_info")

    def forward_features(self, x: Tensor, taps: list[Tensor] | None = None) -> Tensor:
        """The last maps, before pooling: (N, num_features, h, w).

        Args:
            x: pictures (N, C, H, W).
            taps: if given, the maps that feature_info describes are appended to it; else they are
                freed as soon as they are used.
        """
        raise NotImplementedError(f"{type(self).__name__} has no forward_features method")

    def forward_head(self, maps: Tensor) -> Tensor:
        """From the last maps to the outputs."""
        raise NotImplementedError(f"{type(self).__name__} has no forward_head method")

    def forward(self, x: Tensor) -> Tensor:
        return self.forward_head(self.forward_features(x))

    def predict(self, images: Any, **options: Any) -> Any:
        """What the model says of pictures, prepared as in its validation.

        Args:
            images: one picture, or many in a list, an iterable, a zoo.data.ImageSet or an array
                (N, H, W, C). A picture is a path, a PIL image or a uint8 array (H, W), (H, W, 3)
                RGB or (H, W, 4) RGBA.
            options: `topk` (default 5), `batch_size` (16) and `threads`; see zoo.train.predict.

        Returns:
            A `zoo.train.Prediction` for one picture, a list of them for many. Of many, those that
            cannot be read have `error` set.

        Raises:
            zoo.data.UnreadableImage: the one picture cannot be read.
            TypeError, ValueError: not a picture, or an array of another dtype or shape.

        >>> zoo.load("runs/resnet50-1").predict("cat.jpg").label      # doctest: +SKIP
        'cat'
        """
        from zoo.train.predictions import predict_any

        return predict_any(self, images, **options)

    def embed(self, images: Any, **options: Any) -> NDArray[np.float32]:
        """What the last layer gets to see of pictures: features for search, clustering, or another
        classifier.

        Args:
            images: as for `predict`.
            options: `batch_size` (default 16) and `threads`; see zoo.train.embed.

        Returns:
            (D,) float32 for one picture, (N, D) for many, in their order; D is `head_features`.

        Raises:
            zoo.data.UnreadableImage: one of them cannot be read; zoo.train.embed goes on instead.
            TypeError, ValueError: not a picture, or an array of another dtype or shape.

        >>> zoo.load("resnet50").embed(["cat.jpg", "dog.jpg"]).shape      # doctest: +SKIP
        (2, 2048)
        """
        from zoo.train.predictions import embed_any

        return embed_any(self, images, **options)

    def get_classifier(self) -> Linear | Identity:
        """The last layer; an Identity if there is none."""
        parent, name = self._parent_of_classifier()
        return getattr(parent, name)

    def reset_classifier(self, num_classes: int) -> None:
        """Puts a new, random last layer of that many outputs in, or takes it off (0); make
        optimizers afterwards."""
        if num_classes < 0:
            raise ValueError(f"reset_classifier: num_classes={num_classes}; expected 0 or more")
        new = Linear(self.head_features, num_classes) if num_classes else Identity()
        parent, name = self._parent_of_classifier()
        setattr(parent, name, new)

    def drop_head(self) -> None:
        """Takes all layers behind the last maps off, for a model whose maps are wanted only."""
        setattr(self, self.head_name, Identity())

    def _parent_of_classifier(self) -> tuple[Module, str]:
        *path, name = self.classifier_name.split(".")
        parent: Module = self
        for part in path:
            parent = getattr(parent, part)
        return parent, name

    def adapt(
        self, state: dict[str, Any], wanted: Mapping[str, Any], label: str
    ) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Fits the first layer to the channels and the last one to the classes.

        See ZooModel.adapt. The last layer has as many classes as the weights have, or the wanted
        number: with another number than the weights' it is new and random, with 0 it is taken off.
        Filters for colour pictures become filters for other channels as in timm: summed for one
        channel, else repeated and scaled, so that a grey picture gives the same sums as before.
        """
        state, notices = self._with_channels(state, label)
        if isinstance(getattr(self, self.head_name), Identity):
            start = f"{self.head_name}."
            return {k: v for k, v in state.items() if not k.startswith(start)}, notices
        head, num_classes = self.classifier_name, wanted.get("num_classes")
        found = state.get(f"{head}.weight")
        stored = None if found is None or found.ndim != 2 else found.shape[0]
        if num_classes in (None, stored):
            with init.skip_random():
                self.reset_classifier(stored or self.config.num_classes)
            return state, notices
        self.reset_classifier(num_classes)
        body = {key: value for key, value in state.items() if not key.startswith(f"{head}.")}
        fresh = self.get_classifier().state_dict()
        if fresh:
            has = "none" if stored is None else f"one for {stored}"
            notices += (f"new last layer for {num_classes} classes; {label} has {has}",)
        return body | {f"{head}.{key}": value for key, value in fresh.items()}, notices

    def _with_channels(
        self, state: dict[str, Any], label: str
    ) -> tuple[dict[str, Any], tuple[str, ...]]:
        key = f"{self.input_name}.weight"
        stored, own = state.get(key), self.state_dict()[key]
        if stored is None or stored.ndim != 4 or stored.shape[1] != _COLOURS:
            return state, ()  # nothing to adapt: if it does not fit, loading says so
        channels = own.shape[1]
        if channels == _COLOURS:
            return state, ()
        if channels == 1:
            adapted = stored.sum(axis=1, keepdims=True, dtype="float32")
        else:
            repeated = stored[:, [i % _COLOURS for i in range(channels)]]
            adapted = repeated * (_COLOURS / channels)
        notice = f"first layer for {channels} channels, made of {label}'s for {_COLOURS}"
        return state | {key: adapted.astype("float32")}, (notice,)

    def describe(self, card: Card | None, run: Mapping[str, Any]) -> None:
        """Sets `classes`, `preprocessing` and `thresholds`; see ZooModel.describe."""
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
        dropped = isinstance(getattr(self, self.head_name), Identity)
        last = None if dropped else self.get_classifier()
        outputs = last.out_features if isinstance(last, Linear) else 0
        self.classes = names if len(names) == outputs else tuple(map(str, range(outputs)))
        thresholds = tuple(map(float, run.get("thresholds") or ()))
        self.thresholds = thresholds if len(thresholds) == outputs > 0 else None

    def facts(self) -> dict[str, Any]:
        """See ZooModel.facts; adds "classes", "preprocessing" and, of several labels a picture,
        "thresholds"."""
        channels = self.state_dict()[f"{self.input_name}.weight"].shape[1]
        config = {"num_classes": len(self.classes)}
        if channels != _COLOURS:
            config["in_chans"] = channels
        facts: dict[str, Any] = {
            "config": config,
            "classes": list(self.classes),
            "preprocessing": self.preprocessing.to_dict(),
        }
        if self.thresholds is not None:
            facts["thresholds"] = list(self.thresholds)
        return super().facts() | facts


def expect_images(model: ZooModel) -> ImageModel:
    """The same model, known to classify images.

    Raises:
        WrongTask: it does something else.

    >>> expect_images(zoo.load("resnet20")).input_name
    'conv1'
    """
    if not isinstance(model, ImageModel):
        from zoo.errors import WrongTask

        name = getattr(model, "arch", type(model).__name__)  # zoo.load sets arch at the end
        raise WrongTask(
            f"{name} does not classify pictures. To see the models that do, type: zoo list"
        )
    return model
