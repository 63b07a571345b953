"""What every image classifier of the zoo offers besides its layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from engine import Tensor
from engine.nn import Linear, Module

if TYPE_CHECKING:
    from hub import Card
    from zoo.data import Preprocessing


class ImageModel(Module):
    """Base class of image classifiers: (N, C, H, W) floats -> (N, number of classes) logits.

    The attributes below are set by `zoo.load`, not by the constructors.

    Attributes:
        arch: name of the architecture.
        card: the model card of its weights, or None for weights of a file and for random ones.
        classes: names of the outputs, in their order; numbers where no names are known.
        preprocessing: how pictures are made ready for these weights.
        source: where the weights are from: "name" (of the card, the file, or "random values") and
            "sha256" (of the file, or None).
        notices: what a person should know about how it was loaded, such as a new last layer.
    """

    classifier_name: ClassVar[str]  # of the last layer: what its state-dict keys start with

    arch: str
    card: Card | None
    classes: tuple[str, ...]
    preprocessing: Preprocessing
    source: dict[str, Any]
    notices: tuple[str, ...]

    def forward_features(self, x: Tensor) -> Tensor:
        """The last maps before pooling: (N, num_features, h, w)."""
        raise NotImplementedError(f"{type(self).__name__} has no forward_features method")

    def predict(self, images: Any, **options: Any) -> Any:
        """What the model says of pictures, prepared as in its validation.

        Args:
            images: one picture, or many in a list, an iterable or an array (N, H, W, C). A picture
                is a path, a PIL image or a uint8 array (H, W), (H, W, 3) RGB or (H, W, 4) RGBA.
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

    def get_classifier(self) -> Linear:
        """The last layer."""
        return getattr(self, self.classifier_name)

    def reset_classifier(self, num_classes: int) -> None:
        """Puts a new, random last layer of that many outputs in; make optimizers afterwards."""
        setattr(self, self.classifier_name, Linear(self.get_classifier().in_features, num_classes))
