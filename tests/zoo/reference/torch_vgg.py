"""VGG in plain PyTorch, with torchvision's state-dict keys: what ours is compared to.

Written from the paper's table 1 and the published key names, and kept apart from `zoo.models.vgg`
on purpose: it shares no line with it. Needs torch.
"""

from __future__ import annotations

import torch
from torch import nn

# Table 1 of arXiv:1409.1556: stage of each convolution, for configurations A, B, D and E.
COLUMNS = {
    "vgg11": "12334455",
    "vgg13": "1122334455",
    "vgg16": "1122333444555",
    "vgg19": "1122333344445555",
}
NAMES = [name + end for name in COLUMNS for end in ("", "_bn")]


class Net(nn.Module):
    def __init__(self, name: str, num_classes: int, widths: list[int], hidden: int):
        super().__init__()
        column = COLUMNS[name.removesuffix("_bn")]
        layers: list[nn.Module] = []
        inputs = 3
        for here, following in zip(column, column[1:] + "6", strict=True):
            outputs = widths[int(here) - 1]
            layers += [nn.Conv2d(inputs, outputs, kernel_size=3, padding=1)]
            layers += [nn.BatchNorm2d(outputs)] if name.endswith("_bn") else []
            layers += [nn.ReLU()]
            layers += [nn.MaxPool2d(2)] if here != following else []
            inputs = outputs
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(
            nn.Linear(49 * widths[-1], hidden),
            nn.ReLU(),
            nn.Dropout(0.0),  # draws of two frameworks differ
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Dropout(0.0),
            nn.Linear(hidden, num_classes),
        )

    def forward(self, x):
        pooled = nn.functional.adaptive_avg_pool2d(self.features(x), (7, 7))
        return self.classifier(torch.flatten(pooled, 1))


def build(
    name: str,
    num_classes: int = 1000,
    dtype: torch.dtype = torch.float32,
    widths: tuple[int, ...] = (64, 128, 256, 512, 512),
    hidden: int = 4096,
) -> Net:
    """The network of that name, or one of its structure with other widths."""
    return Net(name, num_classes, list(widths), hidden).to(dtype)
