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
from typing import Any as _Any

from engine import _C, amp, autograd, interop, routines
from engine._C import *  # noqa: F403
from engine._C import AutogradError, Device, Generator, Tensor, dtype
from engine.amp import autocast
from engine.autograd.gradients import grad  # type: ignore[assignment]
from engine.creation import (  # type: ignore[assignment]  # noqa: F401
    arange,
    empty,
    eye,
    full,
    linspace,
    ones,
    zeros,
)
from engine.data_types import astype, can_cast, finfo, iinfo, isdtype, result_type
from engine.elementwise import (  # type: ignore[assignment]  # noqa: F401
    bitwise_invert,
    clip,
    nextafter,
    positive,
)
from engine.extension import get_include
from engine.grad_mode import enable_grad, inference_mode, no_grad
from engine.inspection import __array_namespace_info__
from engine.placement import device
from engine.shaping import (  # type: ignore[assignment]  # noqa: F401
    concat,
    expand_dims,
    permute_dims,
    squeeze,
    take,
    where,
)

if TYPE_CHECKING:
    from engine import cuda, distributed, fft, linalg, nn, optim
    from engine.routines import *  # noqa: F403

# The array API's constants.
newaxis = None
e = 2.718281828459045
pi = 3.141592653589793
inf = float("inf")
nan = float("nan")
__array_api_version__ = interop.API_VERSION

interop.install()

_here = _os.path.dirname(_os.path.abspath(__file__))
# Messages name the user's line, not one of ours.
_C._set_package_dir(_here)
_C._load_backend_if_possible(_os.path.join(_here, "_cuda.so"))
if _C._backend_info() is not None:  # it has to know where NVIDIA's libraries lie
    from engine.cuda import kernels as _kernels

    _kernels.open_at(_kernels.FILE)


def __getattr__(name: str) -> _Any:
    # These load when first used: importing the engine stays quick.
    if name in ("cuda", "distributed", "fft", "linalg", "nn", "optim"):
        import importlib

        return importlib.import_module(f"engine.{name}")
    if name in routines.__all__:
        globals()[name] = value = getattr(routines, name)
        return value
    raise AttributeError(f"module 'engine' has no attribute '{name}'")


__all__ = [  # noqa: PLE0604
    *(name for name in vars(_C) if not name.startswith("_")),
    *routines.__all__,
    "AutogradError",
    "Device",
    "Generator",
    "Tensor",
    "dtype",
    "__array_api_version__",
    "__array_namespace_info__",
    "astype",
    "bitwise_invert",
    "can_cast",
    "device",
    "enable_grad",
    "finfo",
    "iinfo",
    "isdtype",
    "nextafter",
    "positive",
    "result_type",
    "get_include",
    "grad",
    "inference_mode",
    "no_grad",
    "amp",
    "autocast",
    "autograd",
    "cuda",
    "distributed",
    "fft",
    "linalg",
    "nn",
    "optim",
    "newaxis",
    "e",
    "pi",
    "inf",
    "nan",
]
