"""Where new tensors go, and the library that knows the GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from engine import _C
from engine._C import Device


@contextmanager
def device(where: Device | str) -> Iterator[Device]:
    """Inside, functions of this thread that make tensors from nothing put them there.

    Tensors that exist stay where they are, and operations happen where their operands are.

    Args:
        where: "cpu", "cuda" (the first GPU), "cuda:1" or a tensor's ``device``.

    Raises:
        NotImplementedError: no GPU can be used; the message says why.
        ValueError: the machine has no such GPU.

    >>> with engine.device("cpu"):
    ...     engine.zeros(2).device
    Device('cpu')
    """
    chosen = Device(where)
    before = _C._default_device()
    _C._set_default_device(chosen)
    try:
        yield chosen
    finally:
        _C._set_default_device(before)
