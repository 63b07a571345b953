"""Weights and tokens of small GPT-2s from a seed, for make_gpt_golden.py and the tests."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import numpy as np

SEED, BATCH, LENGTH, VOCAB, CONTEXT, GREEDY = 2019, 2, 11, 61, 48, 30
BEAMS, BEAM_TOKENS = 4, 12
PADS = (3, 0)  # of the padded batch
# name: (layers, width, heads). Depth and heads of the published sizes, four numbers a head.
CASES = {
    "gpt2": (12, 48, 12),
    "gpt2-medium": (24, 64, 16),
    "gpt2-large": (36, 80, 20),
    "gpt2-xl": (48, 100, 25),
    "distilgpt2": (6, 48, 12),
}
WHOLE_GRADIENTS = ("wte.weight", "h.0.attn.c_attn.weight", "h.1.mlp.c_proj.bias", "ln_f.weight")


LONG, LONG_CONTEXT = 200, 256  # tokens of long greedy texts, and the context they are made with


def seeded_gpt_state(
    shapes: Mapping[str, tuple[int, ...]], scale: float = 0.15
) -> dict[str, np.ndarray]:
    """Matrices as after some training, larger than at the start; norms around 1.

    RandomState's streams are frozen by numpy's policy, which those of default_rng are not.
    """
    state = {}
    for name, shape in shapes.items():
        digest = hashlib.sha256(f"{SEED} {name}".encode()).digest()
        draw = np.random.RandomState(int.from_bytes(digest[:4], "big")).standard_normal(shape)
        if len(shape) == 1:
            value = 0.1 * draw + (1.0 if ".ln" in f".{name}" and "weight" in name else 0.0)
        else:
            value = scale * draw
        state[name] = value.astype(np.float32)
    return state


def seeded_tokens() -> np.ndarray:
    """(BATCH, LENGTH) of int64."""
    return np.random.RandomState(SEED).randint(0, VOCAB, (BATCH, LENGTH))
