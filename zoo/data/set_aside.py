"""Files that spoil a data set, moved out of it: proposed by the audit, moved when a person agrees.

Nothing is ever deleted. A file goes to a folder beside the data folder, under the same relative
path, so that moving it back undoes it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from zoo.data.audit import Audit
from zoo.data.errors import DataError


@dataclass(frozen=True)
class Proposal:
    """Files that had better not be there: why, and their names relative to the data folder."""

    why: str
    names: tuple[str, ...]


def proposals(audit: Audit, train: Iterable[str]) -> list[Proposal]:
    """What an audit suggests to move, the surer things first.

    Of files that are on both sides of the split the training one is proposed, so that validation
    stays what it was. Of files within a class all but the first are. Identical files in different
    classes are not proposed: only a person can say which label is wrong.

    Args:
        audit: of the folder.
        train: names of the pictures to train on.

    >>> proposals(audit, ["a/1.png"])     # doctest: +SKIP
    [Proposal(why='not readable as pictures', names=('a/1.png',))]
    """
    training = set(train)
    found: list[Proposal] = []
    proposed: set[str] = set()

    def propose(why: str, names: Iterable[str]) -> None:
        new = tuple(dict.fromkeys(name for name in names if name not in proposed))
        proposed.update(new)
        if new:
            found.append(Proposal(why, new))

    propose("not readable as pictures", (name for name, _ in audit.unreadable))
    propose(
        "identical to validation pictures",
        (n for group in audit.duplicates_across_parts for n in group if n in training),
    )
    propose(
        "identical to others of their class",
        (n for group in audit.duplicates_in_class for n in group[1:]),
    )
    propose(
        "alike validation pictures",
        (n for group in audit.near_duplicates_across_parts for n in group if n in training),
    )
    return found


def aside_folder(root: str | os.PathLike[str]) -> Path:
    """Where the files of a data folder go: the first free `ROOT.aside`, `ROOT.aside-2`, ..."""
    base = Path(os.path.abspath(root))
    number, path = 2, base.with_name(f"{base.name}.aside")
    while path.exists():
        path = base.with_name(f"{base.name}.aside-{number}")
        number += 1
    return path


def set_aside(root: str | os.PathLike[str], names: Sequence[str], target: Path) -> int:
    """Move files out of a data folder; gives how many were moved.

    Args:
        root: the data folder.
        names: relative to it, "/" between parts.
        target: a folder that gets them under the same names.

    Raises:
        DataError: a file cannot be moved; it says which, and those before it are moved.

    >>> set_aside("pets", ["cat/broken.jpg"], Path("pets.aside"))     # doctest: +SKIP
    1
    """
    moved = 0
    for name in names:
        source, destination = Path(root) / name, target / name
        if destination.exists() or not source.is_file():
            continue  # moved before
        try:
            destination.parent.mkdir(parents=True, exist_ok=True)
            os.rename(source, destination)
        except OSError as error:
            raise DataError(
                f"{source} could not be moved to {destination}: {error.strerror or error}. "
                f"{moved} file(s) were moved before; to undo that, move them back from {target}."
            ) from error
        moved += 1
    return moved
