"""What tests of runs on devices share."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

import hub

COLOURS = {"red": (200, 40, 40), "green": (40, 200, 40)}
# The emulation is not found by itself, as a driver is: how a process of its own begins.
LOAD = (
    "import os\nfrom engine import _C\nfrom engine.cuda import kernels\n"
    "library = os.environ.get('ZOO_EMULATED_LIBRARY')\n"
    "if library:\n    _C._load_backend(library)\n    kernels.open_at(library)\n"
)


def draw_pictures(folder: Path, side: int) -> Path:
    """Four noisy squares of each colour, a folder a class; returns `folder`."""
    rng = np.random.default_rng(0)
    for name, colour in COLOURS.items():
        (folder / name).mkdir(parents=True)
        for i in range(4):
            noisy = np.clip(colour + rng.normal(0, 30, (side, side, 3)), 0, 255).astype(np.uint8)
            Image.fromarray(noisy).save(folder / name / f"{i}.png")
    return folder


def assert_alike(here: Path, there: Path) -> None:
    """Two files of weights differ by rounding only."""
    first, second = (hub.read_safetensors(file)[0] for file in (here, there))
    assert first.keys() == second.keys()
    for name, value in first.items():
        np.testing.assert_allclose(second[name], value, rtol=5e-3, atol=5e-4, err_msg=name)
