"""The engine beside PyTorch eager (channels-last), A B A B, in one run.

    python tests/benchmarks/run.py [--only NAME ...] [--json FILE] [--peer-python PYTHON]

Each side runs in a process of its own and they take turns, so that a machine that slows down
slows both; medians are printed, with ratio = peer / ours (above 1 the engine is faster). PyTorch
is looked for in --peer-python, then in the environment variable ZOO_PEER_PYTHON, then here;
without it only the engine is timed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from tests.benchmarks.workloads import WORKLOADS, Workload  # noqa: E402

# Seconds between turns: OpenMP's threads spin for a while after their work, and would take a core
# from the other side.
PAUSE = 0.1


class Side:
    """A worker process that times one call whenever it is asked."""

    def __init__(self, python: str, side: str, workload: Workload, threads: int) -> None:
        self.process = subprocess.Popen(
            [python, str(HERE / "worker.py"), side, workload.name, str(threads)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        if self._read() != "ready":
            raise SystemExit(f"{side} of '{workload.name}' did not start; see the error above")

    def _read(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def time(self) -> float:
        assert self.process.stdin is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        return float(self._read())

    def close(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        peak = int(self._read())
        self.process.wait()
        return peak


def find_peer(wanted: str | None) -> str | None:
    for python in (wanted, os.environ.get("ZOO_PEER_PYTHON"), sys.executable):
        if python and subprocess.run([python, "-c", "import torch"], capture_output=True,
                                     check=False).returncode == 0:  # fmt: skip
            return python
    if wanted:
        raise SystemExit(f"no PyTorch in {wanted}: pip install torch==2.13.0 there")
    return None


def fma_peak(threads: int) -> float | None:
    """GFLOP/s of multiply-adds that this machine can do now; None without a C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        program = str(Path(folder) / "fma_peak")
        subprocess.run([compiler, "-O3", "-march=native", "-pthread", str(HERE / "fma_peak.c"),
                        "-o", program], check=True)  # fmt: skip
        return float(subprocess.run([program, str(threads)], capture_output=True, text=True,
                                    check=True).stdout)  # fmt: skip


def measure(workload: Workload, peer: str | None, threads: int, rounds: int | None) -> dict:
    sides = {"ours": Side(sys.executable, "ours", workload, threads)}
    if peer:
        sides["peer"] = Side(peer, "peer", workload, threads)
    times: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds or workload.rounds):
        for name, side in sides.items():
            time.sleep(PAUSE)
            times[name].append(side.time())
    row: dict = {"workload": workload.name, "ours_ms": statistics.median(times["ours"])}
    if workload.flops:
        row["gflops"] = workload.flops / row["ours_ms"] * 1e-6
    if peer:
        row["peer_ms"] = statistics.median(times["peer"])
        row["ratio"] = row["peer_ms"] / row["ours_ms"]
    for name, side in sides.items():
        row[f"{name}_peak_rss_mb"] = side.close() / 1e6
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME",
                        help="only workloads whose name contains one of these")  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows there")
    parser.add_argument("--peer-python", metavar="PYTHON", help="a Python that has PyTorch")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, help="timings a side (default: the workload's)")
    args = parser.parse_args()
    chosen = [w for w in WORKLOADS
              if not args.only or any(text in w.name for text in args.only)]  # fmt: skip
    if not chosen:
        parser.error("no such workload; there are: " + "; ".join(w.name for w in WORKLOADS))
    peer = find_peer(args.peer_python)
    peak = fma_peak(args.threads)
    print(f"threads: {args.threads}   FMA peak: {peak or float('nan'):.0f} GFLOP/s   "
          f"peer: {'PyTorch' if peer else 'none found'}")  # fmt: skip
    head = f"{'workload':46}{'ours ms':>10}{'peer ms':>10}{'ratio':>7}{'GFLOP/s':>9}{'% peak':>7}"
    print(f"{head}{'ours MB':>9}{'peer MB':>9}")
    rows = []
    for workload in chosen:
        row = measure(workload, peer, args.threads, args.rounds)
        if peak and "gflops" in row:
            row["percent_of_peak"] = 100 * row["gflops"] / peak
        rows.append(row)

        def cell(key: str, width: int, digits: int, row: dict = row) -> str:
            return f"{row[key]:{width}.{digits}f}" if key in row else " " * (width - 1) + "-"

        print(f"{row['workload']:46}{cell('ours_ms', 10, 3)}{cell('peer_ms', 10, 3)}"
              f"{cell('ratio', 7, 2)}{cell('gflops', 9, 1)}{cell('percent_of_peak', 7, 0)}"
              f"{cell('ours_peak_rss_mb', 9, 0)}{cell('peer_peak_rss_mb', 9, 0)}",
              flush=True)  # fmt: skip
    if args.json:
        result = {"threads": args.threads, "fma_peak_gflops": peak, "rows": rows}
        args.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
