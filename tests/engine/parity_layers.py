"""Parity cases of layers: keys of the state dict, results, gradients of parameters, buffers."""

from __future__ import annotations

from tests.engine.parity_cases import Case

LAYER_CASES: list[Case] = []
