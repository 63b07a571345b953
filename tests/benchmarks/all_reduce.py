"""How long an all-reduce takes, beside MPI's own call on the same buffer.

    mpiexec -n 2 python tests/benchmarks/all_reduce.py [--mb 100] [--repeats 15]

Both are measured in turns; the medians and their ratio are printed by rank 0.
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np
from mpi4py import MPI

import engine
from engine import distributed


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=float, default=100.0, help="size of the tensor, 1e6 bytes")
    parser.add_argument("--repeats", type=int, default=15)
    args = parser.parse_args()
    group = distributed.init()
    tensor = engine.ones(round(args.mb * 1e6 / 4))
    array = np.ones(tensor.size, np.float32)
    ours: list[float] = []
    theirs: list[float] = []
    for number in range(args.repeats + 2):  # the first two warm up
        for times, operation in (
            (ours, lambda: group.all_reduce(tensor, "max")),
            (theirs, lambda: MPI.COMM_WORLD.Allreduce(MPI.IN_PLACE, array, MPI.MAX)),
        ):
            group.barrier()
            started = time.perf_counter()
            operation()
            if number >= 2:
                times.append(time.perf_counter() - started)
    if group.rank == 0:
        mine, base = statistics.median(ours), statistics.median(theirs)
        print(
            f"{args.mb:g} MB over {group.size} ranks: {1e3 * mine:.1f} ms, MPI's own call "
            f"{1e3 * base:.1f} ms, ratio {mine / base:.2f}"
        )


if __name__ == "__main__":
    main()
