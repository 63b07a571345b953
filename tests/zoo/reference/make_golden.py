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
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F

from tests.zoo.reference import seeded, torch_resnet, torch_vgg
from tests.zoo.reference.cases import BATCH, CASES, CLASSES, SEED, THIN, Case

HERE = Path(__file__).parent
LISTED_IN_FULL = ("resnet18", "resnet50", "resnet20", "vgg11", "vgg16_bn")


def network(name: str, num_classes: int | None = None, **config: Any) -> torch.nn.Module:
    """The reference network of that name."""
    if name in torch_vgg.NAMES:
        return torch_vgg.build(name, num_classes or 1000, **config)
    return torch_resnet.build(name, num_classes, **config)


def results(name: str, case: Case) -> dict[str, np.ndarray]:
    """What a seeded network says in both modes, its gradients, and its losses while training."""
    widths = THIN if name in torch_vgg.NAMES else {}
    net = network(name, CLASSES, dtype=torch.float64, **widths)
    shapes = {key: tuple(value.shape) for key, value in net.state_dict().items()}
    state = seeded.seeded_state(shapes, SEED)
    net.load_state_dict({key: torch.from_numpy(value) for key, value in state.items()})
    x = torch.from_numpy(seeded.seeded_pictures((BATCH, 3, case.size, case.size), SEED)).double()
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
            for key in case.whole_gradients:
                found[f"grad/{key}"] = grads[key].flatten()[:48].clone()
            buffers = [b for key, b in net.named_buffers() if not key.endswith("tracked")]
            found["buffer_norms"] = torch.tensor([b.norm() for b in buffers], dtype=torch.float64)
        optimizer.step()
    found["losses"] = torch.stack(losses)
    return {f"{name}/{key}": value.detach().numpy() for key, value in found.items()}


def described(name: str) -> dict[str, object]:
    """Keys, shapes and dtypes of a state dict: all of them, or their number and digest."""
    lines = []
    with torch.device("meta"):
        state = network(name).state_dict()
    for key, value in state.items():
        lines.append(f"{key} {tuple(value.shape)} {str(value.dtype).removeprefix('torch.')}")
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    full = {"lines": lines} if name in LISTED_IN_FULL else {}
    return {"number": len(lines), "sha256": digest, **full}


def main() -> None:
    names = [*torch_resnet.IMAGENET, *torch_resnet.CIFAR, *torch_vgg.NAMES]
    keys = {name: described(name) for name in names}
    (HERE / "state_dict_keys.json").write_text(json.dumps(keys, indent=1) + "\n")
    arrays: dict[str, np.ndarray] = {}
    for name, case in CASES.items():
        arrays |= results(name, case)
    np.savez_compressed(HERE / "golden.npz", **arrays)


if __name__ == "__main__":
    main()
