"""GPT-2 of 124 million parameters, whole: training, writing and reading, beside its peers.

    python tests/benchmarks/gpt2.py [--only ROW ...] [--rounds N] [--json FILE]
        [--peer-python PYTHON]

Rows: a training step of 4 blocks of 256 tokens (all weights, and adapters) and one of a block of
1024; writing at batch 1 in float32 and in fewer bits; reading a prompt of 512 tokens. PyTorch runs
eager with fused attention and fused AdamW; CTranslate2 takes part where --peer-python has it.
Weights are random, the same rows of tokens are used everywhere, and dropout is off.

Each side runs in a process of its own and they take turns, so that a machine that slows down slows
all of them; medians are printed, and the speed of each as a share of the first's. The rate at which
memory can be read takes its turns, too: writing a token reads all weights once. About three minutes
with all sides.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from tests.benchmarks.run import PAUSE, Side, find_peer  # noqa: E402

LAYERS, WIDTH, HEADS, VOCAB = 12, 768, 12, 50257
WRITTEN, READ = 32, 512  # tokens
MATRICES = 12 * LAYERS * WIDTH * WIDTH + VOCAB * WIDTH  # numbers that a written token reads
BITS = {"float32": 32, "bfloat16": 16, "int8": 8, "int4": 4}

# Row: its sides. The first is compared with all others.
ROWS = {
    "train 4x256": ("zoo", "zoo, adapters", "PyTorch"),
    "train 1x1024": ("zoo", "PyTorch"),
    "write": (
        "zoo float32", "zoo bfloat16", "zoo int8", "zoo int4", "PyTorch", "CTranslate2 float32",
        "CTranslate2 int8", "memory",
    ),
    "read 512": ("zoo", "PyTorch", "CTranslate2 float32"),
}  # fmt: skip
ROUNDS = {"train 4x256": 2, "train 1x1024": 2, "write": 3, "read 512": 3}


def tokens(rows: int, length: int) -> Any:
    import numpy as np

    return np.random.default_rng(0).integers(0, VOCAB, (rows, length))


def zoo_work(row: str, side: str) -> Callable[[], object]:
    import engine
    from engine.optim import AdamW
    from zoo.models import gpt
    from zoo.train.lora import LoRAConfig, add_lora

    engine.manual_seed(0)
    model = gpt.build("gpt2", dropout=0.0)
    if row.startswith("train"):
        model.train()
        if side.endswith("adapters"):
            add_lora(model, LoRAConfig(rank=8))
        named = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
        optimizer = AdamW(named, lr=1e-5)
        shape = tuple(map(int, row.split()[1].split("x")))
        ids = engine.asarray(tokens(*shape))

        def step() -> None:
            (model.loss(ids, ids) * (1.0 / ids.size)).backward()
            optimizer.step()
            optimizer.zero_grad()

        return step
    model.eval()
    kind = side.split()[-1]
    if kind in BITS and kind != "float32":
        model.quantize(kind)

    def forward(ids: Any, cache: Any) -> int:
        with engine.no_grad():
            hidden = model.hidden(engine.asarray(ids), cache=cache)
            return int(model.logits(hidden[:, -1]).numpy()[0].argmax())

    if row == "read 512":
        prompt = tokens(1, READ)
        return lambda: forward(prompt, model.new_cache(1, READ))
    return writing(lambda: model.new_cache(1, WRITTEN), forward)


def torch_work(row: str) -> Callable[[], object]:
    import torch

    from tests.zoo.reference.torch_gpt import GPT

    torch.manual_seed(0)
    model = GPT(LAYERS, WIDTH, HEADS)
    if row.startswith("train"):
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
        shape = tuple(map(int, row.split()[1].split("x")))
        ids = torch.from_numpy(tokens(*shape))

        def step() -> None:
            model.loss(ids, ids).backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

        return step
    model.eval()

    class Kept:
        def __init__(self, length: int) -> None:
            self.cache, self.used = model.new_cache(length), 0

    def forward(ids: Any, kept: Kept) -> int:
        with torch.inference_mode():
            hidden = model.hidden(torch.as_tensor(ids), kept.cache, kept.used)
            kept.used += hidden.shape[1]
            return int(model.logits(hidden[:, -1])[0].argmax())

    if row == "read 512":
        prompt = tokens(1, READ)
        return lambda: forward(prompt, Kept(READ))
    return writing(lambda: Kept(WRITTEN), forward)


def writing(new_cache: Callable[[], Any], forward: Callable[..., int]) -> Callable[[], object]:
    """Writes tokens greedily, from one."""

    def write() -> None:
        cache, token = new_cache(), 1
        for _ in range(WRITTEN):
            token = forward([[token]], cache)

    return write


def ctranslate2_work(row: str, side: str, threads: int) -> Callable[[], object]:
    import ctranslate2
    import numpy as np

    spec = ctranslate2.specs.TransformerDecoderModelSpec.from_config(
        LAYERS, HEADS, pre_norm=True, activation=ctranslate2.specs.Activation.GELUTanh
    )
    rng = np.random.default_rng(0)

    def normal(*shape: int) -> Any:
        return rng.standard_normal(shape, dtype=np.float32) * np.float32(0.02)

    def norm(part: Any) -> None:
        part.gamma, part.beta = np.ones(WIDTH, np.float32), np.zeros(WIDTH, np.float32)

    def linear(part: Any, out: int, width: int) -> None:
        part.weight, part.bias = normal(out, width), np.zeros(out, np.float32)

    decoder = spec.decoder
    decoder.scale_embeddings = False
    decoder.embeddings.weight = normal(VOCAB, WIDTH)
    decoder.projection.weight = decoder.embeddings.weight
    decoder.position_encodings.encodings = normal(1024, WIDTH)
    norm(decoder.layer_norm)
    for layer in decoder.layer:
        norm(layer.self_attention.layer_norm)
        linear(layer.self_attention.linear[0], 3 * WIDTH, WIDTH)
        linear(layer.self_attention.linear[1], WIDTH, WIDTH)
        norm(layer.ffn.layer_norm)
        linear(layer.ffn.linear_0, 4 * WIDTH, WIDTH)
        linear(layer.ffn.linear_1, WIDTH, 4 * WIDTH)
    spec.register_vocabulary([str(i) for i in range(VOCAB - 1)] + ["<|endoftext|>"])
    for name in ("unk_token", "bos_token", "eos_token"):
        setattr(spec.config, name, "<|endoftext|>")
    spec.validate()
    kind = side.split()[-1]
    spec.optimize(quantization="int8" if kind == "int8" else None)
    with tempfile.TemporaryDirectory() as folder:
        spec.save(folder)
        generator = ctranslate2.Generator(
            folder, device="cpu", compute_type=kind, inter_threads=1, intra_threads=threads
        )
    del spec, decoder
    length, written = (READ, 1) if row == "read 512" else (1, WRITTEN)
    prompt = [[str(i) for i in tokens(1, length)[0] % (VOCAB - 1)]]

    def work() -> None:
        generator.generate_batch(
            prompt, max_length=written, min_length=written, sampling_topk=1,
            include_prompt_in_result=False,
        )  # fmt: skip

    return work


def work_of(row: str, side: str, threads: int) -> Callable[[], object]:
    """What a side does in a row, once."""
    if side.startswith("zoo"):
        import engine

        engine.set_num_threads(threads)
        return zoo_work(row, side)
    if side.startswith("CTranslate2"):
        return ctranslate2_work(row, side, threads)
    import torch

    torch.set_num_threads(threads)
    return torch_work(row)


def worker(row: str, side: str, threads: int) -> None:
    """Answers each line with milliseconds, and the end with the peak memory in bytes."""
    work = work_of(row, side, threads)
    work()
    print("ready", flush=True)
    for _ in sys.stdin:
        started = time.perf_counter()
        work()
        print((time.perf_counter() - started) * 1e3, flush=True)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, flush=True)


def starting(
    row: str, peers: dict[str, str], threads: int, memory: str | None
) -> Iterator[tuple[str, Side]]:
    """The sides of a row that can run here, started."""
    for side in ROWS[row]:
        if side == "memory":
            if memory:
                yield side, Side([memory, str(threads)])
            continue
        python = peers.get(side.split()[0].rstrip(","))
        if python is None:
            continue
        started = Side([python, __file__, "--worker", row, side, "--threads", str(threads)])
        if started.read() != "ready":
            raise SystemExit(f"{side} of '{row}' did not start; see the error above")
        yield side, started


def measured(row: str, peers: dict[str, str], threads: int, memory: str | None, rounds: int) -> Any:
    """{side: (medians, peak bytes)}: milliseconds, or GB/s of the memory."""
    sides = dict(starting(row, peers, threads, memory))
    times: dict[str, list[float]] = {side: [] for side in sides}
    for _ in range(rounds):
        for name, side in sides.items():
            time.sleep(PAUSE)
            times[name].append(side.measure())
    return {
        name: (statistics.median(times[name]), float(side.close())) for name, side in sides.items()
    }


def lines_of(row: str, found: dict[str, tuple[float, float]]) -> Iterator[str]:
    """A table of one row."""
    first = next(iter(found.values()))[0]
    bandwidth = found.get("memory", (0.0, 0.0))[0]
    yield f"{row:22}{'ms':>10}{'tokens/s':>10}{'of first':>9}{'MB':>7}{'GB/s':>7}{'of memory':>11}"
    count = {"write": WRITTEN, "read 512": READ}.get(row, 1024)
    for side, (value, peak) in found.items():
        if side == "memory":
            yield f"  {'reading memory':20}{value:>43.1f}"
            continue
        rate, more = count / value * 1e3, ""
        if row == "write":
            traffic = MATRICES * BITS.get(side.split()[-1], 32) / 8 * rate * 1e-9
            more = f"{traffic:>7.1f}" + (f"{traffic / bandwidth:>11.0%}" if bandwidth else "")
        yield f"  {side:20}{value:>10.1f}{rate:>10.1f}{first / value:>9.2f}{peak / 1e6:>7.0f}{more}"


def find_peers(wanted: str | None) -> dict[str, str]:
    """The Python of each side, by the first word of its name."""
    found = {"zoo": sys.executable}
    torch = find_peer(wanted)
    if torch:
        found["PyTorch"] = torch
    for python in filter(None, (wanted, os.environ.get("ZOO_PEER_PYTHON"), sys.executable)):
        asked = subprocess.run(
            [python, "-c", "import ctranslate2"], capture_output=True, check=False
        )
        if asked.returncode == 0:
            found.setdefault("CTranslate2", python)
    return found


def build(folder: str) -> str | None:
    """The program that measures how fast memory is read; None without a C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    program = str(Path(folder) / "memory_read")
    source = str(HERE / "memory_read.c")
    subprocess.run(
        [compiler, "-O3", "-march=native", "-pthread", source, "-o", program], check=True
    )
    return program


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", default=[], metavar="ROW", help="; ".join(ROWS))
    parser.add_argument("--rounds", type=int, help="timings a side (default: 2 or 3)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures there")
    parser.add_argument("--peer-python", metavar="PYTHON", help="a Python that has PyTorch")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        worker(*args.worker, args.threads)
        return
    chosen = [row for row in ROWS if not args.only or any(text in row for text in args.only)]
    if not chosen:
        parser.error(f"no such row; there are: {'; '.join(ROWS)}")
    peers = find_peers(args.peer_python)
    print(f"threads: {args.threads}   sides: {', '.join(peers)}")
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        memory = build(folder)
        for row in chosen:
            rounds = args.rounds or ROUNDS[row]
            rows[row] = measured(row, peers, args.threads, memory, rounds)
            print("\n".join(lines_of(row, rows[row])), flush=True)
    if args.json:
        result = {"threads": args.threads, "rows": rows}
        args.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
