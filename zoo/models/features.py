"""Classifiers as extractors of features: the maps of their stages in place of classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine import Tensor
from zoo.models.image_model import FeatureInfo, ImageModel
from zoo.models.zoo_model import ZooModel

if TYPE_CHECKING:
    from zoo.data import Preprocessing


class FeatureExtractor(ZooModel):
    """The maps of chosen stages of a classifier, whose head is taken off.

    Args:
        body: the classifier; it is used, not copied.
        stages: numbers of the stages, from 0 for the largest maps; None for all.

    Attributes:
        feature_info: name, channels and stride of each map that is returned, in order.
        preprocessing: the classifier's, where zoo.load made it.

    Shapes: x (N, C, H, W) -> list of (N, channels, H / stride, W / stride).

    >>> import engine
    >>> from zoo.models import resnet
    >>> extractor = FeatureExtractor(resnet.build("resnet20"), stages=[1, 3])
    >>> [maps.shape for maps in extractor(engine.ones((1, 3, 32, 32)))]
    [(1, 16, 32, 32), (1, 64, 8, 8)]
    """

    preprocessing: Preprocessing

    def __init__(self, body: ImageModel, stages: Sequence[int] | None = None) -> None:
        super().__init__()
        info = body.feature_info
        self.stages = tuple(range(len(info)) if stages is None else stages)
        if not self.stages or any(not 0 <= stage < len(info) for stage in self.stages):
            raise ValueError(
                f"features: stages {list(self.stages)}; expected some of 0 to {len(info) - 1}: "
                + ", ".join(f"{i} {f.channels} channels 1/{f.stride}" for i, f in enumerate(info))
            )
        body.drop_head()
        self.body = body
        self.feature_info: tuple[FeatureInfo, ...] = tuple(info[stage] for stage in self.stages)
        for name in ("arch", "card", "source", "notices", "preprocessing"):
            if hasattr(body, name):  # zoo.load has set it
                setattr(self, name, getattr(body, name))
        self.train(body.training)

    def forward(self, x: Tensor) -> list[Tensor]:
        taps: list[Tensor] = []
        self.body.forward_features(x, taps)
        return [taps[stage] for stage in self.stages]
