"""Residual networks, after

- He et al., "Deep residual learning for image recognition", arXiv:1512.03385 (resnet*),
- Zagoruyko and Komodakis, "Wide residual networks", arXiv:1605.07146 (wide_resnet*),
- Xie et al., "Aggregated residual transformations", arXiv:1611.05431 (resnext*).

State-dict keys are torchvision's. Bottlenecks stride in their 3x3 convolution, as in the published
torchvision weights ("V1.5"), not in the first 1x1 as in the paper. Batch norm, the addition of the
shortcut and ReLU run as one operation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import engine
from engine import Tensor, nn
from zoo.models.image_model import FeatureInfo, ImageConfig, ImageModel


@dataclass(frozen=True)
class ResNetConfig(ImageConfig):
    """One row of the papers' tables."""

    depths: tuple[int, ...]  # blocks in each stage
    bottleneck: bool = False  # 1x1, 3x3, 1x1 with 4 times the width out; else 3x3, 3x3
    widths: tuple[int, ...] = (64, 128, 256, 512)  # channels of each stage's convolutions
    groups: int = 1  # of the 3x3 convolutions: ResNeXt's cardinality
    group_width: int = 64  # channels of a group, where the stage's width is 64
    small_images: bool = False  # section 4.2 of the paper: 3x3 stem, parameter-free shortcuts


def _small(depth: int) -> ResNetConfig:
    """Section 4.2: depth = 6 n + 2 layers, for the 32x32 pictures of CIFAR-10."""
    blocks = (depth - 2) // 6
    return ResNetConfig(
        (blocks,) * 3, widths=(16, 32, 64), small_images=True, num_classes=10, image_size=32
    )


VARIANTS: dict[str, ResNetConfig] = {
    "resnet18": ResNetConfig((2, 2, 2, 2)),
    "resnet34": ResNetConfig((3, 4, 6, 3)),
    "resnet50": ResNetConfig((3, 4, 6, 3), bottleneck=True),
    "resnet101": ResNetConfig((3, 4, 23, 3), bottleneck=True),
    "resnet152": ResNetConfig((3, 8, 36, 3), bottleneck=True),
    "wide_resnet50_2": ResNetConfig((3, 4, 6, 3), bottleneck=True, group_width=128),
    "wide_resnet101_2": ResNetConfig((3, 4, 23, 3), bottleneck=True, group_width=128),
    "resnext50_32x4d": ResNetConfig((3, 4, 6, 3), bottleneck=True, groups=32, group_width=4),
    "resnext101_32x8d": ResNetConfig((3, 4, 23, 3), bottleneck=True, groups=32, group_width=8),
    "resnext101_64x4d": ResNetConfig((3, 4, 23, 3), bottleneck=True, groups=64, group_width=4),
    **{f"resnet{depth}": _small(depth) for depth in (20, 32, 44, 56, 110)},
}


def _conv3x3(in_channels: int, channels: int, stride: int = 1, groups: int = 1) -> nn.Conv2d:
    return nn.Conv2d(in_channels, channels, 3, stride, padding=1, groups=groups, bias=False)


def _conv1x1(in_channels: int, channels: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(in_channels, channels, 1, stride, bias=False)


class PadShortcut(nn.Module):
    """Option A of the paper, section 3.3: every stride-th pixel, and zeros for new channels."""

    def __init__(self, new_channels: int, stride: int) -> None:
        super().__init__()
        self.new_channels = new_channels
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        x = x[:, :, :: self.stride, :: self.stride]  # (N, C, H / s, W / s)
        n, _, h, w = x.shape
        # Zeros in the order of the pictures, channels last, so that joining copies whole rows.
        zeros = engine.zeros((n, h, w, self.new_channels), dtype=x.dtype, device=x.device)
        return engine.concat([x, zeros.permute_dims((0, 3, 1, 2))], axis=1)  # (N, C', H / s, W / s)

    def extra_repr(self) -> str:
        return f"new_channels={self.new_channels}, stride={self.stride}"


class BasicBlock(nn.Module):
    """y = relu(x' + bn(conv3x3(relu(bn(conv3x3(x)))))), x' the shortcut.

    Shapes: x (N, in_channels, H, W) -> (N, width, H / stride, W / stride).
    """

    def __init__(
        self, in_channels: int, width: int, stride: int, downsample: nn.Module | None
    ) -> None:
        super().__init__()
        self.conv1 = _conv3x3(in_channels, width, stride)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = _conv3x3(width, width)
        self.bn2 = nn.BatchNorm2d(width)
        self.downsample = downsample

    @property
    def last_norm_weight(self) -> Tensor:
        """Of the norm before the addition."""
        assert self.bn2.weight is not None
        return self.bn2.weight

    def forward(self, x: Tensor) -> Tensor:
        shortcut = x if self.downsample is None else self.downsample(x)
        y = self.conv1(x, self.bn1, relu=True)
        return self.conv2(y, self.bn2, residual=shortcut, relu=True)


class Bottleneck(nn.Module):
    """y = relu(x' + bn(conv1x1(relu(bn(conv3x3(relu(bn(conv1x1(x)))))))), x' the shortcut.

    Shapes: x (N, in_channels, H, W) -> (N, out_channels, H / stride, W / stride).
    """

    def __init__(
        self,
        in_channels: int,
        width: int,
        out_channels: int,
        stride: int,
        groups: int,
        downsample: nn.Module | None,
    ) -> None:
        super().__init__()
        self.conv1 = _conv1x1(in_channels, width)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = _conv3x3(width, width, stride, groups)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = _conv1x1(width, out_channels)
        self.bn3 = nn.BatchNorm2d(out_channels)
        self.downsample = downsample

    @property
    def last_norm_weight(self) -> Tensor:
        """Of the norm before the addition."""
        assert self.bn3.weight is not None
        return self.bn3.weight

    def forward(self, x: Tensor) -> Tensor:
        shortcut = x if self.downsample is None else self.downsample(x)
        y = self.conv1(x, self.bn1, relu=True)
        y = self.conv2(y, self.bn2, relu=True)
        return self.conv3(y, self.bn3, residual=shortcut, relu=True)


class ResNet(ImageModel):
    """A residual network for images.

    Convolutions start as He et al. (arXiv:1502.01852) by fan-out, norms at weight 1 and bias 0.

    Args:
        config: a row of VARIANTS, or one's own.
        num_classes: outputs; None for the paper's, 0 for no last layer: then the outputs are the
            last maps' means.
        in_chans: channels of the pictures.
        zero_init_residual: start each block as the identity: the weight of its last norm is 0
            (Goyal et al., arXiv:1706.02677, section 5.1).

    Shapes: x (N, in_chans, H, W) floats, normalised as the weights want it -> (N, num_classes).

    >>> model = build("resnet20", num_classes=10)
    >>> model(engine.ones((1, 3, 32, 32))).shape
    (1, 10)
    """

    key_maps: ClassVar[tuple[str, ...]] = ("torchvision",)
    input_name: ClassVar[str] = "conv1"
    classifier_name: ClassVar[str] = "fc"
    head_name: ClassVar[str] = "fc"

    fc: nn.Linear | nn.Identity

    def __init__(
        self,
        config: ResNetConfig,
        num_classes: int | None = None,
        in_chans: int = 3,
        zero_init_residual: bool = False,
    ) -> None:
        super().__init__()
        self.config: ResNetConfig = config
        channels = config.widths[0]
        if config.small_images:
            self.conv1 = _conv3x3(in_chans, channels)
        else:
            self.conv1 = nn.Conv2d(in_chans, channels, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.stages = tuple(f"layer{i}" for i in range(1, len(config.depths) + 1))
        for i, name in enumerate(self.stages):
            out_channels = config.widths[i] * (4 if config.bottleneck else 1)
            setattr(self, name, self._stage(i, channels, out_channels))
            channels = out_channels
        self.num_features = self.head_features = channels
        self.reset_classifier(config.num_classes if num_classes is None else num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            elif zero_init_residual and isinstance(module, BasicBlock | Bottleneck):
                nn.init.zeros_(module.last_norm_weight)

    def _stage(self, index: int, in_channels: int, out_channels: int) -> nn.Sequential:
        blocks = []
        for number in range(self.config.depths[index]):
            stride = 2 if index > 0 and number == 0 else 1
            blocks.append(self._block(index, in_channels, out_channels, stride))
            in_channels = out_channels
        return nn.Sequential(*blocks)

    def _block(self, index: int, in_channels: int, out_channels: int, stride: int) -> nn.Module:
        config = self.config
        downsample: nn.Module | None = None
        if stride != 1 or in_channels != out_channels:
            if config.small_images:
                downsample = PadShortcut(out_channels - in_channels, stride)
            else:
                downsample = nn.Sequential(
                    _conv1x1(in_channels, out_channels, stride), nn.BatchNorm2d(out_channels)
                )
        if not config.bottleneck:
            return BasicBlock(in_channels, out_channels, stride, downsample)
        width = config.widths[index] * config.group_width // 64 * config.groups
        return Bottleneck(in_channels, width, out_channels, stride, config.groups, downsample)

    @property
    def feature_info(self) -> tuple[FeatureInfo, ...]:
        """The stem's maps, before its max-pool, and each stage's."""
        config = self.config
        first = 1 if config.small_images else 2  # stride of the stem's convolution
        widths = [width * (4 if config.bottleneck else 1) for width in config.widths]
        strides = [first * first * 2**i for i in range(len(widths))]
        stem = FeatureInfo("bn1", config.widths[0], first)
        return (stem, *map(FeatureInfo, self.stages, widths, strides))

    def forward_features(self, x: Tensor, taps: list[Tensor] | None = None) -> Tensor:
        """The last stage's maps: (N, in_chans, H, W) -> (N, C, H / 32, W / 32), or
        H / 4 and W / 4 for the small-image networks; sizes round up. See ImageModel."""
        x = self.conv1(x, self.bn1, relu=True)
        if taps is not None:
            taps.append(x)
        if not self.config.small_images:
            x = nn.functional.max_pool2d(x, 3, stride=2, padding=1)
        for name in self.stages:
            x = getattr(self, name)(x)
            if taps is not None:
                taps.append(x)
        return x

    def forward_head(self, maps: Tensor) -> Tensor:
        """(N, C, h, w) maps of the last stage -> (N, num_classes)."""
        return self.fc(nn.functional.adaptive_avg_pool2d(maps, 1).flatten(1))


def build(
    variant: str,
    num_classes: int | None = None,
    in_chans: int = 3,
    zero_init_residual: bool = False,
) -> ResNet:
    """A randomly initialised network, in training mode.

    Args:
        variant: a key of VARIANTS.
        num_classes, in_chans, zero_init_residual: see ResNet.

    Raises:
        KeyError: no such variant.

    >>> build("resnet18").num_parameters
    11689512
    """
    if variant not in VARIANTS:
        raise KeyError(f"resnet: no variant '{variant}'; expected one of {', '.join(VARIANTS)}")
    return ResNet(VARIANTS[variant], num_classes, in_chans, zero_init_residual)
