"""What a server's reply says about itself, read with distrust."""

from __future__ import annotations

import http.client
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from hub.sources import hf_endpoint, without_secrets

if TYPE_CHECKING:
    import requests

_CHUNK_BYTES = 256 << 10
# More digits are no size of a file, and Python refuses to convert thousands of them.
_SIZE = r"[0-9]{1,18}"


class Reply:
    """The headers of one reply, and its body in chunks.

    Attributes:
        status: HTTP status code.
        encoded: the body is compressed, though nobody asked for that; lengths and ranges then mean
            something else than bytes of the file.
        length: bytes of the whole file by `Content-Length`, where that is what it counts.
        start, total: from `Content-Range`: first byte sent and size of the file; -1 and None where
            it is absent or malformed.
        etag: the strong ETag, or None.
        retry_after: seconds the server asks to wait, or None.
    """

    def __init__(self, response: requests.Response) -> None:
        self._response = response
        headers = response.headers
        self.status = response.status_code
        self.encoded = headers.get("Content-Encoding", "identity").strip().lower() != "identity"
        self.length = None if self.encoded else _size(headers.get("Content-Length"))
        self.start, self.total = _range(headers.get("Content-Range", ""))
        etag = headers.get("ETag")
        self.etag = etag if etag and not etag.startswith("W/") else None
        self.retry_after = _size(headers.get("Retry-After"))

    @property
    def reason(self) -> str:
        """ "HTTP 404 Not Found", in printable characters."""
        text = "".join(c for c in str(self._response.reason or "") if c.isprintable())
        return f"HTTP {self.status} {text[:80]}".strip()

    def chunks(self) -> Iterator[bytes]:
        """The body as the file's bytes, in pieces as they arrive."""
        # read1 hands over what has arrived; read would drop it if the connection breaks before the
        # chunk is full, and wait for ever on a server that trickles.
        read1 = self._response.raw.read1
        while chunk := read1(_CHUNK_BYTES, decode_content=self.encoded):
            yield chunk

    def announced_sha256(self) -> str | None:
        """The SHA-256 that the Hugging Face server states beside its redirect, or None."""
        for reply in (*self._response.history, self._response):
            here, there = urlsplit(reply.url), urlsplit(hf_endpoint())
            value = reply.headers.get("X-Linked-Etag", "").strip('"')
            if here.netloc == there.netloc and re.fullmatch("[0-9a-f]{64}", value):
                return value
        return None

    def fell_to_plain_http(self) -> bool:
        """Whether a redirect led from https to http, where anybody can change the bytes."""
        first = (*self._response.history, self._response)[0]
        return urlsplit(first.url).scheme == "https" != urlsplit(self._response.url).scheme


def _size(text: str | None) -> int | None:
    return int(text) if text and re.fullmatch(_SIZE, text.strip()) else None


def _range(text: str) -> tuple[int, int | None]:
    match = re.fullmatch(rf"bytes ({_SIZE})-({_SIZE})/({_SIZE}|\*)", text.strip())
    if match is None:
        # What 416 carries: "bytes */TOTAL".
        match = re.fullmatch(rf"bytes \*/({_SIZE})", text.strip())
        return -1, int(match[1]) if match else None
    return int(match[1]), int(match[3]) if match[3] != "*" else None


def short_reason(error: BaseException) -> str:
    """What the innermost of nested network errors says, in one plain line."""
    while True:
        inner = [error.__dict__.get("reason"), *reversed(error.args)]
        nested = next((e for e in inner if isinstance(e, BaseException)), None)
        if nested is None:
            break
        error = nested
    if isinstance(error, http.client.BadStatusLine) and not isinstance(error, ConnectionError):
        return f"the answer is no HTTP: {str(error).strip()[:60]!r}"
    text = re.sub(r"HTTPS?Connection(Pool)?\(.*?\): ", "", without_secrets(str(error)))
    return text.strip("'\"<>")[:160] or type(error).__name__
