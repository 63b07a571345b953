"""Folders of pictures: which file belongs to which class, found without opening any file.

Two layouts are understood:

    root/CLASS/**/picture.jpg                         a validation part is split off later
    root/train/CLASS/**/... and root/val/CLASS/**/... the two parts as they are

The validation folder may be called val, valid, validation or test (the first found is used).
Classes are sorted as text, so folders 0 to 11 come as 0, 1, 10, 11, 2, ...: an index is not a name,
and the mapping has to travel with the weights. Class names of all parts share one mapping.

Or root is a list of pictures and their classes, see `zoo.data.manifest`.

Skipped, and reported: hidden files and folders, system folders such as `__MACOSX`, files that do
not claim to be pictures, pictures outside class folders, broken links. Linked folders are followed.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from zoo.data.collector import without_collector
from zoo.data.decode import SUFFIXES, MinSide, decode, read_bytes
from zoo.data.errors import (
    DataError,
    NoClassFolders,
    NoPictures,
    OneClassOnly,
    StrayClasses,
    UnreadableImage,
    listed,
)
from zoo.data.folder_layout import NO_FILE, OUTSIDE, Picture, PicturesByClass, Skipped, collect
from zoo.data.image_set import ImageSet
from zoo.data.manifest import SEPARATOR

if TYPE_CHECKING:
    from PIL import Image


@dataclass(frozen=True)
class Folder:
    """What a scan found.

    Attributes:
        root: the data folder as it was given.
        classes: class names in index order.
        train: pictures to train on, sorted by name.
        val: pictures to validate on; None where the folder has no validation part of its own.
        empty_classes: class folders without a picture; they get no index.
        skipped: what was left out.
        of_model: the classes are those of a model, whatever pictures there are.
        strays: (class, pictures) that the model does not know; these pictures are in no part, or,
            where pictures have several labels, without that one.
        several: pictures may have several labels, or none; `labels_of` gives them.

    >>> from PIL import Image
    >>> from pathlib import Path
    >>> for name in ("cat", "dog"):
    ...     Path("imgs", name).mkdir(parents=True)
    ...     Image.new("RGB", (8, 8)).save(f"imgs/{name}/1.png")
    >>> zoo.data.scan("imgs").classes
    ('cat', 'dog')
    """

    root: Path
    classes: tuple[str, ...]
    train: tuple[Picture, ...]
    val: tuple[Picture, ...] | None
    empty_classes: tuple[str, ...]
    skipped: tuple[Skipped, ...]
    of_model: bool = False
    strays: tuple[tuple[str, int], ...] = ()
    several: bool = False

    def labels_of(self, picture: Picture) -> tuple[str, ...]:
        """The names of a picture's labels: its class, or as many as it has."""
        return labels_of(picture, self.several)

    def counts(self, pictures: Sequence[Picture]) -> Counter[str]:
        """How many of the pictures have each label."""
        if not self.several:
            return Counter([picture.class_name for picture in pictures])
        return Counter(name for picture in pictures for name in self.labels_of(picture))

    @property
    def class_to_index(self) -> dict[str, int]:
        """Class name to label."""
        return {name: index for index, name in enumerate(self.classes)}

    def without(self, names: frozenset[str]) -> Folder:
        """The folder with the pictures called `names` left out. Classes that this empties lose
        their index, unless they are a model's (`scan_for_classes`). Errors are as in the scan."""
        kept = replace(
            self,
            train=tuple(p for p in self.train if p.name not in names),
            val=None if self.val is None else tuple(p for p in self.val if p.name not in names),
        )
        return _checked_for_model(kept) if self.of_model else _checked(kept)


def labels_of(picture: Picture, several: bool) -> tuple[str, ...]:
    """The names of a picture's labels: its class, or, of `several`, as many as it has.

    >>> labels_of(Picture("a/1.jpg", "1.jpg", "beach|sun"), several=True)
    ('beach', 'sun')
    """
    if not several:
        return (picture.class_name,)
    return tuple(filter(None, picture.class_name.split(SEPARATOR)))


@without_collector
def scan(root: str | os.PathLike[str]) -> Folder:
    """Find the classes and pictures under `root`.

    Raises:
        MissingFolder, NotAFolder, NoPictures, NoClassFolders, OneClassOnly, StrayClasses: each
            says what was found and what to type next.

    >>> scan("pets").classes      # doctest: +SKIP
    ('cat', 'dog')
    """
    train, val, skipped, root = collect(root)
    return _checked(_folder(root, train, val, skipped))


def scan_for_classes(
    root: str | os.PathLike[str], classes: Sequence[str], several: bool = False
) -> Folder:
    """Find the pictures under `root` for a model whose classes are already fixed, to evaluate it.

    The validation part is taken where there is one, else all pictures; they are in `val`, and
    `train` is empty. Classes are matched by name: some may be missing, and their order does not
    matter. Folders that are no class of the model are counted in `strays`. For a model of `several`
    labels a picture, class folders are as good as lists.

    Raises:
        MissingFolder, NotAFolder, NoPictures, NoClassFolders: as `scan`.
        StrayClasses: the model knows none of the folder's classes.
        DataError: pictures have several labels, and the model gives one class.
    """
    train, val, skipped, root = collect(root)
    folder = _folder(root, {}, train if val is None else val, skipped)
    if folder.several and not several:
        raise DataError(
            f"{root}: some pictures have several labels or none, and the model gives each one "
            "class; expected a list with one label in every line, or a model trained on several"
        )
    folder = replace(folder, classes=tuple(classes), of_model=True, several=several)
    return _checked_for_model(folder)


class FolderImages(ImageSet):
    """Pictures in files.

    Args:
        pictures: the files.
        classes: class names in index order; holds the class of every picture.
        digests: SHA-256 of each picture's file, by name. A file that holds something else by the
            time it is loaded is refused, so that what is learned is what was checked.
        several: pictures may have several labels; those that are no class count for nothing.

    >>> FolderImages([Picture("imgs/cat/1.png", "cat/1.png", "cat")], ["cat"], {}).labels
    array([0])
    """

    def __init__(
        self,
        pictures: Sequence[Picture],
        classes: Sequence[str],
        digests: dict[str, bytes],
        several: bool = False,
    ) -> None:
        index = {name: i for i, name in enumerate(classes)}
        self.pictures = tuple(pictures)
        self.classes = tuple(classes)
        self._digests = digests
        self._several = several
        if not several:
            self.labels = np.array([index[p.class_name] for p in pictures], dtype=np.int64)
            return
        labels = np.zeros((len(self.pictures), len(index)), dtype=np.uint8)
        for row, picture in enumerate(self.pictures):
            known = [index[name] for name in labels_of(picture, several) if name in index]
            labels[row, known] = 1
        self.labels = labels

    def load(self, index: int, min_side: MinSide = None) -> Image.Image:
        picture = self.pictures[index]
        data = read_bytes(picture.path)
        wanted = self._digests.get(picture.name)
        if wanted is not None and hashlib.sha256(data).digest() != wanted:
            raise UnreadableImage(picture.path, "the file was changed since it was checked")
        return decode(data, min_side=min_side, name=picture.path)

    def name(self, index: int) -> str:
        return self.pictures[index].name

    def digest(self, index: int) -> bytes:
        return self._digests[self.pictures[index].name]

    def subset(self, indices: ArrayLike) -> FolderImages:
        chosen = [self.pictures[i] for i in np.asarray(indices, dtype=np.int64)]
        return FolderImages(chosen, self.classes, self._digests, self._several)


def _folder(
    root: Path, train: PicturesByClass, val: PicturesByClass | None, skipped: list[Skipped]
) -> Folder:
    def flat(part: PicturesByClass) -> tuple[Picture, ...]:
        return tuple(sorted((p for found in part.values() for p in found), key=lambda p: p.name))

    everywhere = [*train.items(), *(val or {}).items()]
    filled = {name for name, found in everywhere if found}
    return Folder(
        root=root,
        classes=(),
        train=flat(train),
        val=None if val is None else flat(val),
        empty_classes=tuple(sorted({name for name, _ in everywhere} - filled)),
        skipped=tuple(skipped),
        # A folder may be called anything; only a list says so.
        several=root.is_file() and any(not name or SEPARATOR in name for name in filled),
    )


def _checked(folder: Folder) -> Folder:
    """`folder` with its classes worked out from the training pictures, or the error it deserves."""
    classes = tuple(sorted(folder.counts(folder.train)))
    emptied = set(folder.classes) - set(classes)
    folder = replace(
        folder, classes=classes, empty_classes=tuple(sorted({*folder.empty_classes, *emptied}))
    )
    if not classes:
        raise _nothing_found(folder)
    if folder.val is not None:
        if not folder.val:
            raise NoPictures(
                f"{folder.root}: the validation folder holds no picture in a class folder.\n"
                "Fill it, or remove it: a validation part is then split off the training pictures."
            )
        strays = sorted(set(folder.counts(folder.val)) - set(classes))
        if strays:
            raise StrayClasses(
                f"{folder.root}: the validation part has classes without training pictures: "
                f"{listed(strays)}.\nTraining has {listed(classes)}. "
                "Rename these folders alike in both parts, or remove them.",
                strays,
            )
    if len(classes) == 1 and not folder.several:
        raise _one_class(folder)
    return folder


def _checked_for_model(folder: Folder) -> Folder:
    if not folder.val:
        raise _nothing_found(folder)
    known = set(folder.classes)
    found = folder.counts(folder.val)
    strays = Counter({name: count for name, count in found.items() if name not in known})
    kept = folder.val
    if not folder.several:
        kept = tuple(p for p in folder.val if p.class_name in known)
    elif not known & set(found):
        kept = ()
    if not kept:
        raise StrayClasses(
            f"{folder.root}: the model has no class called {listed(sorted(strays))}.\n"
            f"Its classes are {listed(folder.classes)}. Name the folders by the classes they hold.",
            sorted(strays),
        )
    before = Counter() if folder.several else Counter(dict(folder.strays))
    return replace(folder, val=kept, strays=tuple(sorted((before + strays).items())))


def _nothing_found(folder: Folder) -> Exception:
    root = folder.root
    loose = [s.name for s in folder.skipped if s.reason == OUTSIDE]
    if loose:
        return NoClassFolders(
            f"{root}: {len(loose)} picture(s) lie in no class folder, such as {loose[0]}.\n"
            f"Make one folder per class inside {root} and move the pictures in, for example: "
            f'mkdir "{root / "cat"}" "{root / "dog"}"'
        )
    absent = [s.name for s in folder.skipped if s.reason == NO_FILE]
    if absent:
        return NoPictures(
            f"{root}: none of its {len(absent)} pictures is there, such as {absent[0]}.\n"
            f"Paths in a list are relative to its folder, {root.parent}."
        )
    empty = ""
    if folder.empty_classes:
        empty = f" Class folders without pictures: {listed(folder.empty_classes)}."
    return NoPictures(
        f"{root}: no pictures found.{empty}\n"
        f"{len(folder.skipped)} other file(s) and folder(s) were skipped. Expected pictures "
        f"({listed(sorted(SUFFIXES), 6)}) in one folder per class, such as {root / 'cat' / '1.jpg'}"
    )


def _one_class(folder: Folder) -> OneClassOnly:
    name = folder.classes[0]
    message = (
        f"{folder.root}: {len(folder.train)} picture(s), all of one class, {name!r}; "
        "expected two classes or more.\n"
    )
    depth = len(Path(folder.train[0].name).parts)
    inner = sorted({str(Path(p.path).parent) for p in folder.train})
    if depth > 2 and len(inner) > 1:
        message += (
            f"Its folder holds {len(inner)} folders of pictures. If those are the classes, type: "
            f'--data "{Path(inner[0]).parent}"'
        )
    else:
        message += f"Add a folder of other pictures beside it, such as {folder.root / 'other'}"
    return OneClassOnly(message)
