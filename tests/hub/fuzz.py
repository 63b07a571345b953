"""Fuzzes the readers of files that strangers made, guided by coverage.

    pip install atheris
    python -m tests.hub.fuzz pickle --seconds 600        # or zip, tar, pth, safetensors, header,
                                                         # index, card; what it finds goes to
                                                         # ./fuzz-findings
    python -m tests.hub.fuzz pickle --replay FILE...     # show what an input does

An input may be read or refused with a `HubError`. It must not raise anything else, take long, take
memory beyond ten times its size (and 16 MB), write a file, import a module or run anything.
`tests/hub/test_fuzz_corpus.py` replays the corpus in `tests/hub/corpus`: add there what you find.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
import tempfile
import time
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

CORPUS = Path(__file__).parent / "corpus"
FREE_BYTES = 16_000_000
FREE_SECONDS = 5.0
# What a reader of weights has no business with. "open" is checked for writing only.
FORBIDDEN = ("os.system", "subprocess.Popen", "os.exec", "os.fork", "os.posix_spawn", "socket.",
             "ctypes.", "pickle.find_class", "import", "exec", "compile", "code.__new__",
             "os.remove", "os.rename", "os.mkdir", "os.rmdir", "shutil.")  # fmt: skip


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


# ---------------------------------------------------------------- targets


def _read_file(content: bytes) -> None:
    import hub

    path = Path(_folder()) / "input"
    path.write_bytes(content)
    with watched():
        for array in hub.read_state_dict(path).values():
            _touch(array)


def _touch(array: Any) -> None:
    # The first and the last element lie inside the file, or this is where it shows.
    if array.size:
        array[(0,) * array.ndim], array[(-1,) * array.ndim]


_folders: list[tempfile.TemporaryDirectory[str]] = []


def _folder() -> str:
    if not _folders:
        _folders.append(
            tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
        )
    return _folders[0].name


def pickle_in_zip(program: bytes) -> bytes:
    """A .pth whose `data.pkl` is these bytes, with storages "0" to "2" of 64 bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(zipfile.ZipInfo("a/data.pkl"), program)
        for key in range(3):
            archive.writestr(zipfile.ZipInfo(f"a/data/{key}"), bytes(64))
    return out.getvalue()


def header_with_data(header: bytes) -> bytes:
    """A .safetensors with this header and 64 bytes of data."""
    return len(header).to_bytes(8, "little") + header + bytes(64)


def _read_index(content: bytes) -> None:
    import hub

    folder = Path(_folder())
    (folder / "shard").write_bytes(
        header_with_data(b'{"a":{"dtype":"U8","shape":[64],"data_offsets":[0,64]}}')
    )
    path = folder / "index.json"
    path.write_bytes(content)
    with watched():
        hub.read_state_dict(path)


def _read_card(content: bytes) -> None:
    from hub.cards import parse_card

    text = content.decode("utf-8", "replace")
    with watched():
        parse_card(text, "tiny.test")


TARGETS: dict[str, Callable[[bytes], None]] = {
    "pth": _read_file,
    "zip": _read_file,
    "tar": _read_file,
    "pickle": lambda content: _read_file(pickle_in_zip(content)),
    "safetensors": _read_file,
    "header": lambda content: _read_file(header_with_data(content)),
    "index": _read_index,
    "card": _read_card,
}


def check(target: str, content: bytes, *, memory: bool = True) -> str:
    """Run one input within the limits; returns "read" or the name of the error it was refused by.

    Raises:
        AssertionError: it took too long or too much memory.
        BaseException: whatever else the reader let through.
    """
    import hub

    outcome = "read"
    if memory:
        tracemalloc.start()
    began = time.process_time()
    try:
        TARGETS[target](content)
    except hub.HubError as error:
        outcome = type(error).__name__
    finally:
        seconds = time.process_time() - began
        peak = tracemalloc.get_traced_memory()[1] if memory else 0
        if memory:
            tracemalloc.stop()
    assert seconds < FREE_SECONDS, f"{seconds:.1f} s"
    assert peak < FREE_BYTES + 10 * len(content), f"{peak:,} bytes for {len(content):,}"
    return outcome


def corpus(target: str) -> list[Path]:
    """The committed inputs of a target."""
    return sorted((CORPUS / target).iterdir())


def warm_up(target: str) -> None:
    """Run the corpus once without watching: whatever is imported late is imported now."""
    global _warming
    import hub

    _warming = True
    for path in corpus(target):
        with contextlib.suppress(hub.HubError):
            TARGETS[target](path.read_bytes())
    _warming = False


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--out", type=Path, default=Path("fuzz-findings"))
    parser.add_argument("--replay", type=Path, nargs="+", metavar="FILE")
    args = parser.parse_args()
    if args.replay:
        warm_up(args.target)
        for path in args.replay:
            print(path, check(args.target, path.read_bytes()))
        return
    import atheris

    with atheris.instrument_imports(include=["hub", "zipfile", "tarfile", "yaml"]):
        import tarfile  # noqa: F401

        import yaml  # noqa: F401

        import hub.cards
        import hub.state_dict  # noqa: F401
    warm_up(args.target)
    runs = 0

    def one(content: bytes) -> None:
        nonlocal runs
        runs += 1
        # Counting memory costs half the speed, so it is done now and then; libFuzzer watches too.
        check(args.target, content, memory=runs % 8 == 0)

    found = args.out / args.target
    found.mkdir(parents=True, exist_ok=True)
    options = [
        f"-max_total_time={args.seconds}", "-timeout=10", "-rss_limit_mb=2048", "-max_len=8192",
        "-print_final_stats=1", f"-artifact_prefix={args.out}/{args.target}-",
    ]  # fmt: skip
    words = CORPUS / f"{args.target}.dict"
    options += [f"-dict={words}"] if words.exists() else []
    atheris.Setup([sys.argv[0], *options, str(found), str(CORPUS / args.target)], one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
