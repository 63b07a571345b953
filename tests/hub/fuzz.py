"""Fuzzes the readers of files that strangers made, guided by coverage.

    pip install atheris
    python -m tests.hub.fuzz pickle --seconds 600        # or zip, tar, pth, safetensors, header,
                                                         # index, card, lock, records; seconds of
                                                         # processor time; what it finds goes to
                                                         # ./fuzz-findings
    python -m tests.hub.fuzz pickle --replay FILE...     # show what an input does
    python -m tests.hub.fuzz pickle --keep               # add inputs of new answers to the corpus

An input may be read or refused with a `HubError`; see `tests/fuzzing.py` for what it must not.
`tests/hub/test_fuzz_corpus.py` replays the corpus in `tests/hub/corpus`: add there what you find.
The readers above the hub have a command of their own, `tests/zoo/fuzz.py`.
"""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

from tests.fuzzing import Reader, Suite, as_file, scratch, watched


def _read_file(content: bytes) -> None:
    import hub

    path = as_file(content)
    with watched():
        for array in hub.read_state_dict(path).values():
            _touch(array)


def _touch(array: Any) -> None:
    # The first and the last element lie inside the file, or this is where it shows.
    if array.size:
        array[(0,) * array.ndim], array[(-1,) * array.ndim]


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

    as_file(header_with_data(b'{"a":{"dtype":"U8","shape":[64],"data_offsets":[0,64]}}'), "shard")
    path = as_file(content, "index.json")
    with watched():
        hub.read_state_dict(path)


def _read_card(content: bytes) -> None:
    from hub.cards import parse_card

    text = content.decode("utf-8", "replace")
    with watched():
        parse_card(text, "tiny.test")


def _read_lock(content: bytes) -> None:
    from hub.project_lock import ProjectLock

    lock = ProjectLock(as_file(content, "zoo.lock"))
    with watched():
        for name, pin in lock.pins().items():
            # What was read can be written again and said to a person.
            str(lock.other_digest(name, pin, "0" * 64)).encode("utf-8")


def _read_records(content: bytes) -> None:
    from hub.cache import Cache

    as_file(content, "lock.json")
    with watched():
        for name, digest in Cache(scratch()).records().items():
            f"{name} {digest}".encode()


TARGETS: dict[str, Reader] = {
    "pth": _read_file,
    "zip": _read_file,
    "tar": _read_file,
    "pickle": lambda content: _read_file(pickle_in_zip(content)),
    "safetensors": _read_file,
    "header": lambda content: _read_file(header_with_data(content)),
    "index": _read_index,
    "card": _read_card,
    "lock": _read_lock,
    "records": _read_records,
}


def _refusals() -> tuple[type[BaseException], ...]:
    import hub

    return (hub.HubError,)


def _load() -> None:
    import tarfile  # noqa: F401

    import yaml  # noqa: F401

    import hub.cards
    import hub.project_lock
    import hub.state_dict  # noqa: F401


SUITE = Suite(
    Path(__file__).parent / "corpus",
    TARGETS,
    _refusals,
    _load,
    ("hub", "zipfile", "tarfile", "yaml"),
)

if __name__ == "__main__":
    SUITE.main()
