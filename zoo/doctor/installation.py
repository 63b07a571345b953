"""The installation: versions of everything, extras, and the weights inside the package."""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Iterator
from functools import partial
from importlib import metadata

import hub
from hub.cards import load_cards
from hub.resolve import packaged_path
from zoo.doctor.finding import Finding

_NAME = re.compile(r"[A-Za-z0-9._-]+")
_LEAST = re.compile(r"[>~=]=\s*([0-9.]+)")
_EXTRA = re.compile(r"extra == ['\"]([^'\"]+)['\"]")
# Extras for people who use zoo; the others are for those who work on it.
_FOR_USE = ("onnx", "tokenizers", "tensorboard", "completion", "demo", "cuda", "mpi")
# What is said where the installation does not record what it needs.
_USED = ("numpy", "pillow", "safetensors", "requests", "tqdm", "tiktoken")

_found = partial(Finding, "installation")


def findings() -> list[Finding]:
    """What is installed, and whether it is whole.

    >>> findings()[0].name
    'zoo'
    """
    return [*_versions(), *_packaged(), *_output()]


def _versions() -> Iterator[Finding]:
    try:
        own, needs = metadata.version("zoo"), metadata.requires("zoo") or list(_USED)
    except metadata.PackageNotFoundError:
        yield _found(
            "zoo", "not installed, only on the path", "broken", "In its folder: pip install ."
        )
        return
    yield _found("zoo", own)
    yield _found("Python", f"{platform.python_version()} at {sys.executable}")
    extras: dict[str, list[str]] = {}
    for need in needs:
        named = _EXTRA.search(need)
        if named:
            extras.setdefault(named[1], []).append(need)
        else:
            yield from _required(need)
    for extra in _FOR_USE:
        if extra in extras:
            yield _optional(extra, extras[extra])


def _required(need: str) -> Iterator[Finding]:
    name, least = _parsed(need)
    have = version_of(name)
    if have is None:
        if ";" not in need:  # a marker: for other systems than this one
            yield _found(name, "missing", "broken", f"Type: pip install '{need.strip()}'")
    elif older(have, least):
        yield _found(
            name, f"{have}, older than {least}", "broken", f"Type: pip install -U '{need.strip()}'"
        )
    else:
        yield _found(name, have)


def _optional(extra: str, needs: list[str]) -> Finding:
    have = {name: version_of(name) for name, _ in map(_parsed, needs)}
    missing = [name for name, version in have.items() if version is None]
    if missing:
        return _found(
            f"extra {extra}", "not installed", advice=f"Where wanted: pip install 'zoo[{extra}]'"
        )
    return _found(f"extra {extra}", ", ".join(f"{n} {v}" for n, v in have.items()))


def _parsed(need: str) -> tuple[str, str]:
    """Name and least version of a requirement, such as "numpy>=1.26"."""
    named, least = _NAME.match(need.strip()), _LEAST.search(need.partition(";")[0])
    assert named is not None  # the packaging tools wrote it
    return named[0], least[1] if least else ""


def version_of(package: str) -> str | None:
    """The version of an installed package, or None."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def older(have: str, least: str) -> bool:
    """Whether a version is below another, by its leading numbers.

    >>> older("1.9", "1.26"), older("2.0rc1", "1.26"), older("4.0", "4.0.0")
    (True, False, False)
    """

    def numbers(text: str) -> list[int]:
        found = re.match(r"[0-9]+(?:\.[0-9]+)*", text)
        return [int(part) for part in found[0].split(".")] if found else []

    a, b = numbers(have), numbers(least)
    width = max(len(a), len(b))
    return a + [0] * (width - len(a)) < b + [0] * (width - len(b))


def _packaged() -> Iterator[Finding]:
    """The weights that came with the package, hashed."""
    for card in load_cards().values():
        for file in card.files:
            path = packaged_path(file)
            if path is None:
                continue
            if path.is_file() and hub.sha256_file(path) == file.sha256:
                yield _found(card.name, f"included, {path.stat().st_size / 1e6:.1f} MB, whole")
            else:
                what = "damaged" if path.is_file() else "missing"
                yield _found(
                    card.name,
                    f"{what}: {path}",
                    "broken",
                    "Install the package again: pip install --force-reinstall zoo",
                )


def _output() -> Iterator[Finding]:
    encoding = (getattr(sys.stdout, "encoding", None) or "none").lower()
    if encoding.replace("-", "") != "utf8":
        yield _found(
            "output",
            f"written as {encoding}",
            "note",
            "Names of files and classes may not be shown; type: export PYTHONUTF8=1",
        )
