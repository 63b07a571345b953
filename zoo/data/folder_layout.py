"""Which files under a data folder belong to which class and part, from names alone.

The layouts are described in `image_folder`, which turns what is found here into labelled sets.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from zoo.data import manifest
from zoo.data.decode import SUFFIXES
from zoo.data.errors import DataError, MissingFolder, NotAFolder

TRAIN_NAME = "train"
VAL_NAMES = ("val", "valid", "validation", "test")
NO_FILE = "no such file"
OUTSIDE = "picture outside the class folders"
_SUFFIXES = tuple(SUFFIXES)
_SYSTEM_FOLDERS = frozenset(["__macosx", "@eadir", "__pycache__", "lost+found", "$recycle.bin"])


class Picture(NamedTuple):
    """One file: its path, its name relative to the data folder ("/" between parts), its class.

    >>> Picture("imgs/cat/1.jpg", "cat/1.jpg", "cat").class_name
    'cat'
    """

    path: str
    name: str
    class_name: str


@dataclass(frozen=True)
class Skipped:
    """A file or folder that no class got, and why."""

    name: str
    reason: str


PicturesByClass = dict[str, list[Picture]]


def collect(
    root: str | os.PathLike[str],
) -> tuple[PicturesByClass, PicturesByClass | None, list[Skipped], Path]:
    """Pictures by class of the training and the validation part, and what was skipped."""
    path = Path(root)
    if not path.exists():
        raise MissingFolder(
            f"{path}: no such folder.\n"
            f"Check the spelling, or make one folder per class, such as {path / 'cat'} and "
            f"{path / 'dog'}, and put the pictures into them."
        )
    if path.is_file() and path.suffix.lower() in manifest.SUFFIXES:
        return _listed(path)
    if not path.is_dir():
        raise NotAFolder(
            f"{path}: is a file; expected a folder that holds one folder of pictures per class.\n"
            f"For one picture, type: zoo predict RUN {path}\n"
            "For an archive, unpack it first and give the folder. For a list of pictures and their "
            f"classes, give it a name that ends in {', '.join(manifest.SUFFIXES)}."
        )
    if not os.access(path, os.R_OK | os.X_OK):
        raise DataError(f'{path}: permission denied.\nType: chmod -R u+rX "{path}"')
    skipped: list[Skipped] = []
    train_part, val_part = _parts(path)
    for part in _visible_folders(path) if train_part != path else []:
        if part not in (train_part, val_part):
            skipped.append(Skipped(part.name + "/", "folder beside the training part"))
    if train_part != path:
        _note_loose_files(path, path, skipped)
    train = _by_class(train_part, path, skipped)
    val = None if val_part is None else _by_class(val_part, path, skipped)
    return train, val, skipped, path


def _listed(
    path: Path,
) -> tuple[PicturesByClass, PicturesByClass | None, list[Skipped], Path]:
    """What a list names, as `collect` gives it; files that are not there are skipped."""
    train: PicturesByClass = {}
    val: PicturesByClass = {}
    skipped: list[Skipped] = []
    for file, label, part in manifest.read_manifest(path):
        inside = file.is_relative_to(path.parent)
        name = printable((file.relative_to(path.parent) if inside else file).as_posix())
        if not file.is_file():
            skipped.append(Skipped(name, NO_FILE))
            continue
        found = val if part == "val" else train
        found.setdefault(label, []).append(Picture(str(file), name, label))
    return train, val or None, skipped, path


def _parts(root: Path) -> tuple[Path, Path | None]:
    """The folders that hold the class folders of training and of validation (None: no such part).

    A folder called train is a part only if it holds folders itself and what lies beside it says so:
    in a set of vehicles, "train" may be a class.
    """
    folders = {folder.name.lower(): folder for folder in reversed(_visible_folders(root))}
    train = folders.pop(TRAIN_NAME, None)
    if train is None or not _visible_folders(train):
        return root, None
    for name in VAL_NAMES:
        if name in folders and _visible_folders(folders[name]):
            return train, folders[name]
    return (root, None) if set(folders) - set(VAL_NAMES) else (train, None)


def is_hidden(name: str) -> bool:
    """Whether a file or folder of that name is nobody's class or picture."""
    return name.startswith(".") or name.lower() in _SYSTEM_FOLDERS


def _visible_folders(folder: Path) -> list[Path]:
    with os.scandir(folder) as entries:
        names = sorted(e.name for e in entries if not is_hidden(e.name) and _is_dir(e))
    return [folder / name for name in names]


def _is_dir(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself
        return False


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:
        return False


def claims_picture(name: str) -> bool:
    """Whether a file of that name says that it is a picture."""
    return name.lower().endswith(_SUFFIXES)


def _by_class(part: Path, root: Path, skipped: list[Skipped]) -> PicturesByClass:
    _note_loose_files(part, root, skipped)
    classes: PicturesByClass = {}
    for folder in _visible_folders(part):
        # One spelling of é: some systems store it as one code point and others as two, and the
        # parts of a data set may come from both.
        name = unicodedata.normalize("NFC", printable(folder.name))
        visited = {_identity(root), _identity(part)}
        found = classes.setdefault(name, [])
        for path, relative in _walk(folder, root, visited, skipped):
            found.append(Picture(path, relative, name))
    return classes


def _walk(
    folder: Path, root: Path, visited: set[object], skipped: list[Skipped]
) -> Iterator[tuple[str, str]]:
    """(path, name relative to the root) of picture files under `folder`, each real folder once
    however many links lead to it."""
    identity = _identity(folder)
    here = _relative(folder, root) + "/"
    if identity in visited:
        skipped.append(Skipped(here, "link to a folder already read"))
        return
    visited.add(identity)
    try:
        with os.scandir(folder) as scanned:
            entries = sorted(scanned, key=attrgetter("name"))
    except PermissionError:
        skipped.append(Skipped(here, "permission denied"))
        return
    for entry in entries:
        # Texts rather than paths: folders of 100,000 files are walked in half a second.
        if claims_picture(entry.name) and entry.name[0] != "." and _is_file(entry):
            yield entry.path, here + printable(entry.name)
            continue
        path, is_folder = folder / entry.name, _is_dir(entry)
        if is_folder and not is_hidden(entry.name):
            yield from _walk(path, root, visited, skipped)
        elif is_folder or not (_is_file(entry) and claims_picture(entry.name)):
            skipped.append(_why_skipped(entry, path, root))
        else:
            skipped.append(Skipped(_relative(path, root), "hidden"))


def _note_loose_files(folder: Path, root: Path, skipped: list[Skipped]) -> None:
    """Report what lies directly in a folder that should hold class folders only."""
    with os.scandir(folder) as scanned:
        entries = sorted(scanned, key=attrgetter("name"))
    for entry in entries:
        path = folder / entry.name
        if _is_dir(entry) and not is_hidden(entry.name):
            continue
        if _is_file(entry) and claims_picture(entry.name) and not is_hidden(entry.name):
            skipped.append(Skipped(_relative(path, root), OUTSIDE))
        else:
            skipped.append(_why_skipped(entry, path, root))


def _why_skipped(entry: os.DirEntry[str], path: Path, root: Path) -> Skipped:
    name = _relative(path, root)
    if _is_dir(entry):
        return Skipped(name + "/", "hidden or system folder")
    if is_hidden(entry.name):
        return Skipped(name, "hidden")
    if entry.is_symlink() and not path.exists():
        return Skipped(name, "broken link")
    return Skipped(name, "not a picture" if _is_file(entry) else "not a regular file")


def _identity(path: Path) -> object:
    status = path.stat()
    return status.st_dev, status.st_ino


def _relative(path: Path, root: Path) -> str:
    return printable(path.relative_to(root).as_posix())


def printable(name: str) -> str:
    """`name` with bytes that are no UTF-8 written as \\xNN: it can be printed and stored."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return os.fsencode(name).decode("utf-8", "backslashreplace")
    return name
