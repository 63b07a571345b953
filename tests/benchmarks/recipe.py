"""The default recipe beside PyTorch with fastai's published schedule, from the same weights.

    python tests/benchmarks/recipe.py [--data demo] [--data DIR ...] [--seeds 3] [--epochs 4]
        [--peer-python PYTHON]

(tests/benchmarks/sets.py makes folders for --data.)

Both sides fine-tune resnet20 from the letters that come with zoo, on the same split of the same
32-pixel squares, with the same random shifts (and mirror images, but for the demo's digits).
PyTorch runs `fine_tune(EPOCHS)` as fastai publishes it: an epoch of the last layer (norms learn
too), one cycle at 2e-3 with 99% of it on the way up; then EPOCHS of all layers, one cycle at 1e-3,
a hundredth of that for the first layers, 30% on the way up from a fifth; AdamW with weight decay
0.01 and momentum between 0.95 and 0.85; batches of 64. Squares are decoded beforehand for both.
Means over the seeds are printed; wall and processor seconds are those of training and validating.
Last comes how long zoo takes to be as good as PyTorch is at its end, as a share of PyTorch's time.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
MODEL, SIDE, SHIFT = "resnet20", 32, 4


def prepare(data: str, seed: int, path: Path) -> None:
    """Both parts as squares, and the starting weights, in one .npz."""
    import hub
    from zoo import demo
    from zoo.data import prepare_folder
    from zoo.loading import load

    prepared = demo.prepare_digits(seed=seed) if data == "demo" else prepare_folder(data, seed=seed)
    preprocessing = load(MODEL, "default", 10).preprocessing
    arrays: dict[str, np.ndarray] = {}
    for part, images in (("train", prepared.train), ("val", prepared.val)):
        squares = [preprocessing.apply(images.load(i)) for i in range(len(images))]
        arrays |= {f"{part}_x": np.stack(squares), f"{part}_y": images.labels}
    arrays |= {"mean": np.array(preprocessing.mean), "std": np.array(preprocessing.std)}
    state = hub.read_state_dict(hub.weights(hub.get_card("resnet20.letters")))
    arrays |= {f"w/{name}": np.asarray(value) for name, value in state.items()}
    np.savez(path, **arrays)


def ours(path: Path, flip: float, seed: int, epochs: int) -> dict[str, Any]:
    from zoo.data import ArrayImages
    from zoo.loading import load
    from zoo.train.config import TrainConfig
    from zoo.train.log import read_rows
    from zoo.train.picture_task import PictureTask
    from zoo.train.recipes import make_recipe
    from zoo.train.trainer import Trainer

    arrays = np.load(path)
    names = [str(i) for i in range(int(arrays["train_y"].max()) + 1)]
    train, val = (ArrayImages(arrays[f"{p}_x"], arrays[f"{p}_y"], names) for p in ("train", "val"))
    recipe = make_recipe("auto", pretrained=True, counts=train.counts().tolist())
    config = TrainConfig(**{**recipe.settings, "flip": flip, "seed": seed, "threads": 2})
    import engine

    engine.manual_seed(seed)
    network = load(MODEL, "default", len(names))
    network.classes = tuple(names)
    with tempfile.TemporaryDirectory() as out:
        wall, cpu = time.perf_counter(), time.process_time()
        task = PictureTask(network, train, val, config)
        origin = {"source": network.source, "data": {}}
        best = Trainer(task, config, Path(out), origin, say=lambda line: None).fit().best
        rows = [row for row in read_rows(Path(out) / "metrics.jsonl") if row["kind"] == "epoch"]
    assert best is not None
    return {
        "accuracy": best.metrics["val_accuracy"],
        "wall": time.perf_counter() - wall,
        "cpu": time.process_time() - cpu,
        "epochs": [(row["seconds"], row["val_accuracy"]) for row in rows],
    }


def peer(path: Path, flip: float, seed: int, epochs: int) -> dict[str, Any]:
    import torch

    from tests.zoo.reference.torch_resnet import Net

    torch.set_num_threads(2)
    torch.manual_seed(seed)
    arrays = np.load(path)
    classes = int(arrays["train_y"].max()) + 1
    state = {n[2:]: torch.from_numpy(arrays[n]) for n in arrays.files if n.startswith("w/")}
    net = Net(MODEL, len(state["fc.bias"]))
    net.load_state_dict(state)
    net.fc = torch.nn.Linear(net.fc.in_features, classes)
    net = net.to(memory_format=torch.channels_last)
    mean, std = (
        torch.from_numpy(arrays[n]).float().view(1, 3, 1, 1) * 255 for n in ("mean", "std")
    )
    x, y, val_x, val_y = (
        torch.from_numpy(arrays[n]) for n in ("train_x", "train_y", "val_x", "val_y")
    )

    def batch_of(squares: torch.Tensor) -> torch.Tensor:
        return ((squares.permute(0, 3, 1, 2).float() - mean) / std).contiguous(
            memory_format=torch.channels_last
        )

    def shifted(squares: torch.Tensor) -> torch.Tensor:
        padded = torch.nn.functional.pad(
            squares.permute(0, 3, 1, 2).float(), (SHIFT,) * 4, mode="replicate"
        )
        n, at = len(padded), torch.arange(SIDE)
        top, left = (torch.randint(2 * SHIFT + 1, (n, 1)) + at for _ in range(2))
        left = torch.where(torch.rand(n, 1) < flip, left.flip(1), left)
        each = torch.arange(n)[:, None, None]
        views = padded.permute(0, 2, 3, 1)[each, top[:, :, None], left[:, None, :]]
        # The order of channels last is that of the views.
        return (views.permute(0, 3, 1, 2) - mean) / std

    def accuracy() -> float:
        net.eval()
        with torch.no_grad():
            right = sum(
                int((net(batch_of(a)).argmax(1) == b).sum())
                for a, b in zip(val_x.split(64), val_y.split(64), strict=True)
            )
        return right / len(val_y)

    body = [p for n, p in net.named_parameters() if n.startswith(("conv1", "bn1", "layer1"))]
    late = [p for n, p in net.named_parameters() if n.startswith(("layer2", "layer3"))]
    norms = {p for m in net.modules() if isinstance(m, torch.nn.BatchNorm2d)
             for p in m.parameters()}  # fmt: skip
    groups = [body, late, list(net.fc.parameters())]

    def cycle(passes: int, rates: list[float], pct_start: float, div: float) -> float:
        optimizer = torch.optim.AdamW(
            [{"params": p, "lr": r} for p, r in zip(groups, rates, strict=True)],
            betas=(0.95, 0.99), eps=1e-5, weight_decay=0.01,
        )  # fmt: skip
        steps = passes * (len(x) // 64)  # fastai drops the last, partial batch
        schedule = torch.optim.lr_scheduler.OneCycleLR(
            optimizer, rates, steps, pct_start=pct_start, div_factor=div,
            final_div_factor=1e5 / div,
            base_momentum=0.85, max_momentum=0.95,
        )  # fmt: skip
        best = 0.0
        for _ in range(passes):
            net.train()
            order = torch.randperm(len(x))
            for start in range(0, len(x) // 64 * 64, 64):
                chosen = order[start : start + 64]
                loss = torch.nn.functional.cross_entropy(net(shifted(x[chosen])), y[chosen])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                schedule.step()
            best = max(best, accuracy())
        return best

    wall, cpu = time.perf_counter(), time.process_time()
    for p in net.parameters():
        p.requires_grad = p in norms
    for p in net.fc.parameters():
        p.requires_grad = True
    best = cycle(1, [2e-3] * 3, 0.99, 25.0)
    for p in net.parameters():
        p.requires_grad = True
    best = max(best, cycle(epochs, [1e-5, 1e-4, 1e-3], 0.3, 5.0))
    return {
        "accuracy": best,
        "wall": time.perf_counter() - wall,
        "cpu": time.process_time() - cpu,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", action="append")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--peer-python", default=os.environ.get("ZOO_PEER_PYTHON", sys.executable))
    parser.add_argument("--side", nargs=4, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.side:
        side, path, flip, seed = args.side
        run = {"ours": ours, "peer": peer}[side]
        print(json.dumps(run(Path(path), float(flip), int(seed), args.epochs)))
        return
    print(f"{'data':<24} {'side':<8} {'accuracy':>9} {'wall s':>8} {'CPU s':>8}   seeds")
    for data in args.data or ["demo"]:
        found: dict[str, list[dict[str, Any]]] = {"ours": [], "peer": []}
        with tempfile.TemporaryDirectory() as folder:
            for seed in range(args.seeds):
                path = Path(folder) / f"{seed}.npz"
                prepare(data, seed, path)
                for side, rows in found.items():
                    python = args.peer_python if side == "peer" else sys.executable
                    flip = "0" if data == "demo" else "0.5"
                    command = [python, str(Path(__file__).resolve()), "--epochs", str(args.epochs),
                               "--side", side, str(path), flip, str(seed)]  # fmt: skip
                    home = {**os.environ, "ZOO_HOME": f"{folder}/home{seed}"}
                    done = subprocess.run(
                        command, check=True, stdout=subprocess.PIPE, text=True, env=home
                    )
                    rows.append(json.loads(done.stdout.splitlines()[-1]))
        for side, rows in found.items():
            mean = {k: statistics.mean(row[k] for row in rows) for k in ("accuracy", "wall", "cpu")}
            each = " ".join(f"{row['accuracy']:.2%}" for row in rows)
            print(f"{Path(data).name:<24} {side:<8} {mean['accuracy']:>9.2%} "
                  f"{mean['wall']:>8.1f} {mean['cpu']:>8.1f}   {each}")  # fmt: skip
        shares = []
        for mine, theirs in zip(found["ours"], found["peer"], strict=True):
            as_good = (s for s, accuracy in mine["epochs"] if accuracy >= theirs["accuracy"])
            shares.append(next(as_good, math.inf) / theirs["wall"])
        print(f"{'':<24} ours is as good after {', '.join(f'{s:.2f}' for s in shares)} of its time")


if __name__ == "__main__":
    main()
