"""What training on several ranks costs: steps of ResNet-50 on one rank with all threads, and on N
ranks that share the processors, with the share of the exchange that backward hides.

    python tests/benchmarks/ranks.py                      # one process
    mpiexec -n 2 python tests/benchmarks/ranks.py         # two ranks

Both train on the same 16 pictures a step; compare "pictures/s" of runs that follow each other on
an idle machine.
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np

import engine
import zoo
from engine import distributed
from engine.nn import functional as F
from engine.optim import SGD
from zoo.train.distributed import ALONE, ManyRanks, Ranks
from zoo.train.task import Sums


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="resnet50")
    parser.add_argument("--batch", type=int, default=16, help="pictures a step, over all ranks")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--sync-norm", action="store_true")
    args = parser.parse_args()
    ranks: Ranks = ManyRanks(distributed.init()) if distributed.launched() else ALONE
    engine.manual_seed(0)
    model = zoo.load(args.model, None)
    part = ranks.part(args.batch)
    drawn = np.random.default_rng(0).standard_normal((args.batch, 224, 224, 3), np.float32)
    x = engine.from_numpy(drawn[part]).permute_dims((0, 3, 1, 2))
    y = engine.from_numpy(np.arange(args.batch)[part] % 10)
    ranks.start(model)
    optimizer = SGD(list(model.named_parameters()), lr=0.01)
    ranks.watch(model, narrow=False, synced=args.sync_norm)
    times = []
    for _ in range(args.steps + 1):
        started = time.perf_counter()
        loss = F.cross_entropy(model(x), y, reduction="sum") / float(args.batch)
        ranks.arm()
        loss.backward()
        ranks.finish(Sums(loss.item()), (), part.stop - part.start)
        optimizer.step()
        optimizer.zero_grad()
        times.append(time.perf_counter() - started)
        if len(times) == 1 and ranks.overlap is not None:  # the first step touches new memory
            ranks.overlap.moving = ranks.overlap.waiting = 0.0
    if ranks.rank == 0:
        step = statistics.median(times[1:])
        hidden = "" if ranks.overlap is None else f", {ranks.overlap.hidden:.0%} of exchange hidden"
        print(
            f"{args.model}, {ranks.size} rank(s) of {engine.get_num_threads()} thread(s): "
            f"{args.batch / step:.2f} pictures/s, {step:.3f} s a step{hidden}"
        )


if __name__ == "__main__":
    main()
