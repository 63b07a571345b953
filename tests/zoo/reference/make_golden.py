"""Remakes golden.npz and state_dict_keys.json beside this file, with PyTorch in float64.

    python -m tests.zoo.reference.make_golden

test_models_golden.py compares our models with them, so that machines without PyTorch check the
whole of forward, backward and training too. Weights and pictures come from seeds (seeded.py), so
the files hold results only.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional as F

from tests.zoo.reference import seeded, torch_resnet

HERE = Path(__file__).parent
# name: side of the pictures, pixels
CASES = {"resnet18": 64, "resnet50": 64, "resnext50_32x4d": 64, "resnet20": 32}
BATCH, CLASSES, SEED = 4, 10, 2015
WHOLE_GRADIENTS = ("conv1.weight", "bn1.weight", "fc.bias")  # the first 48 numbers of each
LISTED_IN_FULL = ("resnet18", "resnet50", "resnet20")


def results(name: str, size: int) -> dict[str, np.ndarray]:
    """What a seeded network says in both modes, its gradients, and its losses while training."""
    net = torch_resnet.build(name, CLASSES, torch.float64)
    shapes = {key: tuple(value.shape) for key, value in net.state_dict().items()}
    state = seeded.seeded_state(shapes, SEED)
    net.load_state_dict({key: torch.from_numpy(value) for key, value in state.items()})
    x = torch.from_numpy(seeded.seeded_pictures((BATCH, 3, size, size), SEED)).double()
    target = torch.from_numpy(seeded.seeded_labels(BATCH, CLASSES, SEED))
    found = {"eval_logits": net.eval()(x)}
    optimizer = torch.optim.SGD(
        net.parameters(), lr=0.01, momentum=0.9, nesterov=True, weight_decay=1e-4
    )
    net.train()
    losses = []
    for step in range(4):
        logits = net(x)
        loss = F.cross_entropy(logits, target, label_smoothing=0.1)
        losses.append(loss.detach())
        optimizer.zero_grad()
        loss.backward()
        if step == 0:
            found["train_logits"] = logits
            grads = {key: p.grad for key, p in net.named_parameters()}
            found["grad_norms"] = torch.stack([g.norm() for g in grads.values()])
            for key in WHOLE_GRADIENTS:
                found[f"grad/{key}"] = grads[key].flatten()[:48].clone()
            buffers = [b for key, b in net.named_buffers() if not key.endswith("tracked")]
            found["buffer_norms"] = torch.stack([b.norm() for b in buffers])
        optimizer.step()
    found["losses"] = torch.stack(losses)
    return {f"{name}/{key}": value.detach().numpy() for key, value in found.items()}


def described(name: str) -> dict[str, object]:
    """Keys, shapes and dtypes of a state dict: all of them, or their number and digest."""
    lines = []
    with torch.device("meta"):
        state = torch_resnet.build(name).state_dict()
    for key, value in state.items():
        lines.append(f"{key} {tuple(value.shape)} {str(value.dtype).removeprefix('torch.')}")
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    full = {"lines": lines} if name in LISTED_IN_FULL else {}
    return {"number": len(lines), "sha256": digest, **full}


def main() -> None:
    keys = {name: described(name) for name in (*torch_resnet.IMAGENET, *torch_resnet.CIFAR)}
    (HERE / "state_dict_keys.json").write_text(json.dumps(keys, indent=1) + "\n")
    arrays: dict[str, np.ndarray] = {}
    for name, size in CASES.items():
        arrays |= results(name, size)
    np.savez_compressed(HERE / "golden.npz", **arrays)


if __name__ == "__main__":
    main()
