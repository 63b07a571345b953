"""One file over HTTP: resumed, retried, and checked before anybody sees it.

The bytes go to a `.part` file that survives failures and Ctrl-C; the next call asks the server for
the rest. A transfer counts only if the length is the announced one and the SHA-256 the expected
one. Faults that may pass (broken connections, stalls, 5xx) are retried with growing pauses, as
long as attempts bring bytes; what will not pass (404, a web page, another hash) is not.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import logging
import os
import re
import shutil
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hub.atomic import disk_full_named, no_room
from hub.content import SNIFF_BYTES, refuse_other_content
from hub.errors import DiskFull, DownloadError, HashMismatch, TruncatedDownload

if TYPE_CHECKING:
    import requests

log = logging.getLogger("hub")
_CHUNK_BYTES = 256 << 10
_RETRIED_STATUS = {408, 425, 429, 500, 502, 503, 504}


@dataclass(frozen=True)
class Policy:
    """How patient a download is.

    Attributes:
        connect_seconds: until a server must have been reached, name look-up included.
        read_seconds: longest silence of a server.
        attempts: attempts in a row that bring nothing new before it gives up.
        pause_seconds: pause before the first retry; doubles up to `longest_pause_seconds`.
    """

    connect_seconds: float = 3.0
    read_seconds: float = 15.0
    attempts: int = 4
    pause_seconds: float = 0.5
    longest_pause_seconds: float = 8.0


@dataclass(frozen=True)
class Expected:
    """What a file must be: its SHA-256 (or the start of it), and its exact size if known."""

    digest: str
    bytes: int | None = None
    said_by: str = "the model card"


class _Retry(Exception):
    """A fault that may pass; carries the error to raise if it does not."""

    def __init__(self, error: DownloadError, wait: float | None = None) -> None:
        super().__init__(error.reason)
        self.error = error
        self.wait = wait


def download(
    url: str,
    part: Path,
    expected: Expected,
    *,
    label: str,
    progress: bool = True,
    policy: Policy | None = None,
) -> str:
    """Fetch `url` into `part`, synced to disk, and return the SHA-256 of the whole.

    Args:
        url: an http(s) address; redirects are followed, proxies of the environment are used.
        part: where the bytes go; kept for the next call when this one fails half-way.
        expected: checked before this returns.
        label: for the progress bar and messages.
        progress: show a bar, if stderr is a terminal.
        policy: how patient to be.

    Raises:
        DownloadError: unreachable, refused, or broken off too often.
        TruncatedDownload: every attempt ended before the announced length.
        HashMismatch: whole, but another file. `part` is removed.
        NotWeights: a web page, Git LFS pointer or the like; not written anywhere.
        DiskFull: no room; what was written is removed.
    """
    import requests

    transfer = _Transfer(url, part, expected, label, progress, policy or Policy())
    with requests.Session() as session:
        # Compressed replies would make lengths and ranges mean something else.
        session.headers.update({"Accept-Encoding": "identity", "User-Agent": "zoo-hub"})
        return transfer.run(session)


class _Transfer:
    def __init__(
        self, url: str, part: Path, expected: Expected, label: str, progress: bool, policy: Policy
    ) -> None:
        self.url, self.part, self.expected = url, part, expected
        self.label, self.progress, self.policy = label, progress, policy
        self.notes = part.with_suffix(".json")
        self.hash = hashlib.sha256()
        self.resumed = False

    def run(self, session: requests.Session) -> str:
        most, fruitless = self._have(), 0
        while True:
            try:
                self._attempt(session)
                return self._checked_digest()
            except _Retry as fault:
                have = self._have()
                fruitless = fruitless + 1 if have <= most else 0
                most = max(most, have)
                if fruitless >= self.policy.attempts:
                    raise fault.error from fault.__cause__
                pause = min(
                    self.policy.pause_seconds * 2 ** max(0, fruitless - 1),
                    self.policy.longest_pause_seconds,
                )
                if fault.wait is not None:
                    pause = min(fault.wait, self.policy.longest_pause_seconds)
                log.warning("%s: %s; trying again in %.1f s", self.label, fault, pause)
                time.sleep(pause)

    def _have(self) -> int:
        try:
            return self.part.stat().st_size
        except FileNotFoundError:
            return 0

    def _drop(self) -> None:
        for path in (self.part, self.notes):
            path.unlink(missing_ok=True)

    def _checked_digest(self) -> str:
        digest = self.hash.hexdigest()
        if digest.startswith(self.expected.digest):
            self.notes.unlink(missing_ok=True)
            return digest
        if self.resumed:
            # The start may have come from another version of the file: once more, from zero.
            self._drop()
            raise self._fault("the resumed file has another SHA-256, so it starts from zero")
        self._drop()
        raise HashMismatch(
            f"{self.url} has the SHA-256 {digest}, expected {self.expected.digest} "
            f"({self.expected.said_by}). The file there was changed or damaged; it was not kept.",
            url=self.url,
            reason=f"its SHA-256 is {digest}, expected {self.expected.digest} "
            f"({self.expected.said_by})",
        )

    def _attempt(self, session: requests.Session) -> None:
        """One request; returns when the part file is whole and `self.hash` covers it."""
        import requests
        import urllib3

        known = self._known()
        have = self._have()
        self.hash, self.resumed = hashlib.sha256(), have > 0
        total = self.expected.bytes or known.get("total")
        if have and have == total:
            self._hash_part()
            return
        if total and have > total:
            self._drop()
            have = 0
        headers = {"Range": f"bytes={have}-"} if have else {}
        if have and known.get("url") == self.url and known.get("etag"):
            headers["If-Range"] = known["etag"]
        timeout = (self.policy.connect_seconds, self.policy.read_seconds)
        try:
            with session.get(self.url, headers=headers, stream=True, timeout=timeout) as response:
                self._receive(response, have)
        except urllib3.exceptions.ReadTimeoutError as error:
            raise self._fault(f"no data for {self.policy.read_seconds:.0f} s") from error
        except urllib3.exceptions.ProtocolError as error:
            raise self._truncated(self._have(), self._known().get("total")) from error
        except requests.exceptions.Timeout as error:
            raise self._fault(f"no answer for {self.policy.read_seconds:.0f} s") from error
        except (requests.exceptions.SSLError, requests.exceptions.ProxyError) as error:
            raise self._fault(_short(error)).error from error
        except requests.exceptions.ConnectionError as error:
            raise self._fault(_short(error)) from error
        except (requests.exceptions.RequestException, urllib3.exceptions.HTTPError) as error:
            raise self._fault(_short(error)).error from error

    def _receive(self, response: requests.Response, have: int) -> None:
        if response.status_code == 416:
            self._drop()
            raise self._fault("the server has no such range; starting from zero")
        if response.status_code not in (200, 206):
            self._refuse(response)
        if response.status_code == 206:
            start, total = _content_range(response)
            if start != have:
                self._drop()
                raise self._fault(f"the server sent another range than asked ({start}, not {have})")
        else:
            # The server ignored the range, or the file changed since: from zero.
            have, self.resumed = 0, False
            total = _content_length(response)
        chunks = _chunks(response)
        first = next(chunks, b"")
        if not have and (first or not total):
            refuse_other_content(first[:SNIFF_BYTES], self.url)
        self._check_size(total)
        self._check_room(total, have)
        try:
            with disk_full_named(self.part, total or 0):
                self._store(itertools.chain([first], chunks), have, total, _strong_etag(response))
        except DiskFull:
            # What fills a disk to the brim is not worth keeping for a resume.
            self._drop()
            raise
        got = self._have()
        if total is not None and got != total:
            raise self._truncated(got, total)

    def _store(
        self, chunks: Iterable[bytes], have: int, total: int | None, etag: str | None
    ) -> None:
        self.part.parent.mkdir(parents=True, exist_ok=True)
        self.notes.write_text(json.dumps({"url": self.url, "etag": etag, "total": total}), "utf-8")
        if have:
            self._hash_part()
        with open(self.part, "ab" if have else "wb") as f, self._bar(total, have) as bar:
            for chunk in chunks:
                f.write(chunk)
                self.hash.update(chunk)
                bar.update(len(chunk))
            f.flush()
            os.fsync(f.fileno())

    def _refuse(self, response: requests.Response) -> None:
        reason = f"HTTP {response.status_code} {response.reason}".strip()
        error = DownloadError(f"{self.url}: {reason}", url=self.url, reason=reason)
        if response.status_code in _RETRIED_STATUS:
            after = response.headers.get("Retry-After", "")
            raise _Retry(error, float(after) if after.isdigit() else None)
        raise error

    def _check_size(self, total: int | None) -> None:
        if self.expected.bytes is not None and total not in (None, self.expected.bytes):
            raise HashMismatch(
                f"{self.url} has {total:,} bytes, expected {self.expected.bytes:,} "
                f"({self.expected.said_by}): it is another file; it was not kept.",
                url=self.url,
                reason=f"it has {total:,} bytes, expected {self.expected.bytes:,}",
            )

    def _check_room(self, total: int | None, have: int) -> None:
        folder = self.part.parent
        while not folder.exists():
            folder = folder.parent
        if total is not None and shutil.disk_usage(folder).free < total - have:
            raise no_room(self.part, total)

    def _known(self) -> dict[str, Any]:
        try:
            known = json.loads(self.notes.read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        return known if isinstance(known, dict) else {}

    def _hash_part(self) -> None:
        with open(self.part, "rb") as f:
            while chunk := f.read(1 << 20):
                self.hash.update(chunk)

    def _bar(self, total: int | None, have: int) -> Any:
        from tqdm import tqdm

        # disable=None means: unless stderr is a terminal.
        return tqdm(
            total=total, initial=have, unit="B", unit_scale=True, unit_divisor=1000,
            desc=self.label, disable=None if self.progress else True,
        )  # fmt: skip

    def _fault(self, reason: str) -> _Retry:
        return _Retry(DownloadError(f"{self.url}: {reason}", url=self.url, reason=reason))

    def _truncated(self, got: int, total: int | None) -> _Retry:
        of = f" of {total:,}" if total else ""
        reason = f"the connection ended after {got:,}{of} bytes"
        return _Retry(
            TruncatedDownload(
                f"{self.url}: {reason}. What arrived is kept for the next try, not used.",
                url=self.url,
                reason=reason,
            )
        )


def _chunks(response: requests.Response) -> Iterator[bytes]:
    # read1 hands over what has arrived; read would drop it if the connection breaks before the
    # chunk is full. urllib3 before 2 has read only.
    read = getattr(response.raw, "read1", response.raw.read)
    while chunk := read(_CHUNK_BYTES, decode_content=False):
        yield chunk


def _content_length(response: requests.Response) -> int | None:
    if response.headers.get("Content-Encoding", "identity") != "identity":
        return None
    length = response.headers.get("Content-Length", "")
    return int(length) if length.isdigit() else None


def _content_range(response: requests.Response) -> tuple[int, int | None]:
    match = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", response.headers.get("Content-Range", ""))
    if match is None:
        return -1, None
    return int(match[1]), int(match[2]) if match[2] != "*" else None


def _strong_etag(response: requests.Response) -> str | None:
    etag = response.headers.get("ETag")
    return etag if etag and not etag.startswith("W/") else None


def _short(error: Exception) -> str:
    """The last, plain part of a nested network error."""
    text = str(error.args[0] if error.args else error)
    reason = getattr(error.args[0] if error.args else None, "reason", None)
    return str(reason or text).split(": ")[-1].strip("'\")>")[:160] or type(error).__name__
