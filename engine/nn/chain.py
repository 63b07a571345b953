"""Modules one after the other, with fewer passes over memory where nobody looks between them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from engine.nn.activation import ReLU
from engine.nn.conv import Conv2d
from engine.nn.module import Module
from engine.nn.norm import BatchNorm2d

M = TypeVar("M", bound=Module)


def run_chain(modules: Iterable[Module], x: Any) -> Any:
    """m2(m1(m0(x))), where a batch norm and a ReLU behind a convolution, or a ReLU behind a batch
    norm, are computed with what they follow. A module with hooks is called as ever.

    >>> run_chain([Conv2d(3, 8, 3), ReLU()], engine.ones((1, 3, 8, 8))).shape
    (1, 8, 6, 6)
    """
    left = list(modules)[::-1]
    while left:
        module = left.pop()
        if _is_plain(module, Conv2d):
            norm = _pop_plain(left, BatchNorm2d)
            x = module(x, norm, relu=_pop_plain(left, ReLU) is not None)
        elif _is_plain(module, BatchNorm2d):
            x = module(x, relu=_pop_plain(left, ReLU) is not None)
        else:
            x = module(x)
    return x


def _is_plain(module: Module, kind: type[Module]) -> bool:
    """Whether a module is of that class, no subclass, and nobody watches it."""
    return type(module) is kind and module._hooks is None


def _pop_plain(left: list[Module], kind: type[M]) -> M | None:
    """Takes the last module away if it is a plain one of that class."""
    if not left or not _is_plain(left[-1], kind):
        return None
    module = left.pop()
    assert isinstance(module, kind)
    return module
