"""A long soak: does anything grow, or slow down, when the same work is done again and again?

    python -m tests.soak --minutes 120                       # fine-tuning, everything on
    python -m tests.soak --work predict --count 10000        # or load; minutes or a count end it

Each round of "finetune" is a whole run on pictures in files: loader, caches, checkpoints, resume,
report; every second one trains the last layer alone, on features from the cache. After a part of
the rounds for warming up, memory (resident set), open handles, threads and files of the cache must
stay where they are, and a round must not take longer. The exit code is 1 where one does not; the
table says which. Time is that of the processor in the quickest rounds: all else measures what the
machine does for others.
"""

from __future__ import annotations

import argparse
import gc
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np

_WARM = 0.3  # part of the rounds in which caches fill and the allocator finds its size
_FLAT, _SLOWER = 0.01, 0.10  # how much memory, and how much time a round, may rise
_FLAT_MB = 2.0  # memory comes in pieces: as much is no rise in a small process


def _pictures(root: Path) -> Path:
    from PIL import Image

    rng = np.random.default_rng(0)
    for name, colour in (("red", (200, 40, 40)), ("blue", (40, 60, 200)), ("grey", (120,) * 3)):
        (root / name).mkdir(parents=True)
        for index in range(24):
            noise = rng.integers(-30, 31, (48, 48, 3))
            pixels = np.clip(np.asarray(colour) + noise, 0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(root / name / f"{index}.jpg")
    return root


def _finetune(folder: Path) -> Callable[[int], None]:
    import zoo
    from zoo.train import run
    from zoo.train.callbacks import Callback
    from zoo.train.errors import Interrupted

    data = _pictures(folder / "pictures")

    class Stop(Callback):
        """Asks the run to stop in the middle, as Ctrl-C does."""

        def on_step(self, trainer: object, row: dict[str, object]) -> None:
            if row["step"] == 5:
                trainer._stop.requested = True  # type: ignore[attr-defined]

    def once(number: int) -> None:
        out = folder / "runs" / f"{number}"
        weights, recipe = ("none", "scratch") if number % 2 else ("default", "linear")
        settings = {"epochs": 2, "batch_size": 8, "lr": 0.01, "save_every": 2, "threads": 1}
        say = [].append
        try:
            run.finetune(
                "resnet20", data, weights=weights, recipe=recipe, out=out, say=say,
                callbacks=[Stop()], **settings,
            )  # fmt: skip
        except Interrupted:
            run.resume(out, say=say)
        assert zoo.load(out).predict(data / "red" / "0.jpg").label
        shutil.rmtree(out)

    return once


def _predict(folder: Path) -> Callable[[int], None]:
    import zoo

    data = _pictures(folder / "pictures")
    model = zoo.load("resnet20")
    paths = sorted(data.rglob("*.jpg"))

    def once(number: int) -> None:
        assert model.predict(paths[number % len(paths)]).label

    return once


def _load(folder: Path) -> Callable[[int], None]:
    import zoo

    names = ("resnet20", "gpt_shakespeare")

    def once(number: int) -> None:
        assert zoo.load(names[number % 2]).num_parameters

    return once


WORK = {"finetune": _finetune, "predict": _predict, "load": _load}
EVERY = {"finetune": 2, "predict": 20, "load": 20}  # rounds in a measurement


def _measured() -> tuple[float, int, int]:
    """Resident memory (MB), open handles, threads."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    handles = len(os.listdir("/proc/self/fd"))
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6, handles, threading.active_count()


def soak(work: str, seconds: float, count: int, folder: Path, slower: float = _SLOWER) -> bool:
    """Do a kind of work again and again; print what was measured; whether all stayed flat: time
    within a part `slower`."""
    once, every = WORK[work](folder), EVERY[work]
    rows: list[tuple[float, float, int, int, int]] = []
    began, rounds = time.monotonic(), 0
    while rounds < count and time.monotonic() - began < seconds:
        started = time.process_time()
        for _ in range(min(every, count - rounds)):
            once(rounds)
            rounds += 1
        used = (time.process_time() - started) / every
        files = sum(path.is_file() for path in (folder / "home").rglob("*"))
        rows.append((used, *_measured(), files))
    minutes = (time.monotonic() - began) / 60
    warm = rows[int(len(rows) * _WARM) :]
    third = max(1, len(warm) // 3)
    early, late = warm[:third], warm[-third:]
    print(f"{work}: {rounds:,} rounds in {minutes:.1f} minutes, {len(rows)} measurements")
    if len(warm) < 6:
        print("too few to judge by: give it more minutes")
        return False
    names = ("CPU seconds a round", "resident MB", "handles", "threads", "files in the cache")
    allowed = (slower, _FLAT, 0.0, 0.0, 0.0)
    flat = True
    for column, (name, rise) in enumerate(zip(names, allowed, strict=True)):
        # The quickest rounds, which nobody disturbed; of all else the middle.
        typical = median if column else min
        first, last = (typical([row[column] for row in part]) for part in (early, late))
        fine = last <= first * (1 + rise) + (_FLAT_MB if name == "resident MB" else 0)
        flat &= fine
        change = (last / first - 1) * 100 if first else 0.0
        most = max(row[column] for row in warm)
        print(
            f"  {name:20} {first:10.3f} early {last:10.3f} late ({change:+.1f}%), most {most:.3f}"
            f"{'' if fine else '   ROSE'}"
        )
    return flat


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--work", choices=WORK, default="finetune")
    parser.add_argument("--minutes", type=float, default=120.0)
    parser.add_argument("--count", type=int, default=sys.maxsize, help="rounds at most")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        os.environ |= {"ZOO_HOME": f"{name}/home", "ZOO_OFFLINE": "1", "MPLBACKEND": "agg"}
        flat = soak(args.work, args.minutes * 60, args.count, Path(name))
    print("flat" if flat else "NOT flat")
    return 0 if flat else 1


if __name__ == "__main__":
    sys.exit(main())
