"""Remakes tests/hub/fixtures: small files as torch.save writes them. Needs PyTorch; tests do not.

    python tests/hub/make_pth_fixtures.py

Every file holds the same checkpoint, so that one table of expected values (`expected.npz`, and the
constants in test_pth.py) serves them all.
"""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path

import numpy as np
import torch

FOLDER = Path(__file__).parent / "fixtures"


def checkpoint() -> OrderedDict[str, torch.Tensor]:
    """Every layout and dtype that a state dict may hold."""
    torch.manual_seed(0)
    base = torch.arange(24, dtype=torch.float32).reshape(4, 6)
    shared = torch.arange(6, dtype=torch.float32)
    return OrderedDict(
        contiguous=base.clone(),
        transposed=base.t(),  # strides (1, 6)
        strided=base[1:, ::2],  # storage offset 6, strides (6, 2)
        channels_last=torch.randn(2, 3, 2, 2).contiguous(memory_format=torch.channels_last),
        expanded=torch.tensor([7.0]).expand(3, 2),  # strides (0, 0)
        shared=shared,
        shared_tail=shared[4:],
        half=torch.tensor([1.5, -2.0, 65504.0], dtype=torch.float16),
        bfloat=torch.tensor([1.5, -3.0, 3e38], dtype=torch.bfloat16),
        double=torch.tensor([0.1], dtype=torch.float64),
        int64=torch.tensor([-1, 2**40], dtype=torch.int64),
        uint8=torch.tensor([0, 255], dtype=torch.uint8),
        boolean=torch.tensor([True, False]),
        scalar=torch.tensor(7, dtype=torch.int64),  # as num_batches_tracked
        empty=torch.empty(0, 3),
        parameter=torch.nn.Parameter(torch.tensor([0.25, 0.5])),
    )


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    state = checkpoint()
    plain = {name: t.detach().float().numpy() if t.dtype == torch.bfloat16 else t.detach().numpy()
             for name, t in state.items()}  # fmt: skip
    np.savez_compressed(FOLDER / "expected.npz", **plain)
    torch.save(state, FOLDER / "zip.pth")
    torch.save(state, FOLDER / "legacy.pth", _use_new_zipfile_serialization=False)
    torch.save(state, FOLDER / "zip_protocol4.pth", pickle_protocol=4)

    model = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2))
    with torch.no_grad():
        model[0].weight.copy_(torch.arange(18.0).reshape(2, 1, 3, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    model(torch.ones(1, 1, 4, 4)).sum().backward()
    optimizer.step()
    training = {
        "epoch": 3,
        "arch": "tiny",
        "state_dict": {f"module.{name}": t for name, t in model.state_dict().items()},
        "best_acc1": torch.tensor(76.13),
        "optimizer": optimizer.state_dict(),
    }
    torch.save(training, FOLDER / "training.pth")
    torch.save(training, FOLDER / "training_legacy.pth", _use_new_zipfile_serialization=False)
    torch.save(model, FOLDER / "whole_model.pth")
    # A dtype without a storage class of its own takes another way through the pickle.
    torch.save({"w": torch.tensor([1, 65535], dtype=torch.uint16)}, FOLDER / "uint16.pth")
    torch.save({"w": torch.tensor([1 + 2j])}, FOLDER / "complex.pth")
    torch.jit.save(torch.jit.script(torch.nn.Linear(1, 1)), str(FOLDER / "torchscript.pth"))


if __name__ == "__main__":
    main()
