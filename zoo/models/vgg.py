"""Plain convolutional networks, after Simonyan and Zisserman, "Very deep convolutional networks for
large-scale image recognition", arXiv:1409.1556, with and without batch norm (Ioffe and Szegedy,
arXiv:1502.03167).

State-dict keys are torchvision's. Before the fully connected layers the maps are averaged to 7x7,
which leaves those of 224x224 pictures as they are and lets pictures have any size from 32 up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from engine import Tensor, nn
from engine.nn.chain import run_chain
from zoo.models.image_model import FeatureInfo, ImageConfig, ImageModel

_POOLED = 7  # side of the maps that the fully connected layers see, pixels


@dataclass(frozen=True)
class VGGConfig(ImageConfig):
    """One column of the paper's table 1."""

    depths: tuple[int, ...]  # 3x3 convolutions in each stage; a stage ends in a max-pool
    batch_norm: bool = False  # behind each convolution
    widths: tuple[int, ...] = (64, 128, 256, 512, 512)  # channels of each stage's convolutions
    hidden: int = 4096  # numbers that the two hidden layers of the head give


_DEPTHS = {
    "vgg11": (1, 1, 2, 2, 2),  # A
    "vgg13": (2, 2, 2, 2, 2),  # B
    "vgg16": (2, 2, 3, 3, 3),  # D
    "vgg19": (2, 2, 4, 4, 4),  # E
}
VARIANTS: dict[str, VGGConfig] = {
    **{name: VGGConfig(depths) for name, depths in _DEPTHS.items()},
    **{f"{name}_bn": VGGConfig(depths, batch_norm=True) for name, depths in _DEPTHS.items()},
}


class VGG(ImageModel):
    """A plain convolutional network for images.

    Convolutions start as He et al. (arXiv:1502.01852) by fan-out with bias 0, fully connected
    layers normal with deviation 0.01 and bias 0, norms at weight 1 and bias 0.

    Args:
        config: a row of VARIANTS, or one's own.
        num_classes: outputs; None for the paper's, 0 for no last layer: then the outputs are the
            `hidden` numbers before it.
        in_chans: channels of the pictures.
        dropout: part of the hidden numbers that is dropped in training.

    Shapes: x (N, in_chans, H, W) floats, normalised as the weights want it, H and W at least 32
    -> (N, num_classes).

    >>> model = VGG(VGGConfig((1, 1), widths=(8, 16), hidden=32), num_classes=3)
    >>> model(engine.ones((1, 3, 32, 32))).shape
    (1, 3)
    """

    key_maps: ClassVar[tuple[str, ...]] = ("torchvision", "timm_vgg")
    input_name: ClassVar[str] = "features.0"
    classifier_name: ClassVar[str] = "classifier.6"
    head_name: ClassVar[str] = "classifier"

    classifier: nn.Sequential | nn.Identity

    def __init__(
        self,
        config: VGGConfig,
        num_classes: int | None = None,
        in_chans: int = 3,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        self.config: VGGConfig = config
        layers: list[nn.Module] = []
        for depth, width in zip(config.depths, config.widths, strict=True):
            for _ in range(depth):
                layers.append(nn.Conv2d(in_chans, width, 3, padding=1))
                if config.batch_norm:
                    layers.append(nn.BatchNorm2d(width))
                layers.append(nn.ReLU())
                in_chans = width
            layers.append(nn.MaxPool2d(2, stride=2))
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(_POOLED)
        self.num_features = config.widths[-1]
        self.head_features = config.hidden
        self.classifier = nn.Sequential(
            nn.Linear(self.num_features * _POOLED**2, config.hidden),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(config.hidden, config.hidden),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Identity(),
        )
        self.reset_classifier(config.num_classes if num_classes is None else num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=0.01)
            if isinstance(module, nn.Conv2d | nn.Linear) and module.bias is not None:
                nn.init.zeros_(module.bias)

    @property
    def feature_info(self) -> tuple[FeatureInfo, ...]:
        """Each stage's maps before its max-pool, and those behind the last."""
        strides = [2**i for i in range(len(self.config.widths) + 1)]
        widths = (*self.config.widths, self.config.widths[-1])
        names = [f"stage{i}" for i in range(1, len(widths))] + ["features"]
        return tuple(map(FeatureInfo, names, widths, strides))

    def forward_features(self, x: Tensor, taps: list[Tensor] | None = None) -> Tensor:
        """The maps behind the last max-pool: (N, in_chans, H, W) -> (N, C, H / 32, W / 32); sizes
        round down. See ImageModel.

        Raises:
            ValueError: smaller pictures than 32x32.
        """
        least = 2 ** len(self.config.widths)
        if min(x.shape[-2:]) < least:
            raise ValueError(
                f"vgg: pictures of {x.shape[-2]}x{x.shape[-1]} pixels; expected {least} or more of "
                "each, since every stage halves them"
            )
        if taps is None:
            return self.features(x)
        stage: list[nn.Module] = []
        for layer in self.features:
            if isinstance(layer, nn.MaxPool2d):
                x = run_chain(stage, x)
                taps.append(x)  # (N, C, H, W), halved next
                stage = []
            stage.append(layer)
        x = run_chain(stage, x)
        if taps is not None:
            taps.append(x)
        return x

    def forward_head(self, maps: Tensor) -> Tensor:
        """(N, C, h, w) maps of the last stage -> (N, num_classes)."""
        return self.classifier(self.avgpool(maps).flatten(1))


def build(
    variant: str,
    num_classes: int | None = None,
    in_chans: int = 3,
    dropout: float = 0.5,
) -> VGG:
    """A randomly initialised network, in training mode.

    Args:
        variant: a key of VARIANTS.
        num_classes, in_chans, dropout: see VGG.

    Raises:
        KeyError: no such variant.

    >>> with nn.init.skip_random():
    ...     build("vgg11").num_parameters
    132863336
    """
    if variant not in VARIANTS:
        raise KeyError(f"vgg: no variant '{variant}'; expected one of {', '.join(VARIANTS)}")
    return VGG(VARIANTS[variant], num_classes, in_chans, dropout)
