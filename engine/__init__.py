"""A small tensor and autograd engine: native kernels, numpy at home, gradients by tape.

The public namespace follows the Python array API standard for arrays and PyTorch for gradients.

>>> import engine
>>> x = engine.asarray([1.0, 2.0, 3.0])
>>> x.requires_grad = True
>>> (x * x).sum().backward()
>>> x.grad
Tensor([2., 4., 6.], dtype=float32)
"""

from __future__ import annotations

import os as _os
from typing import TYPE_CHECKING

from engine import _C, autograd
from engine._C import *  # noqa: F403
from engine._C import AutogradError, Generator, Tensor, dtype
from engine.autograd.gradients import grad
from engine.extension import get_include
from engine.grad_mode import enable_grad, inference_mode, no_grad

if TYPE_CHECKING:
    from engine import nn, optim

# The array API's constants.
newaxis = None
e = 2.718281828459045
pi = 3.141592653589793
inf = float("inf")
nan = float("nan")

# Messages name the user's line, not one of ours.
_C._set_package_dir(_os.path.dirname(_os.path.abspath(__file__)))


def __getattr__(name: str) -> object:
    # nn and optim load when first used: importing the engine stays quick.
    if name in ("nn", "optim"):
        import importlib

        return importlib.import_module(f"engine.{name}")
    raise AttributeError(f"module 'engine' has no attribute '{name}'")


__all__ = [  # noqa: PLE0604
    *(name for name in vars(_C) if not name.startswith("_")),
    "AutogradError",
    "Generator",
    "Tensor",
    "dtype",
    "enable_grad",
    "get_include",
    "grad",
    "inference_mode",
    "no_grad",
    "autograd",
    "nn",
    "optim",
    "newaxis",
    "e",
    "pi",
    "inf",
    "nan",
]
