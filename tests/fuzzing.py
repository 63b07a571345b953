"""Fuzzing, guided by coverage, and the replay of what it found: the part that all readers share.

`tests/hub/fuzz.py` and `tests/zoo/fuzz.py` name the readers and what each may answer; a `Suite`
runs them. An input may be read or refused by one of the suite's errors. It must not raise anything
else, take long, take memory beyond ten times its size (and 16 MB), write a file of the reader's own
choice, import a module or run anything.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import re
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

FREE_BYTES = 16_000_000
FREE_SECONDS = 5.0
LONGEST = 8192  # bytes of an input that is looked for
# What a reader has no business with. "open" is checked for writing only.
FORBIDDEN = ("os.system", "subprocess.Popen", "os.exec", "os.fork", "os.posix_spawn", "socket.",
             "ctypes.", "pickle.find_class", "import", "exec", "compile", "code.__new__",
             "os.remove", "os.rename", "os.mkdir", "os.rmdir", "shutil.")  # fmt: skip

Reader = Callable[[bytes], object]


class Forbidden(BaseException):
    """A reader did what no reader does. No `Exception`, so that nothing swallows it."""


_watching = False
_warming = False


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if not _watching:
        return
    if event == "open":
        flags = arguments[2] if len(arguments) > 2 and isinstance(arguments[2], int) else 0
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            raise Forbidden(f"opens {arguments[0]!r} for writing")
    elif event.startswith(FORBIDDEN):
        raise Forbidden(f"{event} {arguments!r:.200}")


@contextlib.contextmanager
def watched() -> Iterator[None]:
    """Raises `Forbidden` where the block does something in `FORBIDDEN`."""
    global _watching
    _install()
    _watching = not _warming
    try:
        yield
    finally:
        _watching = False


def _install() -> None:
    # Hooks cannot be taken off again, so it is one, and only once.
    if not hasattr(sys, "_zoo_audit"):
        sys._zoo_audit = True  # type: ignore[attr-defined]
        sys.addaudithook(_audit)


_folders: list[tempfile.TemporaryDirectory[str]] = []


def scratch() -> Path:
    """A folder in memory that goes away with the process; the same at every call."""
    if not _folders:
        memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
        _folders.append(tempfile.TemporaryDirectory(dir=memory))
    return Path(_folders[0].name)


def as_file(content: bytes, name: str = "input") -> Path:
    """A file of this content in `scratch()`."""
    path = scratch() / name
    path.write_bytes(content)
    return path


def changed(dice: Random, seeds: list[bytes]) -> bytes:
    """One of the seeds with bytes changed, cut out, repeated or taken from another."""
    content = bytearray(dice.choice(seeds))
    for _ in range(dice.choice([1, 1, 2, 5])):
        at = dice.randrange(len(content) + 1)
        stop = min(len(content), at + dice.choice([1, 1, 4, 8, 60]))
        kind = dice.randrange(4)
        if kind == 0:
            content[at:stop] = dice.randbytes(stop - at)
        elif kind == 1:
            del content[at:stop]
        elif kind == 2:
            content[at:at] = content[at:stop] * dice.choice([1, 3, 100])
        else:
            other = dice.choice(seeds)
            begin = dice.randrange(len(other) + 1)
            content[at:stop] = other[begin : begin + dice.choice([1, 8, 60])]
    return bytes(content)


@dataclass(frozen=True)
class Suite:
    """Readers that are fuzzed together.

    Attributes:
        corpus: the folder of the committed inputs, one folder a target, and dictionaries beside.
        targets: readers by name; each gets an input, and may return a text to tell one outcome from
            another.
        refusals: the errors by which an input may be refused; called late, since it imports.
        load: imports all that shall be instrumented; called within atheris's instrumentation.
        instrumented: packages whose coverage guides the search.

    >>> Suite(Path("tests/hub/corpus"), TARGETS, ...).check("card", b"---\\n")    # doctest: +SKIP
    'CardError'
    """

    corpus: Path
    targets: Mapping[str, Reader]
    refusals: Callable[[], tuple[type[BaseException], ...]]
    load: Callable[[], None]
    instrumented: tuple[str, ...]

    def check(self, target: str, content: bytes, *, memory: bool = True) -> str:
        """Run one input within the limits; returns "read" or the name of the error it was refused
        by.

        Raises:
            AssertionError: it took too long or too much memory.
            BaseException: whatever else the reader let through.
        """
        return self._answer(target, content, memory).partition(":")[0]

    def _answer(self, target: str, content: bytes, memory: bool) -> str:
        """ "read", or the error's name and text."""
        outcome, refusals = "read", self.refusals()
        if memory:
            tracemalloc.start()
        began = time.process_time()
        try:
            said = self.targets[target](content)
            outcome = said if isinstance(said, str) else outcome
        except refusals as error:
            outcome = f"{type(error).__name__}: {error}"
        finally:
            seconds = time.process_time() - began
            peak = tracemalloc.get_traced_memory()[1] if memory else 0
            if memory:
                tracemalloc.stop()
        assert seconds < FREE_SECONDS, f"{seconds:.1f} s"
        assert peak < FREE_BYTES + 10 * len(content), f"{peak:,} bytes for {len(content):,}"
        return outcome

    def inputs(self, target: str) -> list[Path]:
        """The committed inputs of a target."""
        return sorted((self.corpus / target).iterdir())

    def sound(self, target: str) -> list[bytes]:
        """Those that no fuzzing made: changes of them get further than changes of broken ones."""
        found = self.inputs(target)
        return [path.read_bytes() for path in found if not path.name.startswith("fuzz-")]

    def warm_up(self, target: str) -> None:
        """Run the corpus once without watching: whatever is imported late is imported now."""
        global _warming
        _warming = True
        for path in self.inputs(target):
            with contextlib.suppress(*self.refusals()):
                self.targets[target](path.read_bytes())
        _warming = False

    def main(self) -> None:
        """The command line: search, replay, or keep what was found."""
        parser = argparse.ArgumentParser(description="fuzzes the readers of foreign bytes")
        parser.add_argument("target", choices=self.targets)
        parser.add_argument("--seconds", type=int, default=600, help="of processor time")
        parser.add_argument("--out", type=Path, default=Path("fuzz-findings"))
        parser.add_argument("--replay", type=Path, nargs="+", metavar="FILE")
        parser.add_argument(
            "--keep", action="store_true", help="take over what --out has of new answers"
        )
        args = parser.parse_args()
        if args.replay or args.keep:
            self.warm_up(args.target)
            for path in args.replay or ():
                print(path, self._answer(args.target, path.read_bytes(), True))
            if args.keep:
                self._keep(args.target, args.out / args.target)
        else:
            self._search(args.target, args.seconds, args.out)

    def _search(self, target: str, seconds: int, out: Path) -> None:
        import atheris

        with atheris.instrument_imports(include=list(self.instrumented)):
            self.load()
        self.warm_up(target)
        runs, began, wall = 0, time.process_time(), time.monotonic()

        def one(content: bytes) -> None:
            nonlocal runs
            runs += 1
            # Counting memory costs half the speed, so it is done now and then; libFuzzer watches
            # too.
            self.check(target, content, memory=runs % 8 == 0)
            used = time.process_time() - began
            if used >= seconds:
                print(
                    f"{target}: {runs:,} inputs in {used:.0f} s of processor time "
                    f"({time.monotonic() - wall:.0f} s by the clock), no finding",
                    flush=True,
                )
                os._exit(0)  # libFuzzer has a limit by the clock only

        found = out / target
        found.mkdir(parents=True, exist_ok=True)
        # A machine that is busy gives a process little of its time: `check` measures what it got,
        # the limit by the clock is there for what never comes back.
        options = [
            "-timeout=120", "-rss_limit_mb=2048", f"-max_len={LONGEST}", "-print_final_stats=1",
            f"-artifact_prefix={out}/{target}-",
        ]  # fmt: skip
        words = self.corpus / f"{target}.dict"
        options += [f"-dict={words}"] if words.exists() else []
        atheris.Setup([sys.argv[0], *options, str(found), str(self.corpus / target)], one)
        atheris.Fuzz()

    def _keep(self, target: str, found: Path) -> None:
        """Copy into the corpus, of each answer that no input there gives, the shortest input."""
        known = {self._kind(target, path.read_bytes()) for path in self.inputs(target)}
        fresh: dict[str, bytes] = {}
        for content in sorted((path.read_bytes() for path in found.iterdir()), key=len):
            kind = self._kind(target, content)
            if kind not in known:
                fresh.setdefault(kind, content)
        for kind, content in sorted(fresh.items()):
            name = f"fuzz-{hashlib.sha256(content).hexdigest()[:10]}"
            (self.corpus / target / name).write_bytes(content)
            print(name, kind)

    def _kind(self, target: str, content: bytes) -> str:
        """The answer without what is of this input alone: quoted texts, numbers, names."""
        answer = self._answer(target, content, False)
        answer = re.sub(r"'[^']*'|\"[^\"]*\"|b'.*?'|[0-9][0-9,.]*|0x[0-9a-f]+", "_", answer)
        return answer.partition("\n")[0][:160]
