"""The engine beside PyTorch and what else runs networks, A B A B, in one run.

    python tests/benchmarks/run.py [--only NAME ...] [--json FILE] [--peer-python PYTHON]
                                   [--peers NAME ...] [--scaling]

Each side runs in a process of its own and they take turns, so that a machine that slows down
slows all; medians are printed, with ratio = best peer / ours (above 1 the engine is faster), and
the engine's share of the multiply-add rate, which is measured in turn with them. "best" is the same
share of the fastest turns: what is left when nobody else uses the cores' caches. PyTorch is looked
for in --peer-python, then in the environment variable ZOO_PEER_PYTHON, then here; without it only
the engine is timed. PyTorch's eager mode runs channels-last, networks also NCHW; networks in
inference run compiled by PyTorch, in OpenVINO and in ONNX Runtime, too, where those are installed
there. The JSON has the time of each. --scaling times the engine on one thread as well.
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

from tests.benchmarks.runtimes import RUNTIMES  # noqa: E402
from tests.benchmarks.workloads import WORKLOADS, Workload  # noqa: E402

# Seconds between turns: OpenMP's threads spin for a while after their work, and would take a core
# from the other side.
PAUSE = 0.1
ALONE = "ours on one thread"


class Side:
    """A process that answers each line with one measurement: of a call's time, or of a rate."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)  # fmt: skip

    def read(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def measure(self) -> float:
        assert self.process.stdin is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        return float(self.read())

    def close(self) -> str:
        """What it says last."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        last = self.read()
        self.process.wait()
        return last


def start_worker(python: str, side: str, workload: Workload, threads: int) -> Side:
    worker = Side([python, str(HERE / "worker.py"), side, workload.name, str(threads)])
    if worker.read() != "ready":
        raise SystemExit(f"{side} of '{workload.name}' did not start; see the error above")
    return worker


def find_peer(wanted: str | None) -> str | None:
    for python in (wanted, os.environ.get("ZOO_PEER_PYTHON"), sys.executable):
        if python and subprocess.run([python, "-c", "import torch"], capture_output=True,
                                     check=False).returncode == 0:  # fmt: skip
            return python
    if wanted:
        raise SystemExit(f"no PyTorch in {wanted}: pip install torch==2.13.0 there")
    return None


def installed(python: str, wanted: list[str]) -> list[str]:
    """The peers that a Python has, in the order of RUNTIMES."""
    unknown = sorted(set(wanted) - set(RUNTIMES))
    if unknown:
        raise SystemExit(f"no peer {unknown[0]!r}; there are: {', '.join(RUNTIMES)}")
    found = []
    for name, (_, module) in RUNTIMES.items():
        there = subprocess.run([python, "-c", f"import {module}"], capture_output=True, check=False)
        if there.returncode == 0 and (not wanted or name in wanted):
            found.append(name)
    return found


def build_fma_peak(folder: str) -> str | None:
    """The program that measures how many multiply-adds the machine can do; None without a C
    compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    program = str(Path(folder) / "fma_peak")
    subprocess.run([compiler, "-O3", "-march=native", "-pthread", str(HERE / "fma_peak.c"),
                    "-o", program], check=True)  # fmt: skip
    return program


def measure(workload: Workload, peer: str | None, names: list[str], fma_peak: str | None,
            threads: int, rounds: int | None, scaling: bool) -> dict:  # fmt: skip
    sides = {"ours": start_worker(sys.executable, "ours", workload, threads)}
    for name in names:
        if peer and (name == "PyTorch" or name in workload.others):
            sides[name] = start_worker(peer, name, workload, threads)
    if scaling:
        sides[ALONE] = start_worker(sys.executable, "ours", workload, 1)
    # The multiply-add rate takes its turns, too: neighbours slow the machine down for minutes.
    peak = Side([fma_peak, str(threads)]) if fma_peak and workload.flops else None
    times: dict[str, list[float]] = {name: [] for name in sides}
    rates = []
    for _ in range(rounds or workload.rounds):
        for name, side in sides.items():
            time.sleep(PAUSE)
            times[name].append(side.measure())
        if peak:
            time.sleep(PAUSE)
            rates.append(peak.measure())
    row: dict = {"workload": workload.name, "ours_ms": statistics.median(times["ours"])}
    if workload.flops:
        row["gflops"] = workload.flops / row["ours_ms"] * 1e-6
    if peak:
        peak.close()
        row["fma_gflops"] = statistics.median(rates)
        row["percent_of_peak"] = 100 * row["gflops"] / row["fma_gflops"]
        best = workload.flops / min(times["ours"]) * 1e-6
        row["best_percent_of_peak"] = 100 * best / max(rates)
    memory = {name: int(side.close()) / 1e6 for name, side in sides.items()}
    row["ours_peak_rss_mb"] = memory.pop("ours")
    if memory.pop(ALONE, None):
        row["scaling"] = statistics.median(times[ALONE]) / row["ours_ms"]
    peers = {name: statistics.median(times[name]) for name in memory}
    if peers:
        row["peers_ms"], row["peers_peak_rss_mb"] = peers, memory
        row["peer"] = min(peers, key=lambda name: peers[name])
        row["peer_ms"] = peers[row["peer"]]
        row["ratio"] = row["peer_ms"] / row["ours_ms"]
        # What users would otherwise have: eager PyTorch, if it was timed.
        row["peer_peak_rss_mb"] = memory.get("PyTorch", memory[row["peer"]])
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME",
                        help="only workloads whose name contains one of these")  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows there")
    parser.add_argument("--peer-python", metavar="PYTHON", help="a Python that has PyTorch")
    parser.add_argument("--peers", nargs="+", default=[], metavar="NAME",
                        help=f"only these: {', '.join(RUNTIMES)}")  # fmt: skip
    parser.add_argument("--scaling", action="store_true",
                        help="also on one thread: how many times as long it takes")  # fmt: skip
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, help="timings a side (default: the workload's)")
    args = parser.parse_args()
    chosen = [w for w in WORKLOADS
              if not args.only or any(text in w.name for text in args.only)]  # fmt: skip
    if not chosen:
        parser.error("no such workload; there are: " + "; ".join(w.name for w in WORKLOADS))
    peer = find_peer(args.peer_python)
    names = installed(peer, args.peers) if peer else []
    print(f"threads: {args.threads}   peers: {', '.join(names) or 'none found'}")
    head = f"{'workload':46}{'ours ms':>10}{'peer ms':>10}{'ratio':>7}{'GFLOP/s':>9}{'% peak':>7}"
    print(f"{head}{'best':>6}{'ours MB':>9}{'peer MB':>9}{'scaling':>8}  best peer")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        fma_peak = build_fma_peak(folder)
        for workload in chosen:
            row = measure(workload, peer, names, fma_peak, args.threads, args.rounds,
                          args.scaling)  # fmt: skip
            rows.append(row)

            def cell(key: str, width: int, digits: int, row: dict = row) -> str:
                return f"{row[key]:{width}.{digits}f}" if key in row else " " * (width - 1) + "-"

            print(f"{row['workload']:46}{cell('ours_ms', 10, 3)}{cell('peer_ms', 10, 3)}"
                  f"{cell('ratio', 7, 2)}{cell('gflops', 9, 1)}{cell('percent_of_peak', 7, 0)}"
                  f"{cell('best_percent_of_peak', 6, 0)}{cell('ours_peak_rss_mb', 9, 0)}"
                  f"{cell('peer_peak_rss_mb', 9, 0)}{cell('scaling', 8, 2)}  {row.get('peer', '')}",
                  flush=True)  # fmt: skip
    if args.json:
        result = {"threads": args.threads, "rows": rows}
        args.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
