"""Training the last layer of a frozen network: zoo beside a plain PyTorch loop.

    python tests/benchmarks/frozen.py [--model resnet18] [--pictures 240] [--epochs 10] [--repeat 1]
        [--peer-python PYTHON]

Both sides start from the same random weights, read the same JPEGs (made here), resize and crop them
alike, and train the same layer with AdamW in batches of 16; both validate after each epoch. PyTorch
runs channels-last in eager mode, decodes in two worker processes, and computes features anew in
every epoch, as its tutorials do. Sides take turns. Wall and processor seconds of the whole process
are printed, start and imports included, with ratio = peer / ours. zoo runs twice: without features
of earlier runs, and with them.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
CLASSES = 4
LR, BATCH = 0.01, 16


def make_pictures(folder: Path, count: int) -> None:
    """`count` JPEGs of 320x256 pixels, a tint for each class; a fifth validates."""
    import numpy as np
    from PIL import Image

    rng = np.random.default_rng(0)
    for i in range(count):
        label = i % CLASSES
        base = rng.integers(0, 255, (6, 8, 3), dtype=np.uint8)
        base[..., label % 3] //= 2 + label // 3 * 3
        part = folder / ("val" if i // CLASSES % 5 == 0 else "train") / f"class{label}"
        part.mkdir(parents=True, exist_ok=True)
        Image.fromarray(base).resize((320, 256), Image.Resampling.BICUBIC).save(part / f"{i}.jpg")


def make_weights(model: str, path: Path) -> None:
    import engine
    import hub
    import zoo

    engine.manual_seed(0)
    network = zoo.load(model, None, 1000)
    hub.write_safetensors(path, {k: v.numpy() for k, v in network.state_dict().items()}, {})


def ours(args: argparse.Namespace) -> float:
    """Best validation accuracy."""
    from zoo.train import finetune

    return finetune(
        args.model, args.folder / "data", weights=args.folder / "w.safetensors", recipe="linear",
        epochs=args.epochs, lr=LR, batch_size=BATCH, label_smoothing=0.0, threads=2,
        out=args.folder / f"run{time.time_ns()}", report=False, say=lambda line: None,
    ).val_accuracy  # fmt: skip


def peer(args: argparse.Namespace) -> float:
    """Best validation accuracy."""
    import numpy as np
    import torch
    from PIL import Image
    from safetensors.torch import load_file

    from tests.zoo.reference.torch_resnet import Net

    torch.set_num_threads(2)
    net = Net(args.model, 1000)
    net.load_state_dict(load_file(args.folder / "w.safetensors"))
    net.fc = torch.nn.Linear(net.fc.in_features, CLASSES)
    net = net.to(memory_format=torch.channels_last).eval()
    for name, parameter in net.named_parameters():
        parameter.requires_grad = name.startswith("fc.")
    mean = torch.tensor([0.485, 0.456, 0.406]).view(3, 1, 1)
    std = torch.tensor([0.229, 0.224, 0.225]).view(3, 1, 1)

    class Pictures(torch.utils.data.Dataset):
        def __init__(self, part: str) -> None:
            self.paths = sorted((args.folder / "data" / part).glob("*/*.jpg"))

        def __len__(self) -> int:
            return len(self.paths)

        def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
            path = self.paths[index]
            image = Image.open(path).convert("RGB").resize((320, 256), Image.Resampling.BILINEAR)
            pixels = np.array(image.crop((48, 16, 272, 240)))
            x = torch.from_numpy(pixels).permute(2, 0, 1).float() / 255
            return (x - mean) / std, int(path.parent.name[-1])

    def loader(part: str, shuffle: bool) -> torch.utils.data.DataLoader:
        return torch.utils.data.DataLoader(Pictures(part), BATCH, shuffle, num_workers=2)

    torch.manual_seed(0)
    optimizer = torch.optim.AdamW(net.fc.parameters(), lr=LR, weight_decay=0.05)
    train, val = loader("train", True), loader("val", False)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, LR, args.epochs * len(train))
    best = 0.0
    for _ in range(args.epochs):
        for x, y in train:
            loss = torch.nn.functional.cross_entropy(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
        with torch.no_grad():
            right = sum(int((net(x).argmax(1) == y).sum()) for x, y in val)
        best = max(best, right / len(val.dataset))
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="resnet18")
    parser.add_argument("--pictures", type=int, default=240)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--peer-python", default=os.environ.get("ZOO_PEER_PYTHON", sys.executable))
    parser.add_argument("--side", choices=("ours", "peer"), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.side:
        print(json.dumps({"ours": ours, "peer": peer}[args.side](args)))
        return
    with tempfile.TemporaryDirectory() as name:
        args.folder = Path(name)
        make_pictures(args.folder / "data", args.pictures)
        make_weights(args.model, args.folder / "w.safetensors")
        found: dict[str, list[tuple[float, float, float]]] = {}
        for turn in range(args.repeat):
            home = str(args.folder / f"home{turn}")
            for label, side in (("zoo", "ours"), ("PyTorch", "peer"), ("zoo again", "ours")):
                found.setdefault(label, []).append(timed(args, side, home))
    print(f"{args.model}, {args.pictures} pictures, {args.epochs} epochs of the last layer")
    print("            wall s    CPU s   accuracy   ratio of wall   of CPU")
    base = [statistics.median(column) for column in zip(*found["PyTorch"], strict=True)]
    for label, rows in found.items():
        wall, cpu, accuracy = (statistics.median(column) for column in zip(*rows, strict=True))
        print(f"{label:<10}{wall:>8.1f} {cpu:>8.1f} {accuracy:>10.1%} {base[0] / wall:>15.1f} "
              f"{base[1] / cpu:>8.1f}")  # fmt: skip


def timed(args: argparse.Namespace, side: str, home: str) -> tuple[float, float, float]:
    """Wall seconds, processor seconds (children included) and accuracy of one side."""
    command = [
        args.peer_python if side == "peer" else sys.executable, str(Path(__file__).resolve()),
        "--side", side, "--folder", str(args.folder), "--model", args.model,
        "--epochs", str(args.epochs),
    ]  # fmt: skip
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, env={**os.environ, "ZOO_HOME": home}
    )
    wall = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, cpu, float(done.stdout.split()[-1])


if __name__ == "__main__":
    main()
