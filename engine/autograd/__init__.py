"""The tape's own tools: custom operations."""

from __future__ import annotations

from engine.autograd.function import Function, once_differentiable

__all__ = ["Function", "once_differentiable"]
