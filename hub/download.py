"""One file over HTTP: resumed, retried, and checked before anybody sees it.

The bytes go to a `.part` file that survives failures and Ctrl-C; the next call asks the server for
the rest. A transfer counts only if the length is the announced one and the SHA-256 the expected
one. Faults that may pass (broken connections, stalls, 5xx) are retried with growing pauses, as
long as attempts bring bytes; what will not pass (404, a web page, another hash) is not.

Where nobody knows the digest beforehand, a part is continued only if the server's strong ETag is
the one it had; the digest of what arrived is returned for the caller to record.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import logging
import os
import random
import shutil
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hub.atomic import disk_full_named, no_room
from hub.content import SNIFF_BYTES, refuse_other_content
from hub.errors import DiskFull, DownloadError, HashMismatch, TruncatedDownload
from hub.patience import session_with_deadline
from hub.policy import Expected, Pace, Policy
from hub.progress import progress_bar
from hub.reply import Reply, short_reason
from hub.sources import hf_endpoint, token_for, without_secrets
from hub.strict_json import strict_json

if TYPE_CHECKING:
    import requests

log = logging.getLogger("hub")
_RETRIED_STATUS = {408, 425, 429, 500, 502, 503, 504}
# An attempt is fruitful if it brings a hundredth of the file, or this much of a large one.
_FRUITFUL_BYTES = 64 << 10
# Its own generator: a program that seeds Python's or numpy's keeps its numbers.
_jitter = random.SystemRandom()


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
    policy = policy or Policy()
    transfer = _Transfer(url, part, expected, label, progress, policy)
    with session_with_deadline(2 * policy.read_seconds) as session:
        # Compressed replies would make lengths and ranges mean something else.
        session.headers.update({"Accept-Encoding": "identity", "User-Agent": "zoo-hub"})
        return transfer.run(session)


class _Transfer:
    def __init__(
        self, url: str, part: Path, expected: Expected, label: str, progress: bool, policy: Policy
    ) -> None:
        self.url, self.part, self.expected = url, part, expected
        self.shown = without_secrets(url)
        self.label, self.progress, self.policy = label, progress, policy
        self.notes = part.with_suffix(".json")
        self.hash = hashlib.sha256()
        self.resumed = False
        self.unmeasured = False

    def run(self, session: requests.Session) -> str:
        most, fruitless = self._have(), 0
        while True:
            try:
                self._attempt(session)
                return self._checked_digest()
            except _Retry as fault:
                have = self._have()
                fruitless = 0 if have >= most + self._fruitful_bytes() else fruitless + 1
                most = max(most, have)
                if fruitless >= self.policy.attempts:
                    raise fault.error from fault.__cause__
                pause = min(
                    self.policy.pause_seconds * 2 ** max(0, fruitless - 1),
                    self.policy.longest_pause_seconds,
                )
                pause *= _jitter.uniform(0.75, 1.25)
                if fault.wait is not None:
                    pause = min(fault.wait, self.policy.longest_pause_seconds)
                log.warning("%s: %s; trying again in %.1f s", self.label, fault, pause)
                time.sleep(pause)

    def _fruitful_bytes(self) -> int:
        total = self.expected.bytes or self._known().get("total") or 0
        return min(_FRUITFUL_BYTES, max(1, total // 100))

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
        self._drop()
        error = HashMismatch(
            f"{self.shown} has the SHA-256 {digest}, expected {self.expected.digest} "
            f"({self.expected.said_by}). The file there was changed or damaged; it was not kept.",
            url=self.shown,
            reason=f"its SHA-256 is {digest}, expected {self.expected.digest} "
            f"({self.expected.said_by})",
        )
        if self.resumed or self.unmeasured:
            # The start may be of another version of the file, or the end may be missing where
            # nobody announced a length: once more, from zero.
            raise _Retry(error)
        raise error

    def _attempt(self, session: requests.Session) -> None:
        """One request; returns when the part file is whole and `self.hash` covers it."""
        import requests
        import urllib3

        known = self._known()
        etag = known.get("etag") if known.get("url") == self.shown else None
        total = self.expected.bytes or known.get("total")
        have = self._have()
        blind = not self.expected.digest
        if total and have > total or blind and not etag:
            self._drop()
            have = 0
        self.hash, self.resumed = hashlib.sha256(), have > 0
        if have and have == total and not blind:
            self._hash_part()
            return
        headers = {"Range": f"bytes={have}-"} if have else {}
        if have and etag:
            headers["If-Range"] = etag
        timeout = (self.policy.connect_seconds, self.policy.read_seconds)
        try:
            with session.get(
                self.url, headers=headers, stream=True, timeout=timeout, auth=_auth(self.url)
            ) as response:
                self._receive(Reply(response), have)
        except urllib3.exceptions.ReadTimeoutError as error:
            raise self._fault(f"no data for {self.policy.read_seconds:.0f} s") from error
        except urllib3.exceptions.ProtocolError as error:
            raise self._truncated(self._have(), self._known().get("total")) from error
        except requests.exceptions.Timeout as error:
            raise self._fault(f"no answer for {self.policy.read_seconds:.0f} s") from error
        except (requests.exceptions.SSLError, requests.exceptions.ProxyError) as error:
            raise self._fault(short_reason(error)).error from error
        except requests.exceptions.ConnectionError as error:
            raise self._fault(short_reason(error)) from error
        except (requests.exceptions.RequestException, urllib3.exceptions.HTTPError) as error:
            raise self._fault(short_reason(error)).error from error
        except FileNotFoundError as error:
            # Another process has tidied up between two steps of this one.
            raise self._fault("the folder of unfinished downloads vanished") from error
        except ValueError as error:
            # A redirect to what is no address; requests lets some of them through.
            raise self._fault(f"it leads to no valid address ({error})").error from error

    def _receive(self, reply: Reply, have: int) -> None:
        if not self.expected.digest and (digest := reply.announced_sha256()):
            self.expected = replace(self.expected, digest=digest, said_by="the server's own record")
        if not self.expected.digest and reply.fell_to_plain_http():
            raise self._fault("a redirect leads to plain http, and no digest is known").error
        if reply.status == 416:
            self._take_refused_range(reply, have)
            return
        if reply.status not in (200, 206):
            self._refuse(reply)
        if reply.status == 206:
            self._check_continues(reply, have)
            total = reply.total
        else:
            # The server ignored the range, or the file changed since: from zero.
            have, self.resumed = 0, False
            total = reply.length
        chunks = reply.chunks()
        first = next(chunks, b"")
        if not first and total is None:
            # No length and nothing behind it: broken off, not empty.
            raise self._truncated(have, None)
        if not have and (first or not total):
            refuse_other_content(first[:SNIFF_BYTES], self.shown, json=self.expected.json)
        self._check_size(total)
        total = total or self.expected.bytes
        self.unmeasured = total is None
        self._check_room(total, have)
        try:
            with disk_full_named(self.part, total or 0):
                self._store(itertools.chain([first], chunks), have, total, reply.etag)
        except DiskFull:
            # What fills a disk to the brim is not worth keeping for a resume.
            self._drop()
            raise
        got = self._have()
        if total is not None and got != total:
            raise self._truncated(got, total)

    def _take_refused_range(self, reply: Reply, have: int) -> None:
        """416: the part is all there is, if it was broken off behind the last byte; or useless."""
        if have and reply.total == have and self.expected.digest:
            self._hash_part()
            if self.hash.hexdigest().startswith(self.expected.digest):
                return
        self._drop()
        raise self._fault("the server has no such range; starting from zero")

    def _check_continues(self, reply: Reply, have: int) -> None:
        """Raise unless a 206 continues what is in the part."""
        known = self._known() if have else {}
        etag, total = known.get("etag"), known.get("total")
        if reply.encoded:
            fault = "the server sent a range of a compressed body"
        elif reply.start != have:
            fault = f"the server sent another range than asked ({reply.start}, not {have})"
        elif etag and reply.etag and etag != reply.etag:
            fault = "the file changed on the server meanwhile"
        elif total and reply.total and total != reply.total:
            fault = f"the file now has {reply.total:,} bytes, not {total:,}"
        else:
            return
        self._drop()
        raise self._fault(fault)

    def _store(
        self, chunks: Iterable[bytes], have: int, total: int | None, etag: str | None
    ) -> None:
        self.part.parent.mkdir(parents=True, exist_ok=True)
        if have:
            self._hash_part()
        else:
            # Before the notes change: they must never vouch for bytes of another version.
            self.part.unlink(missing_ok=True)
        note = {"url": self.shown, "etag": etag, "total": total}
        self.notes.write_text(json.dumps(note), "utf-8")
        limit = total or self.expected.at_most
        pace = Pace(self.policy)
        with open(self.part, "ab") as f, self._bar(total, have) as bar:
            for chunk in chunks:
                have += len(chunk)
                if limit is not None and have > limit:
                    self._drop()
                    raise self._other_file(f"it sends more than {limit:,} bytes")
                f.write(chunk)
                self.hash.update(chunk)
                bar.update(len(chunk))
                if pace.too_slow(len(chunk)):
                    raise self._fault(f"less than {self.policy.least_rate:,.0f} bytes a second")
            f.flush()
            os.fsync(f.fileno())

    def _refuse(self, reply: Reply) -> None:
        reason = reply.reason
        if reply.status in (401, 403) and self.url.startswith(hf_endpoint()):
            reason += (
                " (a private or gated file: set HF_TOKEN to your access token, and accept the "
                "terms on its page)"
            )
        fault = self._fault(reason)
        if reply.status in _RETRIED_STATUS:
            fault.wait = reply.retry_after
            raise fault
        raise fault.error

    def _check_size(self, total: int | None) -> None:
        if self.expected.bytes is not None and total not in (None, self.expected.bytes):
            raise self._other_file(f"it has {total:,} bytes, expected {self.expected.bytes:,}")

    def _other_file(self, fault: str) -> HashMismatch:
        return HashMismatch(
            f"{self.shown}: {fault} ({self.expected.said_by}), so it is another file; it was not "
            "kept.",
            url=self.shown,
            reason=fault,
        )

    def _check_room(self, total: int | None, have: int) -> None:
        folder = self.part.parent
        while not folder.exists():
            folder = folder.parent
        if total is not None and shutil.disk_usage(folder).free < total - have:
            raise no_room(self.part, total)

    def _known(self) -> dict[str, Any]:
        try:
            known = strict_json(self.notes.read_bytes())
        except (OSError, ValueError):
            return {}
        return known if isinstance(known, dict) else {}

    def _hash_part(self) -> None:
        with open(self.part, "rb") as f:
            while chunk := f.read(1 << 20):
                self.hash.update(chunk)

    def _bar(self, total: int | None, have: int) -> Any:
        return progress_bar(
            show=self.progress, total=total, initial=have, unit="B", unit_scale=True,
            unit_divisor=1000, desc=self.label,
        )  # fmt: skip

    def _fault(self, reason: str) -> _Retry:
        return _Retry(DownloadError(f"{self.shown}: {reason}", url=self.shown, reason=reason))

    def _truncated(self, got: int, total: int | None) -> _Retry:
        of = f" of {total:,}" if total else ""
        reason = f"the connection ended after {got:,}{of} bytes"
        return _Retry(
            TruncatedDownload(
                f"{self.shown}: {reason}. What arrived is kept for the next try, not used.",
                url=self.shown,
                reason=reason,
            )
        )


def _auth(url: str) -> Any:
    """The token as `requests` wants it: taken off again where a redirect leaves the host."""
    token = token_for(url)
    if token is None:
        return None

    def sign(request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = f"Bearer {token}"
        return request

    return sign
