"""Automatic differentiation: gradients, custom operations, checkpoints and searches for NaN."""

from __future__ import annotations

from engine._C import Node
from engine.autograd import functional
from engine.autograd.anomaly import detect_anomaly
from engine.autograd.checkpoint import checkpoint
from engine.autograd.finite_differences import gradcheck, gradgradcheck
from engine.autograd.function import Function, once_differentiable
from engine.autograd.gradients import backward, grad
from engine.autograd.saved import saved_tensors_hooks

__all__ = [
    "Function",
    "Node",
    "backward",
    "checkpoint",
    "detect_anomaly",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "once_differentiable",
    "saved_tensors_hooks",
]
