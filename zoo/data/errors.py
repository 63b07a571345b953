"""Every way a set of pictures can be unusable, one typed error each.

All derive from `DataError`, so a caller that only wants to print the message catches one type. Each
message says what was found, what was expected and what to type next.
"""

from __future__ import annotations

from collections.abc import Sequence

_SHOWN = 20  # names listed in a message before "and N more"


def listed(names: Sequence[str], limit: int = _SHOWN) -> str:
    """`names` joined by commas, cut after `limit` with a count of the rest.

    >>> listed(["a", "b", "c"], limit=2)
    'a, b and 1 more'
    """
    head = ", ".join(names[:limit])
    return head if len(names) <= limit else f"{head} and {len(names) - limit} more"


class DataError(Exception):
    """A set of pictures, or one picture, cannot be used; the message says why and what to do.

    >>> try:
    ...     zoo.data.scan("no_such_folder")
    ... except DataError as error:
    ...     type(error).__name__
    'MissingFolder'
    """


class UnreadableImage(DataError):
    """One file is not a whole picture. `path` names it, `reason` says what is wrong with it.

    >>> UnreadableImage("a.jpg", "cut short").reason
    'cut short'
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class UnreadableImages(DataError):
    """Strict mode found unreadable files; `failures` holds one `UnreadableImage` for each.

    >>> len(UnreadableImages([UnreadableImage("a.jpg", "cut short")]).failures)
    1
    """

    def __init__(self, failures: Sequence[UnreadableImage]) -> None:
        files = "\n".join(f"  {failure}" for failure in failures)
        super().__init__(
            f"{len(failures)} file(s) cannot be read as pictures:\n{files}\n"
            "Repair or remove them, or run again without --strict to skip them."
        )
        self.failures = tuple(failures)


class MissingFolder(DataError):
    """The data path does not exist.

    >>> zoo.data.scan("no_such_folder")
    Traceback (most recent call last):
        ...
    zoo.data.errors.MissingFolder: ...
    """


class NotAFolder(DataError):
    """The data path is a file.

    >>> from pathlib import Path
    >>> Path("notes.txt").write_text("no pictures")
    11
    >>> zoo.data.scan("notes.txt")
    Traceback (most recent call last):
        ...
    zoo.data.errors.NotAFolder: ...
    """


class NoPictures(DataError):
    """The folder, or a part of it that must hold pictures, holds none.

    >>> from pathlib import Path
    >>> Path("bare").mkdir()
    >>> zoo.data.scan("bare")
    Traceback (most recent call last):
        ...
    zoo.data.errors.NoPictures: ...
    """


class NoClassFolders(DataError):
    """The folder holds pictures, but no class folders to label them by.

    >>> from PIL import Image
    >>> from pathlib import Path
    >>> Path("flat").mkdir()
    >>> Image.new("RGB", (8, 8)).save("flat/a.png")
    >>> zoo.data.scan("flat")
    Traceback (most recent call last):
        ...
    zoo.data.errors.NoClassFolders: ...
    """


class OneClassOnly(DataError):
    """All pictures belong to one class: there is nothing to tell apart.

    >>> from PIL import Image
    >>> from pathlib import Path
    >>> Path("lone/cat").mkdir(parents=True)
    >>> Image.new("RGB", (8, 8)).save("lone/cat/a.png")
    >>> zoo.data.scan("lone")
    Traceback (most recent call last):
        ...
    zoo.data.errors.OneClassOnly: ...
    """


class StrayClasses(DataError):
    """The validation part names classes that training does not have; `names` lists them.

    >>> StrayClasses("val has classes that train has not: dgo", ["dgo"]).names
    ('dgo',)
    """

    def __init__(self, message: str, names: Sequence[str]) -> None:
        super().__init__(message)
        self.names = tuple(names)


class LoaderError(DataError):
    """Preparing one picture failed for a reason other than its file; the message names it.

    >>> issubclass(LoaderError, DataError)
    True
    """
