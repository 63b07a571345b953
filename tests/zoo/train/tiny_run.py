"""A model and pictures so small that a training step takes a millisecond."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from engine import nn
from zoo.data import ArrayImages, Preprocessing

CLASSES = ("dark", "bright", "striped")
SIDE = 8


class Tiny(nn.Module):
    """conv, batch norm, ReLU, dropout, mean over the picture, linear."""

    classifier_name = "fc"

    def __init__(self, norm: bool = True, dropout: float = 0.0) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 4, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(4) if norm else nn.Identity()
        self.dropout = nn.Dropout(dropout)
        self.fc = nn.Linear(4, len(CLASSES))
        self.arch = "tiny"
        self.config = SimpleNamespace()
        self.classes = CLASSES
        self.preprocessing = Preprocessing(size=SIDE, resize=SIDE)
        self.thresholds = None

    def get_classifier(self) -> nn.Linear:
        return self.fc

    def forward(self, x: Any) -> Any:
        x = nn.functional.relu(self.bn1(self.conv1(x)))  # (N, 4, H, W)
        return self.fc(self.dropout(x.mean(axis=(2, 3))))  # (N, classes)


def pictures(count: int, seed: int = 0) -> ArrayImages:
    """`count` noisy pictures, each class in turn."""
    rng = np.random.default_rng(seed)
    labels = np.arange(count) % len(CLASSES)
    images = rng.integers(0, 60, (count, SIDE, SIDE, 3), dtype=np.uint8)
    images[labels == 1] += 150
    images[labels == 2, ::2] += 150
    return ArrayImages(images, labels, CLASSES)
