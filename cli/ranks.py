"""Commands that run as several ranks: started by `--nproc N` on this machine, or by mpiexec or srun
on any number of them."""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from cli.errors import EXIT_FAILURE, EXIT_INTERRUPTED, MissingExtra, UsageError, exit_code, report

_NOTES = "ZOO_RANKS"  # names the folder in which ranks of --nproc leave word for the process above
_STOP = signal.SIGUSR1  # asks a rank to stop at the next good moment
_GRACE = 10.0  # seconds that ranks get to end once the first has failed


def add_nproc(parser: argparse.ArgumentParser) -> None:
    """`--nproc`."""
    from cli.flags import positive

    parser.add_argument(
        "--nproc",
        type=positive,
        metavar="N",
        help="train with N processes on this machine, each on its part of every batch; needs: "
        "pip install 'zoo[mpi]'. For several machines start the same command, without --nproc, "
        "with mpiexec or srun",
    )


def on_ranks(args: argparse.Namespace, work: Callable[[], int], refused: Sequence[str] = ()) -> int:
    """Do the work of a command: alone, or as one of the ranks that were started together, or start
    ranks that do.

    Args:
        args: with `nproc`.
        work: what one process does; returns its exit code.
        refused: flags that were typed and that only one process can follow.

    Raises:
        UsageError: `refused`, or --nproc where there are ranks already.
        MissingExtra: there is no MPI.
    """
    # Not from engine.distributed: a command that runs alone need not load the engine for it.
    started = any(name in os.environ for name in ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK"))
    if not started and int(os.environ.get("SLURM_STEP_NUM_TASKS", "1")) > 1:
        raise UsageError(
            "srun started several processes that do not know of each other; start them with "
            "--mpi=pmi2 or --mpi=pmix (srun --mpi=list shows what there is)"
        )
    if not started and (args.nproc or 1) == 1:
        return work()
    if refused:
        raise UsageError(
            f"{', '.join(refused)}: for one process only; leave out --nproc or mpiexec"
        )
    if not started:
        return _launch(args.nproc, sys.argv[1:])
    if args.nproc is not None:
        raise UsageError("--nproc N starts N processes itself; leave it out under mpiexec and srun")
    return _as_rank(args, work)


def _as_rank(args: argparse.Namespace, work: Callable[[], int]) -> int:
    from engine import distributed

    group = distributed.init()
    if group.size == 1:
        return work()
    notes = os.environ.get(_NOTES)
    if notes:
        Path(notes, f"{group.rank}.pid").write_text(str(os.getpid()), "utf-8")
    signal.signal(_STOP, signal.default_int_handler)  # until training knows better
    failure: BaseException | None = None
    try:
        code = work()
    except BaseException as error:
        failure, code = error, exit_code(error)

    def speak() -> None:
        assert failure is not None
        if args.debug:
            import traceback

            traceback.print_exception(failure)
        if isinstance(failure, distributed.RankTimeout | distributed.RankLost):
            report(failure)  # names its rank
        else:
            report(failure, prefix="" if _of_all(failure) else f"rank {group.rank}: ")
        if notes:
            Path(notes, "said").touch()

    code = distributed.end(code, speak)
    if notes:
        Path(notes, f"{group.rank}.end").touch()
    return code


def _of_all(error: BaseException) -> bool:
    """Whether ranks fail in this way together, so that none of them is to blame."""
    from zoo.train.errors import Interrupted, TrainingDiverged

    return isinstance(error, Interrupted | TrainingDiverged | KeyboardInterrupt)


def _launch(count: int, argv: Sequence[str]) -> int:
    """Start `count` ranks of this command on this machine; returns their exit code."""
    mpiexec = _mpiexec()
    own = _without_nproc(argv)
    with tempfile.TemporaryDirectory(prefix="zoo-ranks-") as notes:
        command = [mpiexec, "-n", str(count), sys.executable, "-m", "cli.main", *own]
        process = subprocess.Popen(
            command,
            env={**os.environ, _NOTES: notes},
            stdin=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C comes here alone, and from here to the ranks
        )
        try:
            code = _watch(process, Path(notes), count)
        finally:
            _end_all(process, Path(notes))
        if code != 0 and not Path(notes, "said").exists():
            print(f"zoo: {_unsaid(Path(notes), count)}", file=sys.stderr)
        if code in (0, EXIT_INTERRUPTED) or 0 < code < 3:
            return code
        return EXIT_FAILURE


def _watch(process: subprocess.Popen[bytes], notes: Path, count: int) -> int:
    """Wait for the end of all ranks, and hand on requests to stop."""
    asked = 0

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        asked += 1
        for pid in _processes(notes):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, _STOP if asked == 1 else signal.SIGKILL)

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    failed_at: float | None = None
    try:
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return process.wait(timeout=0.2)
            gone = [pid for pid in _processes(notes) if not _alive(pid)]
            if gone and failed_at is None and len(list(notes.glob("*.end"))) < len(gone):
                failed_at = time.monotonic()
            if failed_at is not None and time.monotonic() - failed_at > _GRACE:
                return EXIT_FAILURE  # what is left is ended by the caller
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end_all(process: subprocess.Popen[bytes], notes: Path) -> None:
    """Leave no process behind."""
    if process.poll() is None:
        process.terminate()
    for pid in _processes(notes):
        if _alive(pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    try:
        process.wait(timeout=5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _unsaid(notes: Path, count: int) -> str:
    """What can be said of ranks that ended without a word."""
    known = {int(path.stem) for path in notes.glob("*.pid")}
    if not known:
        return f"none of the {count} processes could start; what mpiexec said is above"
    ended = {int(path.stem) for path in notes.glob("*.end")}
    silent = sorted(known - ended)
    first = sorted(silent, key=lambda rank: _died(notes, rank))[:1] or silent
    who = ", ".join(map(str, first))
    return (
        f"rank {who} of {count} was killed or crashed, so all were ended. The last checkpoint is "
        "whole; to go on from it, type: zoo finetune --resume RUN"
    )


def _died(notes: Path, rank: int) -> float:
    path = notes / f"{rank}.gone"
    return path.stat().st_mtime if path.exists() else float("inf")


def _processes(notes: Path) -> list[int]:
    found = []
    for path in notes.glob("*.pid"):
        with contextlib.suppress(ValueError, OSError):  # being written, or gone
            found.append(int(path.read_text("utf-8")))
    return found


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _mpiexec() -> str:
    """The program that starts ranks: of the environment that this Python belongs to, or on PATH."""
    beside = Path(sys.executable).with_name("mpiexec")
    found = str(beside) if beside.is_file() else shutil.which("mpiexec")
    import importlib.util

    if found is None or importlib.util.find_spec("mpi4py") is None:
        raise MissingExtra("mpi", "mpi4py" if found else "mpich (which brings mpiexec)")
    return found


def _without_nproc(argv: Sequence[str]) -> list[str]:
    kept: list[str] = []
    skip = False
    for word in argv:
        if skip:
            skip = False
        elif word == "--nproc":
            skip = True
        elif not word.startswith("--nproc="):
            kept.append(word)
    return kept


def typed(args: argparse.Namespace, *names: str) -> list[Any]:
    """The flags among `names` that were given."""
    return [f"--{n.replace('_', '-')}" for n in names if getattr(args, n, None)]
