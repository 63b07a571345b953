"""The networks that are compared with stored results of the reference framework.

Needs no PyTorch: make_golden.py builds theirs, test_models_golden.py ours.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from zoo.models import resnet, vgg
from zoo.models.image_model import ImageModel

BATCH, CLASSES, SEED = 4, 10, 2015
THIN = {"widths": (8, 12, 16, 24, 24), "hidden": 48}  # so that VGG's results come in seconds


@dataclass(frozen=True)
class Case:
    """One network."""

    size: int  # side of the pictures, pixels
    # Parameters of which the first 48 numbers of the gradient are stored.
    whole_gradients: tuple[str, ...] = ("conv1.weight", "bn1.weight", "fc.bias")


CASES = {
    "resnet18": Case(64),
    "resnet50": Case(64),
    "resnext50_32x4d": Case(64),
    "resnet20": Case(32),
    "vgg11": Case(224, ("features.0.weight", "classifier.0.weight", "classifier.6.bias")),
    "vgg13_bn": Case(64, ("features.0.weight", "features.1.weight", "classifier.6.bias")),
    "vgg16": Case(64, ("features.0.weight", "features.7.weight", "classifier.6.bias")),
    "vgg19_bn": Case(32, ("features.1.bias", "features.4.weight", "classifier.6.weight")),
}


def build(name: str) -> ImageModel:
    """Our network of that case."""
    if name in vgg.VARIANTS:
        return vgg.VGG(replace(vgg.VARIANTS[name], **THIN), CLASSES, dropout=0.0)
    return resnet.build(name, CLASSES)
