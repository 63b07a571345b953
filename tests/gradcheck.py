"""Gradients against central finite differences, in float64: the engine's own check."""

from __future__ import annotations

from engine.autograd.finite_differences import _joined as joined
from engine.autograd.finite_differences import gradcheck, gradgradcheck

__all__ = ["gradcheck", "gradgradcheck", "joined"]
