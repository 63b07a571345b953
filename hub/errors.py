"""Every way the hub can fail, one typed error each.

All derive from `HubError`, so `except hub.HubError` catches what this package raises on purpose.
Each message says which values were found, what was expected, and what to type next.
"""

from __future__ import annotations

import errno


class HubError(Exception):
    """A model card, a download or a weights file cannot be used; the message says what to do.

    >>> try:
    ...     hub.get_card("resnet99")
    ... except HubError as error:
    ...     type(error).__name__
    'UnknownCard'
    """


class CardError(HubError):
    """A model card's front matter breaks the schema of `hub.cards.Card`.

    >>> issubclass(CardError, HubError)
    True
    """


class UnknownCard(HubError):
    """No model card has this name; the message suggests near names.

    >>> hub.get_card("resnet99")
    Traceback (most recent call last):
        ...
    hub.errors.UnknownCard: ...
    """


class SourceError(HubError):
    """An address of weights has no form that is read here.

    >>> hub.fetch_file("hf:no-file")
    Traceback (most recent call last):
        ...
    hub.errors.SourceError: ...
    """


class LockError(HubError):
    """`zoo.lock` cannot be read, or pins other weights than a card names now.

    >>> from pathlib import Path
    >>> Path("zoo.lock").write_text("not a lock")
    10
    >>> hub.ProjectLock(Path("zoo.lock")).pins()
    Traceback (most recent call last):
        ...
    hub.errors.LockError: ...
    """


class OfflineError(HubError):
    """The weights are not in the cache and `ZOO_OFFLINE=1` forbids to fetch them.

    >>> hub.weights(hub.get_card("vgg19.tv_in1k_v1"))     # doctest: +SKIP
    Traceback (most recent call last):
        ...
    hub.errors.OfflineError: ...
    """


class DownloadError(HubError):
    """A server could not be reached, or refused, or broke off too often.

    Attributes:
        url: the address that failed ("" where several did).
        reason: what went wrong, in a few words.

    >>> hub.fetch_file("https://127.0.0.1:9/x.safetensors")     # doctest: +SKIP
    Traceback (most recent call last):
        ...
    hub.errors.DownloadError: ...
    """

    def __init__(self, message: str, *, url: str = "", reason: str = "") -> None:
        super().__init__(message)
        self.url = url
        self.reason = reason or message


class TruncatedDownload(DownloadError):
    """The server announced more bytes than it sent, on every attempt.

    >>> issubclass(TruncatedDownload, DownloadError)
    True
    """


class HashMismatch(DownloadError):
    """Whole bytes arrived (or lie in a file), but their SHA-256 is not the expected one.

    >>> issubclass(HashMismatch, DownloadError)
    True
    """


class NotWeights(HubError):
    """The content is no weights file: a web page, a Git LFS pointer, JSON or nothing at all.

    >>> from pathlib import Path
    >>> Path("w.safetensors").write_text("<html>")
    6
    >>> hub.read_state_dict("w.safetensors")
    Traceback (most recent call last):
        ...
    hub.errors.NotWeights: ...
    """


class CorruptCheckpoint(HubError):
    """A weights file is cut short, damaged, or says things about itself that cannot be true.

    >>> from pathlib import Path
    >>> Path("w.safetensors").write_bytes(bytes(8) + b"{}")
    10
    >>> hub.read_safetensors("w.safetensors")
    Traceback (most recent call last):
        ...
    hub.errors.CorruptCheckpoint: ...
    """


class UnsafePickle(HubError):
    """A pickle asks for a global that is not on the allow list. Nothing was run.

    Attributes:
        disallowed: the dotted name of that global, such as "os.system".

    >>> UnsafePickle("it asks for os.system", disallowed="os.system").disallowed
    'os.system'
    """

    def __init__(self, message: str, *, disallowed: str) -> None:
        super().__init__(message)
        self.disallowed = disallowed


class UnsupportedFormat(HubError):
    """A sound file in a format, or with a dtype, that this reader does not read.

    >>> issubclass(UnsupportedFormat, HubError)
    True
    """


class KeyMismatch(HubError):
    """The names in a weights file do not fit the names of the model.

    >>> issubclass(KeyMismatch, HubError)
    True
    """


class CacheError(HubError):
    """The cache folder cannot be used: not writable, locked for too long, or not a folder.

    >>> issubclass(CacheError, HubError)
    True
    """


class DiskFull(HubError, OSError):
    """There is no room for a file. Also an `OSError` with errno `ENOSPC`.

    Attributes:
        needed: bytes the whole write takes.
        free: bytes that were free when it failed.

    >>> DiskFull("no room", needed=10, free=3).needed
    10
    """

    def __init__(self, message: str, *, needed: int = 0, free: int = 0) -> None:
        super().__init__(message)
        self.errno = errno.ENOSPC
        self.strerror = message
        self.needed = needed
        self.free = free

    def __str__(self) -> str:
        return str(self.strerror)
