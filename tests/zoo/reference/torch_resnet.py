"""Residual networks in plain PyTorch, with torchvision's state-dict keys: what ours is compared to.

Written from the papers and the published key names, and kept apart from `zoo.models.resnet` on
purpose: it shares no line with it, not even the table of variants. Needs torch; nothing that the
package's own tests run imports it where torch is not installed.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

# name: (kind of block, blocks by stage, groups, base width), after He et al. (arXiv:1512.03385,
# table 1), Zagoruyko and Komodakis (arXiv:1605.07146), Xie et al. (arXiv:1611.05431).
IMAGENET = {
    "resnet18": ("basic", [2, 2, 2, 2], 1, 64),
    "resnet34": ("basic", [3, 4, 6, 3], 1, 64),
    "resnet50": ("bottleneck", [3, 4, 6, 3], 1, 64),
    "resnet101": ("bottleneck", [3, 4, 23, 3], 1, 64),
    "resnet152": ("bottleneck", [3, 8, 36, 3], 1, 64),
    "wide_resnet50_2": ("bottleneck", [3, 4, 6, 3], 1, 128),
    "wide_resnet101_2": ("bottleneck", [3, 4, 23, 3], 1, 128),
    "resnext50_32x4d": ("bottleneck", [3, 4, 6, 3], 32, 4),
    "resnext101_32x8d": ("bottleneck", [3, 4, 23, 3], 32, 8),
    "resnext101_64x4d": ("bottleneck", [3, 4, 23, 3], 64, 4),
}
CIFAR = {f"resnet{6 * n + 2}": n for n in (3, 5, 7, 9, 18)}


class ZeroPadded(nn.Module):
    """Shortcut without parameters: subsample, then new channels of zeros at the end."""

    def __init__(self, extra: int):
        super().__init__()
        self.extra = extra

    def forward(self, x):
        return F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, 0, self.extra))


class Basic(nn.Module):
    def __init__(self, inputs: int, planes: int, stride: int, shortcut: nn.Module | None):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, planes, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        if shortcut is not None:
            self.downsample = shortcut

    def forward(self, x):
        skip = self.downsample(x) if hasattr(self, "downsample") else x
        out = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(out)) + skip)


class Bottleneck(nn.Module):
    def __init__(self, inputs: int, planes: int, stride: int, groups: int, base: int, shortcut):
        super().__init__()
        width = int(planes * base / 64) * groups
        self.conv1 = nn.Conv2d(inputs, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, groups=groups, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, 4 * planes, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(4 * planes)
        if shortcut is not None:
            self.downsample = shortcut

    def forward(self, x):
        skip = self.downsample(x) if hasattr(self, "downsample") else x
        out = F.relu(self.bn1(self.conv1(x)))
        out = F.relu(self.bn2(self.conv2(out)))
        return F.relu(self.bn3(self.conv3(out)) + skip)


class Net(nn.Module):
    def __init__(self, name: str, num_classes: int):
        super().__init__()
        self.small = name in CIFAR
        if self.small:
            kind, blocks, groups, base = "basic", [CIFAR[name]] * 3, 1, 64
            planes = [16, 32, 64]
            self.conv1 = nn.Conv2d(3, 16, 3, 1, 1, bias=False)
        else:
            kind, blocks, groups, base = IMAGENET[name]
            planes = [64, 128, 256, 512]
            self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(planes[0])
        inputs = planes[0]
        for stage, (p, count) in enumerate(zip(planes, blocks, strict=True)):
            layers = []
            for block in range(count):
                stride = 2 if stage > 0 and block == 0 else 1
                outputs = p if kind == "basic" else 4 * p
                shortcut = None
                if stride == 2 or inputs != outputs:
                    if self.small:
                        shortcut = ZeroPadded(outputs - inputs)
                    else:
                        shortcut = nn.Sequential(
                            nn.Conv2d(inputs, outputs, 1, stride, bias=False),
                            nn.BatchNorm2d(outputs),
                        )
                if kind == "basic":
                    layers.append(Basic(inputs, p, stride, shortcut))
                else:
                    layers.append(Bottleneck(inputs, p, stride, groups, base, shortcut))
                inputs = outputs
            self.add_module(f"layer{stage + 1}", nn.Sequential(*layers))
        self.fc = nn.Linear(inputs, num_classes)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        if not self.small:
            x = F.max_pool2d(x, 3, 2, 1)
        for name, stage in self.named_children():
            if name.startswith("layer"):
                x = stage(x)
        return self.fc(x.mean((2, 3)))


def build(name: str, num_classes: int | None = None, dtype: torch.dtype = torch.float32) -> Net:
    """The network of that name; 1000 classes, or 10 for the small-image ones, unless told."""
    if num_classes is None:
        num_classes = 10 if name in CIFAR else 1000
    return Net(name, num_classes).to(dtype)
