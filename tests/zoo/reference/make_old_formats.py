"""Remakes old_formats/ beside this file: a very thin VGG as PyTorch's two older formats have it.

    python -m tests.zoo.reference.make_old_formats

It needs PyTorch (made with 2.13.0), which writes legacy.pth itself; tar.pth, which no installable
PyTorch writes any more, is written by tests/hub/legacy_tar.py, and PyTorch reads it back here.
logits.npy is what PyTorch's network says with the weights read from each, in float64.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from tests.hub.legacy_tar import tar_file, tar_members
from tests.zoo.reference import seeded, torch_vgg
from tests.zoo.reference.cases import BATCH, CLASSES, SEED

FOLDER = Path(__file__).parent / "old_formats"
NAME, SIZE = "vgg11_bn", 64
VERY_THIN = {"widths": (2, 3, 4, 5, 6), "hidden": 7}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    net = torch_vgg.build(NAME, CLASSES, **VERY_THIN)
    shapes = {key: tuple(value.shape) for key, value in net.state_dict().items()}
    state = seeded.seeded_state(shapes, SEED)
    tensors = {key: torch.from_numpy(np.asarray(value)) for key, value in state.items()}
    torch.save(tensors, FOLDER / "legacy.pth", _use_new_zipfile_serialization=False)
    (FOLDER / "tar.pth").write_bytes(tar_file(tar_members(state)))
    x = torch.from_numpy(seeded.seeded_pictures((BATCH, 3, SIZE, SIZE), SEED)).double()
    said = []
    for name in ("legacy.pth", "tar.pth"):
        net = torch_vgg.build(NAME, CLASSES, torch.float64, **VERY_THIN).eval()
        # The tar format keeps classes by name, which weights_only refuses; the file is our own.
        net.load_state_dict(torch.load(FOLDER / name, weights_only=name == "legacy.pth"))
        said.append(net(x).detach().numpy())
    np.testing.assert_array_equal(*said)
    np.save(FOLDER / "logits.npy", said[0])


if __name__ == "__main__":
    main()
