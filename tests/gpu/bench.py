"""Times on a GPU, beside PyTorch's where that is installed; rows for the table of tests/gpu/run.sh.

    python -m tests.gpu.bench [--quick] [--only NAME ...]

Each row is a median of a few turns, engine and PyTorch in turns; a turn is as many calls as take
about 0.3 s, between two waits for the device. Nothing here was read from a GPU when it was written.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import engine
from engine import cuda
from engine.nn import functional as F
from engine.optim import SGD, AdamW
from zoo.models import gpt, resnet

SECONDS, TURNS = 0.3, 5
HAS_TORCH = importlib.util.find_spec("torch") is not None


@dataclass(frozen=True)
class Row:
    """A call of the engine's, PyTorch's of the same (None without), and the operations of one."""

    name: str
    ours: Callable[[], Any]
    peer: Callable[[], Any] | None
    flops: float = 0


def timed(call: Callable[[], Any], wait: Callable[[], Any]) -> float:
    """Seconds of one call."""
    call()
    wait()
    start = time.perf_counter()
    call()
    wait()
    count = max(1, int(SECONDS / max(1e-6, time.perf_counter() - start)))
    start = time.perf_counter()
    for _ in range(count):
        call()
    wait()
    return (time.perf_counter() - start) / count


def measure(row: Row) -> str:
    """A line of the table: milliseconds, TFLOP/s where that means something, and the ratio."""
    ours, peer = [], []
    for _ in range(TURNS):
        ours.append(timed(row.ours, cuda.synchronize))
        if row.peer is not None:
            import torch

            peer.append(timed(row.peer, torch.cuda.synchronize))
    seconds = statistics.median(ours)
    rate = f"{row.flops / seconds / 1e12:8.1f} TFLOP/s" if row.flops else " " * 16
    ratio = f"{statistics.median(peer) / seconds:5.2f}x PyTorch" if peer else ""
    return f"{row.name:34} {seconds * 1e3:9.3f} ms {rate} {ratio}"


def tensors(*shapes: tuple[int, ...]) -> tuple[list[engine.Tensor], list[Any]]:
    """The same numbers for both sides."""
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape, dtype=np.float32) for shape in shapes]
    theirs: list[Any] = []
    if HAS_TORCH:
        import torch

        theirs = [torch.from_numpy(a).cuda() for a in arrays]
    return [engine.asarray(a).to("cuda") for a in arrays], theirs


def simple_rows(quick: bool) -> list[Row]:
    """Single operations."""
    n = 1024 if quick else 4096
    (a, b), theirs = tensors((n, n), (n, n))
    (small,), their_small = tensors((8,))
    heads = (4, 12, 512 if quick else 1024, 64)
    (q, k, v), their_qkv = tensors(heads, heads, heads)
    rows = [
        Row(f"matmul {n} float32", lambda: a @ b,
            (lambda: theirs[0] @ theirs[1]) if theirs else None, 2.0 * n**3),
        Row("add of 8 elements", lambda: small + small,
            (lambda: their_small[0] + their_small[0]) if theirs else None),
        Row(f"softmax {n} x {n}", lambda: F.softmax(a, -1),
            (lambda: theirs[0].softmax(-1)) if theirs else None),
        Row(f"sum of {n} x {n}", lambda: a.sum(), (lambda: theirs[0].sum()) if theirs else None),
    ]  # fmt: skip
    their_attention = None
    if HAS_TORCH:
        from torch.nn.functional import scaled_dot_product_attention

        def their_attention() -> Any:
            return scaled_dot_product_attention(*their_qkv, is_causal=True)

    flops = 2.0 * heads[0] * heads[1] * heads[2] ** 2 * heads[3]  # half of both products
    ours = lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True)  # noqa: E731
    return [*rows, Row("causal attention 12 heads", ours, their_attention, flops)]


def training_rows(quick: bool) -> list[Row]:
    """Training steps of whole models; PyTorch's models are none of ours to ship."""
    batch = 16 if quick else 64
    net = resnet.build("resnet18" if quick else "resnet50").to("cuda")
    sgd = SGD(net.parameters(), lr=0.1, momentum=0.9)
    pictures = engine.rand((batch, 3, 224, 224)).to("cuda")
    classes = engine.randint(0, 1000, (batch,)).to("cuda")
    model = gpt.build("gpt2", dropout=0.0, **({"layers": 2} if quick else {})).to("cuda")
    adam = AdamW(model.parameters(), lr=1e-4)
    tokens = engine.randint(0, 50257, (4, 513)).to("cuda")

    def pictures_step() -> None:
        sgd.zero_grad()
        F.cross_entropy(net(pictures), classes).backward()
        sgd.step()

    def text_step() -> None:
        adam.zero_grad()
        model.loss(tokens[:, :-1], tokens[:, 1:]).backward()
        adam.step()

    return [
        Row(f"ResNet-{18 if quick else 50} training step, {batch}", pictures_step, None),
        Row("GPT-2 training step, 4 x 512", text_step, None),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small shapes, for a short lease")
    parser.add_argument("--only", nargs="*", default=[], help="parts of rows' names")
    options = parser.parse_args()
    if not cuda.is_available():
        raise SystemExit("no GPU can be used; python -c 'import engine; print(*engine.cuda."
                         "findings(), sep=chr(10))' says why")  # fmt: skip
    print(f"{cuda.get_device_name()}, {cuda.versions()}")
    for make in (simple_rows, training_rows):
        for row in make(options.quick):
            if not options.only or any(part in row.name for part in options.only):
                print(measure(row), flush=True)


if __name__ == "__main__":
    main()
