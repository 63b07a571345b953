"""Commands that run as several ranks: started by `--nproc N` on this machine, or by mpiexec or srun
on any number of them."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import FrameType
from typing import IO, Any

from cli.errors import (
    EXIT_FAILURE,
    EXIT_INTERRUPTED,
    EXIT_USAGE,
    MissingExtra,
    UsageError,
    exit_code,
    report,
)

_NOTES = "ZOO_RANKS"  # names the folder in which ranks of --nproc leave word for the process above
_STOP = signal.SIGUSR1  # asks a rank to stop at the next good moment
_OF_MPIEXEC = (
    "YOUR APPLICATION TERMINATED",
    "This typically refers",
    "Please see the FAQ",
    "Abort(",
)
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
    parser.add_argument(
        "--hostfile",
        metavar="FILE",
        help="start the processes of --nproc on these machines, one HOST or HOST:PROCESSES a line, "
        "which mpiexec reaches by ssh",
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
    # Not asked of the engine: a command that runs alone need not load it for that.
    started = any(name in os.environ for name in ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK"))
    if not started and int(os.environ.get("SLURM_STEP_NUM_TASKS", "1")) > 1:
        raise UsageError(
            "srun started several processes that do not know of each other; start them with "
            "--mpi=pmi2 or --mpi=pmix (srun --mpi=list shows what there is)"
        )
    if args.hostfile is not None:
        if not os.path.isfile(args.hostfile):
            raise UsageError(f"--hostfile {args.hostfile}: no such file")
        if args.nproc is None:
            raise UsageError("--hostfile says where, and --nproc N how many; give both")
    elif not started and (args.nproc or 1) == 1:
        return work()
    if refused:
        raise UsageError(
            f"{', '.join(refused)}: for one process only; leave out --nproc or mpiexec"
        )
    if not started:
        run = args.resume or args.out or "RUN"
        return _launch(args.nproc, args.hostfile, sys.argv[1:], run)
    if args.nproc is not None:
        raise UsageError("--nproc N starts N processes itself; leave it out under mpiexec and srun")
    return _as_rank(args, work)


def _as_rank(args: argparse.Namespace, work: Callable[[], int]) -> int:
    from zoo.train.distributed import blame, end, join

    ranks = join()
    if ranks.size == 1:
        return work()
    notes = os.environ.get(_NOTES, "")
    if not os.path.isdir(notes):  # started by another program, or on another machine
        notes = ""
    if notes:
        Path(notes, f"{ranks.rank}.pid").write_text(str(os.getpid()), "utf-8")
    signal.signal(_STOP, signal.default_int_handler)  # until training knows better
    failure: BaseException | None = None
    try:
        code = work()
    except BaseException as error:
        failure, code = error, exit_code(error)

    def speak(all_failed: bool) -> None:
        assert failure is not None
        if args.debug:
            import traceback

            traceback.print_exception(failure)
        report(failure, prefix="" if all_failed else blame(failure))
        if notes:
            Path(notes, "said").touch()

    code = end(code, speak, failure)
    if notes:
        Path(notes, f"{ranks.rank}.end").touch()
    return code


def _launch(count: int, hostfile: str | None, argv: Sequence[str], run: str) -> int:
    """Start `count` ranks of this command; returns their exit code."""
    where = [] if hostfile is None else ["--hostfile", hostfile]
    command = [_mpiexec(), *where, "-n", str(count), sys.executable, "-m", "cli.main", *_own(argv)]
    with tempfile.TemporaryDirectory(prefix="zoo-ranks-") as folder:
        notes = Path(folder)
        process = subprocess.Popen(
            command,
            env={**os.environ, _NOTES: folder},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C comes here alone, and from here to the ranks
            preexec_fn=_end_with_parent if sys.platform == "linux" else None,
        )
        relays = [_Relay(process.stdout, sys.stdout), _Relay(process.stderr, sys.stderr)]
        try:
            first = _watch(process, notes)
        finally:
            _end_all(process, notes)
            for relay in relays:
                relay.join()
        code = process.returncode
        if code != 0 and not (notes / "said").exists():
            if not _processes(notes):
                sys.stderr.writelines(line for relay in relays for line in relay.held)
            print(f"zoo: {_unsaid(notes, first, count, run)}", file=sys.stderr)
    return code if code in (0, EXIT_FAILURE, EXIT_USAGE, EXIT_INTERRUPTED) else EXIT_FAILURE


def _end_with_parent() -> None:
    """In the child, before it becomes mpiexec: have it ended when this process is, however."""
    import ctypes

    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


class _Relay(threading.Thread):
    """Hands on what ranks write to a stream, without what mpiexec adds when one ends."""

    def __init__(self, source: IO[bytes] | None, target: IO[str]) -> None:
        super().__init__(daemon=True)
        assert source is not None
        self._source, self._target = source, target
        self.held: list[str] = []  # what was not handed on
        self.start()

    def run(self) -> None:
        banner = 0
        for line in io.TextIOWrapper(self._source, "utf-8", "replace"):
            if line.startswith("=" * 60):
                banner += 1
            elif banner % 2 == 0 and not line.startswith(_OF_MPIEXEC):
                self._target.write(line)
                self._target.flush()
                continue
            self.held.append(line)


def _watch(process: subprocess.Popen[bytes], notes: Path) -> int | None:
    """Wait for the end of all ranks, and hand on requests to stop. Returns the process that ended
    first without having come to its end, if one was seen."""
    asked = 0

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        asked += 1
        for pid in _processes(notes).values():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, _STOP if asked == 1 else signal.SIGKILL)

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    ends = _Ends(process.pid)
    first: int | None = None
    since = 0.0
    try:
        while process.poll() is None:
            ends.watch(_processes(notes).values())
            gone = ends.wait(0.2)
            at_end = {pid for rank, pid in _processes(notes).items() if _has_ended(notes, rank)}
            if gone - at_end and first is None:
                first, since = min(gone - at_end), time.monotonic()
            if first is not None and time.monotonic() - since > _GRACE:
                break  # the caller ends what is left
    finally:
        ends.close()
        for number, handler in before.items():
            signal.signal(number, handler)
    return first


class _Ends:
    """Notices at once which of some processes ends first: mpiexec ends the others soon after."""

    def __init__(self, pid: int) -> None:
        self._poll = select.poll()
        self._files: dict[int, int] = {}
        self.watch([pid])

    def watch(self, pids: Iterable[int]) -> None:
        """Watch further processes."""
        for pid in set(pids) - set(self._files.values()):
            if hasattr(os, "pidfd_open"):
                with contextlib.suppress(OSError):  # it has ended already
                    file = os.pidfd_open(pid)
                    self._files[file] = pid
                    self._poll.register(file, select.POLLIN)

    def wait(self, seconds: float) -> set[int]:
        """Processes that have ended; waits for one for so long."""
        if not self._files:
            time.sleep(seconds)
        return {self._files[file] for file, _ in self._poll.poll(1000 * seconds)}

    def close(self) -> None:
        """Watch no more."""
        for file in self._files:
            os.close(file)


def _end_all(process: subprocess.Popen[bytes], notes: Path) -> None:
    """Leave no process behind."""
    if process.poll() is None:
        process.terminate()
    for pid in _processes(notes).values():
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    try:
        process.wait(timeout=5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _unsaid(notes: Path, first: int | None, count: int, run: str) -> str:
    """What can be said of ranks that ended without a word."""
    ranks = {pid: rank for rank, pid in _processes(notes).items()}
    if not ranks:
        return f"none of the {count} processes could start; what mpiexec said is above"
    if first is None:
        who = f"one of the {count} ranks"
    else:
        who = f"rank {ranks[first]} of {count}" if first in ranks else "mpiexec"
    return (
        f"{who} was killed or crashed, so all were ended. The last checkpoint is whole; to go on "
        f"from it, type: zoo finetune --resume {run}"
    )


def _processes(notes: Path) -> dict[int, int]:
    """The process of each rank that has started."""
    found = {}
    for path in notes.glob("*.pid"):
        with contextlib.suppress(ValueError, OSError):  # being written
            found[int(path.stem)] = int(path.read_text("utf-8"))
    return found


def _has_ended(notes: Path, rank: int) -> bool:
    return (notes / f"{rank}.end").exists()


def _mpiexec() -> str:
    """The program that starts ranks: of the environment that this Python belongs to, or on PATH."""
    beside = Path(sys.executable).with_name("mpiexec")
    found = str(beside) if beside.is_file() else shutil.which("mpiexec")
    import importlib.util

    if found is None or importlib.util.find_spec("mpi4py") is None:
        raise MissingExtra("mpi", "mpi4py" if found else "mpich (which brings mpiexec)")
    return found


def _own(argv: Sequence[str]) -> list[str]:
    """The command line of a rank."""
    kept: list[str] = []
    skip = False
    for word in argv:
        if skip:
            skip = False
        elif word in ("--nproc", "--hostfile"):
            skip = True
        elif not word.startswith(("--nproc=", "--hostfile=")):
            kept.append(word)
    return kept


def typed(args: argparse.Namespace, *names: str) -> list[Any]:
    """The flags among `names` that were given."""
    return [f"--{n.replace('_', '-')}" for n in names if getattr(args, n, None)]
