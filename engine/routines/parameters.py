"""What the random distributions check about their parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import engine
from engine._C import Generator, Tensor, dtype
from engine.routines.arguments import is_floating

Shape: TypeAlias = int | Sequence[int] | None
Parameter: TypeAlias = float | Tensor


def setting(
    name: str, shape: Shape, to: dtype | None, *parameters: Parameter
) -> tuple[tuple[int, ...], dtype]:
    """The result's shape and dtype: the parameters' own where none is named."""
    tensors = [p for p in parameters if isinstance(p, Tensor)]
    if to is None:
        to = engine.float32
        for t in tensors:
            if is_floating(t.dtype):
                to = t.dtype if to == engine.float32 else engine.promote_types(to, t.dtype)
    if not is_floating(to):
        raise TypeError(f"{name}: expected a floating-point dtype, got {to}")
    common = engine.broadcast_shapes(*(t.shape for t in tensors)) if tensors else ()
    if shape is None:
        return common, to
    wanted = (shape,) if isinstance(shape, int) else tuple(shape)
    if engine.broadcast_shapes(common, wanted) != wanted:
        raise ValueError(f"{name}: parameters of shape {common} do not broadcast to {wanted}")
    return wanted, to


def check_above(name: str, what: str, p: Parameter, low: float, *, closed: bool = False) -> None:
    least = float(engine.min(p.detach())) if isinstance(p, Tensor) and p.size else p
    if isinstance(least, Tensor):
        return
    if not (least >= low if closed else least > low):
        raise ValueError(f"{name}: {what} is {least}; expected {'>=' if closed else '>'} {low}")


def rand(shape: tuple[int, ...], to: dtype, generator: Generator | None) -> Tensor:
    return engine.rand(shape, dtype=to, generator=generator)
