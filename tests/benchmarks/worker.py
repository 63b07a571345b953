"""One side of one workload in a process of its own: ``worker.py ours|PyTorch|... NAME THREADS``.

Reads a line for each timing wanted and answers with the milliseconds of one call; at the end of
its input prints the peak memory in bytes.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.benchmarks.runtimes import THREADS  # noqa: E402
from tests.benchmarks.workloads import WORKLOADS  # noqa: E402


def main() -> None:
    side, name, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
    workload = next(w for w in WORKLOADS if w.name == name)
    os.environ[THREADS] = str(threads)
    if side == "ours":
        import engine

        engine.set_num_threads(threads)
    else:
        import torch

        torch.set_num_threads(threads)
    work = workload.maker(side)()
    for _ in range(2):
        work()
    print("ready", flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        for _ in range(workload.repeat):
            work()
        print((time.perf_counter() - start) / workload.repeat * 1e3, flush=True)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, flush=True)


if __name__ == "__main__":
    main()
