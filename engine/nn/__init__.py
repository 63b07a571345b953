"""Layers, losses and initial values: PyTorch's names and state-dict keys on this engine.

>>> model = Sequential(Conv2d(3, 8, 3, padding=1), BatchNorm2d(8), ReLU(), Flatten())
>>> model(engine.ones((2, 3, 4, 4))).shape
(2, 128)
"""

from engine.nn import functional, init
from engine.nn.activation import GELU, ReLU
from engine.nn.container import ModuleList, Sequential
from engine.nn.conv import Conv2d
from engine.nn.dropout import Dropout
from engine.nn.embedding import Embedding
from engine.nn.linear import Flatten, Identity, Linear
from engine.nn.loss import CrossEntropyLoss
from engine.nn.module import Module
from engine.nn.norm import BatchNorm2d, LayerNorm
from engine.nn.parameter import Parameter
from engine.nn.pooling import AdaptiveAvgPool2d, AvgPool2d, MaxPool2d
from engine.nn.state import IncompatibleKeys, StateDictError

__all__ = [
    "AdaptiveAvgPool2d",
    "AvgPool2d",
    "BatchNorm2d",
    "Conv2d",
    "CrossEntropyLoss",
    "Dropout",
    "Embedding",
    "Flatten",
    "GELU",
    "Identity",
    "IncompatibleKeys",
    "LayerNorm",
    "Linear",
    "MaxPool2d",
    "Module",
    "ModuleList",
    "Parameter",
    "ReLU",
    "Sequential",
    "StateDictError",
    "functional",
    "init",
]
