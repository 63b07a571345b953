"""Tensors at home among Python's and numpy's habits: the array API namespace, numpy's ufuncs,
copy and pickle.
"""

from __future__ import annotations

import sys
from typing import Any, SupportsIndex

from engine import _C
from engine._C import AutogradError, Device, Tensor

API_VERSION = "2024.12"
# Versions whose behaviour this namespace's includes.
_VERSIONS = ("2021.12", "2022.12", "2023.12", API_VERSION)
# numpy's names, where they are not the array API's.
_RENAMED = {
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh",
    "arctan": "atan", "arctan2": "atan2", "arctanh": "atanh", "conjugate": "conj",
    "left_shift": "bitwise_left_shift", "right_shift": "bitwise_right_shift",
    "invert": "bitwise_invert", "power": "pow", "rint": "round", "true_divide": "divide",
    "mod": "remainder",
}  # fmt: skip


def __array_namespace__(self: Tensor, /, *, api_version: str | None = None) -> Any:
    """The namespace of functions for this tensor: the module engine.

    Raises ValueError for a version of the standard that it does not follow.
    """
    if api_version is not None and api_version not in _VERSIONS:
        raise ValueError(
            f"__array_namespace__: version '{api_version}' of the array API standard is not "
            f"supported; expected one of {', '.join(_VERSIONS)}"
        )
    import engine

    return engine


def to_device(self: Tensor, device: Device | str, /, *, stream: Any = None) -> Tensor:
    """This tensor on a device: 'cpu', 'cuda' or 'cuda:1'.

    Raises NotImplementedError where no GPU can be used, ValueError for a stream: everything goes
    to the one stream that a device has here, in order.

    >>> engine.zeros(2).to_device("cpu").shape
    (2,)
    """
    if stream is not None:
        raise ValueError("to_device: a device has no stream to choose here, expected stream=None")
    return self.to(Device(device))


def __array_ufunc__(self: Tensor, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """numpy's functions on tensors, so that ``numpy.exp(t)`` is ``engine.exp(t)``.

    A ufunc that the engine has under its own name gives a tensor, recorded as ever. Any other, and
    every method such as ``reduce``, runs in numpy on the tensors' memory and gives numpy arrays;
    it raises AutogradError if a tensor requires gradients, which would be lost. With ``out=`` a
    numpy array numpy writes into that.
    """
    import numpy as np

    import engine

    if method == "__call__" and not kwargs:
        function = getattr(engine, _RENAMED.get(ufunc.__name__, ufunc.__name__), None)
        if ufunc.nout == 1 and callable(function):
            sequences = (np.ndarray, list, tuple)
            return function(*(_C.asarray(x) if isinstance(x, sequences) else x for x in inputs))
    named = {key: _as_array(value, ufunc.__name__) for key, value in kwargs.items()}
    return getattr(ufunc, method)(*_as_array(inputs, ufunc.__name__), **named)


def _as_array(x: Any, name: str) -> Any:
    if isinstance(x, Tensor):
        if x.requires_grad:
            raise AutogradError(
                f"numpy.{name}: runs in numpy, which would not record it, and a tensor requires "
                "gradients; use .detach()"
            )
        return x.numpy()
    if type(x) in (list, tuple):
        return type(x)(_as_array(item, name) for item in x)
    return x


def __array_function__(self: Tensor, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """numpy's other functions on tensors: ``numpy.mean(t)`` runs in numpy on the tensor's memory
    and gives numpy's result. Raises AutogradError if a tensor requires gradients.
    """
    name = func.__name__
    named = {key: _as_array(value, name) for key, value in kwargs.items()}
    return func(*_as_array(tuple(args), name), **named)


def __contains__(self: Tensor, value: Any) -> bool:
    return bool(_C.any(self == value))


def __format__(self: Tensor, spec: str) -> str:
    return format(self.item() if self.size == 1 and spec else str(self), spec)


def __divmod__(self: Tensor, other: Any) -> tuple[Tensor, Tensor]:
    return self // other, self % other


def __rdivmod__(self: Tensor, other: Any) -> tuple[Tensor, Tensor]:
    return other // self, other % self


def __copy__(self: Tensor) -> Tensor:
    return self.clone()


def __deepcopy__(self: Tensor, memo: dict[int, Any]) -> Tensor:
    if not self.is_leaf:
        raise AutogradError(
            f"deepcopy: this tensor is the result of '{self.grad_fn}', and its graph cannot be "
            "copied; use .detach() or .clone()"
        )
    copied = self.detach().clone()
    copied.requires_grad = self.requires_grad
    if self.grad is not None:
        copied.grad = self.grad.detach().clone()
    memo[id(self)] = copied
    return copied


def _rebuild(kind: type[Tensor], values: Any, dtype: Any, requires_grad: bool) -> Tensor:
    """What pickle calls: a tensor over an array that pickle has just made."""
    tensor = _C.asarray(values).astype(dtype)
    if kind is not Tensor:
        return kind(tensor, requires_grad)  # type: ignore[call-arg]
    tensor.requires_grad = requires_grad
    return tensor


def __reduce_ex__(self: Tensor, protocol: SupportsIndex) -> Any:
    # Values travel as a numpy array: with protocol 5 as an out-of-band buffer.
    if not self.is_leaf:
        raise AutogradError(
            f"pickle: this tensor is the result of '{self.grad_fn}', and its graph cannot be "
            "pickled; use .detach()"
        )
    values = self.detach()
    if values.dtype == _C.bfloat16:
        values = values.astype(_C.float32)  # numpy has no bfloat16; nothing is lost
    return _rebuild, (type(self), values.numpy(), self.dtype, self.requires_grad)


def is_shared(self: Tensor) -> bool:
    """Whether other processes can see this tensor's memory: see share_memory_.

    >>> engine.zeros(2).is_shared()
    False
    """
    sharing = sys.modules.get("engine.sharing")  # not there: nothing was ever shared
    return sharing is not None and sharing.is_shared(self)


def share_memory_(self: Tensor) -> Tensor:
    """Moves this tensor's elements to memory that processes share, and returns the tensor.

    After that, sending it through a queue or to a pool of multiprocessing copies nothing: the other
    process has a tensor over the same memory. Do it before making views: raises ValueError when
    other tensors look at the memory. A leaf may require gradients; the gradient is not shared.

    >>> t = engine.zeros((2, 3)).share_memory_()
    >>> t.is_shared()
    True
    """
    from engine import sharing  # multiprocessing: too much for every import of the engine

    return sharing.share_memory_(self)


def install() -> None:
    """Gives Tensor the methods of this file."""
    for method in (__array_namespace__, to_device, __array_ufunc__, __array_function__,
                   __contains__, __format__, __divmod__, __rdivmod__, __copy__, __deepcopy__,
                   __reduce_ex__, is_shared, share_memory_):  # fmt: skip
        setattr(Tensor, method.__name__, method)
