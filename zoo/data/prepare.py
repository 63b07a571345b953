"""From a folder's path to the sets that a run trains and validates on."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from zoo.data.audit import Audit, audit
from zoo.data.errors import DataError, StrayClasses, UnreadableImages, listed
from zoo.data.facts import PictureFacts, inspect
from zoo.data.image_folder import Folder, FolderImages, Picture, scan, scan_for_classes
from zoo.data.image_set import ImageSet
from zoo.data.split import Fold, split


@dataclass(frozen=True)
class PreparedFolder:
    """Two labelled sets with one class mapping (`train.classes`), and the report on them.

    >>> prepared = zoo.demo.prepare_digits()
    >>> prepared.train.classes == prepared.val.classes
    True
    """

    train: ImageSet
    val: ImageSet
    audit: Audit


def prepare_folder(
    root: str | os.PathLike[str],
    *,
    val_fraction: float = 0.2,
    seed: int = 0,
    fold: Fold | None = None,
    strict: bool = False,
    threads: int | None = None,
    progress: bool = False,
) -> PreparedFolder:
    """Scan a data folder, read every picture, and give the training and the validation set.

    Unreadable files are left out and listed in the audit. Where the folder has no validation part
    of its own, one is split off by content (see `split_by_content`).

    Args:
        root: the folder; see `image_folder` for the layouts.
        val_fraction: of each class, above 0 and below 1; used only to split.
        seed: of the split.
        fold: which part validates, for cross-validation; None: `val_fraction` of each class.
        strict: refuse unreadable files instead of leaving them out.
        threads: that read pictures; None takes one per CPU, at most 8.
        progress: show a progress bar on the error stream.

    Raises:
        DataError: one of its kinds, for each way the folder is unusable.

    >>> prepared = prepare_folder("pets")                  # doctest: +SKIP
    >>> print(*prepared.audit.lines(), sep="\\n")           # doctest: +SKIP
    """
    folder = scan(root)
    if fold is not None and folder.val is not None:
        raise DataError(
            f"{root}: has a validation part of its own, so it cannot be cut into folds.\n"
            "Name the folder of the training part, or leave out --folds."
        )
    if fold is not None and folder.several:
        raise DataError(
            f"{root}: some pictures have several labels, and folds are cut by class; leave out "
            "--folds"
        )
    folder, facts, digests = _read(folder, strict, threads, progress)
    train = FolderImages(folder.train, folder.classes, digests, folder.several)
    if folder.val is None:
        train, val = split(train, val_fraction, seed, fold)
    else:
        val = FolderImages(folder.val, folder.classes, digests, folder.several)
    return PreparedFolder(train, val, audit(folder, train.pictures, val.pictures, facts))


def prepare_evaluation(
    root: str | os.PathLike[str],
    classes: Sequence[str],
    *,
    several: bool = False,
    strict: bool = False,
    threads: int | None = None,
    progress: bool = False,
) -> tuple[FolderImages, Audit, dict[str, int]]:
    """The pictures of a folder labelled by a model's `classes`: its validation part where it has
    one, else all of it; the audit; and how many pictures are left out because the model does not
    know their class, by class. `several` says that the model gives pictures several labels; the
    other arguments and the errors are those of `prepare_folder`.

    Raises:
        StrayClasses: strict, and there is a class that the model does not know; or it knows none.

    >>> images, audit, unknown = prepare_evaluation("imgs", ["cat", "dog"])     # doctest: +SKIP
    """
    folder = scan_for_classes(root, classes, several)
    if strict and folder.strays:
        names = [name for name, _ in folder.strays]
        raise StrayClasses(
            f"{root}: the model has no class called {listed(names)}.\nIts classes are "
            f"{listed(classes)}. Rename or remove these folders, or leave out --strict to measure "
            "on the others.",
            names,
        )
    folder, facts, digests = _read(folder, strict, threads, progress)
    assert folder.val is not None
    images = FolderImages(folder.val, folder.classes, digests, folder.several)
    return images, audit(folder, (), images.pictures, facts), dict(folder.strays)


def _read(
    folder: Folder, strict: bool, threads: int | None, progress: bool
) -> tuple[Folder, dict[str, PictureFacts], dict[str, bytes]]:
    """`folder` without its unreadable files, the facts on all files, and their digests, by name."""
    pictures: tuple[Picture, ...] = (*folder.train, *(folder.val or ()))
    facts = inspect(pictures, folder.root, threads=threads, progress=progress)
    failures = [fact.failure for fact in facts.values() if fact.failure is not None]
    if failures and strict:
        raise UnreadableImages(failures)
    unreadable = frozenset(name for name, fact in facts.items() if fact.failure is not None)
    try:
        folder = folder.without(unreadable)
    except DataError as error:
        files = "\n".join(f"  {failure}" for failure in failures)
        error.args = (f"{error}\nUnreadable, and therefore left out:\n{files}",)
        raise
    return folder, facts, {name: fact.digest for name, fact in facts.items()}
