"""From nothing to a first prediction: a new process imports, reads resnet50 from the disk and runs
one picture through it. The engine and PyTorch in turn, over the same file.

    python tests/benchmarks/cold_start.py [--peer-python PYTHON] [--rounds N]

The file is a .pth as PyTorch writes it; both have read it before, so it lies in the system's cache.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from tests.benchmarks.run import find_peer  # noqa: E402

MAKE = """
import sys, torch
from tests.zoo.reference import torch_resnet
torch.save(torch_resnet.build("resnet50").state_dict(), sys.argv[1])
"""
OURS = """
import sys, engine, zoo
model = zoo.load("resnet50", sys.argv[1])
with engine.no_grad():
    model(engine.ones((1, 3, 224, 224)))
"""
PEER = """
import sys, torch
from tests.zoo.reference import torch_resnet
model = torch_resnet.build("resnet50")
model.load_state_dict(torch.load(sys.argv[1], weights_only=True))
with torch.inference_mode():
    model.eval()(torch.ones(1, 3, 224, 224))
"""


def timed(python: str, code: str, path: Path) -> float:
    start = time.perf_counter()
    subprocess.run([python, "-c", code, str(path)], check=True, cwd=HERE.parents[1])
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--peer-python", metavar="PYTHON")
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    peer = find_peer(args.peer_python)
    if peer is None:
        parser.error("PyTorch is needed, which writes the file: --peer-python")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "resnet50.pth")
        timed(peer, MAKE, path)
        sides = {"ours": (sys.executable, OURS), "PyTorch": (peer, PEER)}
        times: dict[str, list[float]] = {name: [] for name in sides}
        for _ in range(args.rounds + 1):
            for name, (python, code) in sides.items():
                times[name].append(timed(python, code, path))
    ours, theirs = (statistics.median(t[1:]) for t in times.values())
    print(f"ours {ours:.2f} s, PyTorch {theirs:.2f} s: {ours / theirs:.2f} of its time")


if __name__ == "__main__":
    main()
