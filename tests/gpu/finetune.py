"""A short training run on a GPU, and what it reaches: ResNet-20 on the digits in the package.

    python -m tests.gpu.finetune [--device cuda] [--steps 200]

The command `zoo finetune` has no --device yet; this runs the same model and optimizer by hand.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import engine
from engine.nn import functional as F
from engine.optim import SGD
from zoo.demo import load_digits
from zoo.models import resnet


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--steps", type=int, default=200)
    options = parser.parse_args()
    digits = load_digits()
    labels = np.asarray(digits.labels)
    pictures = np.asarray(digits.images, np.float32) / 127.5 - 1  # (N, 8, 8)
    order = np.random.default_rng(0).permutation(len(labels))
    held, rest = order[:360], order[360:]

    def batch(rows: np.ndarray) -> engine.Tensor:
        three = np.repeat(pictures[rows][:, None], 3, axis=1)  # (N, 3, 8, 8)
        return engine.asarray(three).to(options.device)

    engine.manual_seed(0)
    model = resnet.build("resnet20", num_classes=10).to(options.device)
    optimizer = SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    rng = np.random.default_rng(1)
    start = time.perf_counter()
    first = last = 0.0
    for _ in range(options.steps):
        rows = rng.choice(rest, 64, replace=False)
        optimizer.zero_grad()
        target = engine.asarray(labels[rows].astype(np.int64)).to(options.device)
        loss = F.cross_entropy(model(batch(rows)), target)
        loss.backward()
        optimizer.step()
        last = loss.item()
        first = first or last
    seconds = time.perf_counter() - start
    model.eval()
    with engine.no_grad():
        guess = model(batch(held)).to("cpu").numpy().argmax(1)
    right = float((guess == labels[held]).mean())
    print(f"{options.steps} steps in {seconds:.1f} s, loss {first:.2f} to {last:.2f}, "
          f"{right:.1%} of {len(held)} held-out digits")  # fmt: skip
    if not last < first:
        raise SystemExit("the loss did not fall")


if __name__ == "__main__":
    main()
