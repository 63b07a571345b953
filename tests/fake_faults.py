"""Ways in which a server can answer wrongly: behaviours for `tests.fake_server.FakeServer`.

`FAULTS` names each; `tests/hub/test_download_faults.py` says what must come of it.
"""

from __future__ import annotations

import gzip
import socket
import struct
from typing import Any

from tests.fake_server import Behaviour, etag, instead, redirect, short, stall, status

PAGE = b"<!DOCTYPE html><html><body>Please log in</body></html>"
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n"


def raw(*pieces: bytes) -> Behaviour:
    """These bytes as they are, with {body} replaced, and nothing more."""

    def behave(handler: Any, body: bytes) -> None:
        for piece in pieces:
            handler.wfile.write(piece.replace(b"{body}", body))

    return behave


def headed(head: str, cut: int | None = None) -> Behaviour:
    """The body, or its first `cut` bytes, behind a status line and headers of one's own."""

    def behave(handler: Any, body: bytes) -> None:
        start = head.format(length=len(body), more=len(body) + 500, less=len(body) - 500)
        handler.wfile.write(start.replace("\n", "\r\n").encode("latin-1") + b"\r\n\r\n")
        handler.wfile.write(body[:cut])

    return behave


def chunked(
    cut: int | None = None, *, end: bytes = b"0\r\n\r\n", bad_size: bool = False
) -> Behaviour:
    """The body in chunks, without a length."""

    def behave(handler: Any, body: bytes) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        sent = body[:cut]
        for at in range(0, len(sent), 10_000):
            piece = sent[at : at + 10_000]
            size = b"zz" if bad_size and at else f"{len(piece):x}".encode()
            handler.wfile.write(size + b"\r\n" + piece + b"\r\n")
        handler.wfile.write(end)

    return behave


def endless(handler: Any, body: bytes) -> None:
    """Chunks until the client has had enough."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    for _ in range(2000):
        handler.wfile.write(b"2710\r\n" + body[:10_000] + b"\r\n")


def part_of(
    content_range: str = "bytes {start}-{last}/{length}",
    *,
    shift: int = 0,
    span: int | None = None,
    tag: str | None = None,
    other: bool = False,
) -> Behaviour:
    """A 206 to every request: of another range, with another Content-Range, of another file."""

    def behave(handler: Any, body: bytes) -> None:
        start = max(0, handler.requested_start(body) + shift)
        stop = len(body) if span is None else min(len(body), start + span)
        fields = {"start": start, "last": stop - 1, "length": len(body), "more": len(body) + 9}
        headers = {"Content_Range": content_range.format(**fields)} if content_range else {}
        sent = body[::-1] if other else body
        handler.head(206, stop - start, ETag=tag or etag(body), **headers)
        handler.wfile.write(sent[start:stop])

    return behave


def compressed(cut: int | None = None, *, honest: bool = True) -> Behaviour:
    """A gzip body that nobody asked for, or one that is only called so."""

    def behave(handler: Any, body: bytes) -> None:
        content = gzip.compress(body, 1) if honest else body
        handler.head(200, len(content), Content_Encoding="gzip", ETag=etag(body))
        handler.wfile.write(content[:cut])

    return behave


def trickle(handler: Any, body: bytes) -> None:
    """A byte now and then, for as long as the client listens."""
    handler.head(200, len(body))
    for at in range(len(body)):
        handler.wfile.write(body[at : at + 1])
        handler.wfile.flush()
        if handler.server.fake.closing.wait(0.05):
            break


def dripping(first: bytes, more: bytes) -> Behaviour:
    """Some bytes, then others again and again, so that it is never silent and never done."""

    def behave(handler: Any, body: bytes) -> None:
        handler.wfile.write(first)
        while not handler.server.fake.closing.wait(0.02):
            handler.wfile.write(more)
            handler.wfile.flush()

    return behave


def reset(handler: Any, body: bytes) -> None:
    """Half of the body, then the connection is torn down."""
    handler.head(200, len(body))
    handler.wfile.write(body[: len(body) // 2])
    handler.wfile.flush()
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()


def flipped(handler: Any, body: bytes) -> None:
    """All of it, with one bit changed near the end; ranges are honoured."""
    start = handler.requested_start(body)
    changed = body[:-5] + bytes([body[-5] ^ 1]) + body[-4:]
    if start:
        span = f"bytes {start}-{len(body) - 1}/{len(body)}"
        handler.head(206, len(body) - start, ETag=etag(body), Content_Range=span)
    else:
        handler.head(200, len(body), ETag=etag(body))
    handler.wfile.write(changed[start:])


def round_and_round(handler: Any, body: bytes) -> None:
    """A redirect to itself."""
    handler.head(302, 0, Location=handler.path)


def answer(code: int, content: bytes, **headers: str) -> Behaviour:
    """An error with a body of its own."""

    def behave(handler: Any, body: bytes) -> None:
        handler.head(code, len(content), **headers)
        handler.wfile.write(content)

    return behave


_OK = "HTTP/1.1 200 OK\nContent-Length: "
FAULTS: dict[str, Behaviour] = {
    "closes at once": raw(),
    "another protocol": raw(b"SSH-2.0-OpenSSH_9.2\r\n"),
    "no status line": raw(b"\x00\x01\x02" * 50),
    "headers cut off": raw(b"HTTP/1.1 200 OK\r\nContent-Le"),
    "a header without end": raw(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000),
    "too many headers": raw(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 500 + b"\r\n{body}"),
    "short body": short(50_000, ranges=False),
    "connection reset": reset,
    "100 Continue without end": dripping(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "headers that drip": dripping(b"HTTP/1.1 200 OK\r\nX: ", b"x"),
    "silent from the start": lambda handler, body: handler.server.fake.closing.wait(30),
    "silent behind the headers": stall(0),
    "silent half-way": stall(50_000),
    "trickles": trickle,
    "chunked": chunked(),
    "chunked, broken off": chunked(50_000, end=b""),
    "chunked, sizes that are none": chunked(bad_size=True),
    "chunked, ends too early": chunked(50_000),
    "chunked without end": endless,
    "HTTP/1.0 without length": headed("HTTP/1.0 200 OK"),
    "HTTP/1.0 without length, short": headed("HTTP/1.0 200 OK", 50_000),
    "length too large": headed(_OK + "{more}"),
    "length too small": headed(_OK + "{less}"),
    "length is no number": headed(_OK + "²"),
    "length has thousands of digits": headed(_OK + "9" * 5000),
    "two lengths": headed(_OK + "{length}\nContent-Length: {less}"),
    "negative length": headed(_OK + "-1"),
    "ranges ignored": headed(_OK + "{length}"),
    "206 before the place": part_of(shift=-1000),
    "206 behind the place": part_of(shift=1000),
    "206 without Content-Range": part_of(""),
    "206 with nonsense in Content-Range": part_of("bytes 5-²/x"),
    "206 of many parts": part_of("", tag='"multipart"'),
    "206 of another size": part_of("bytes {start}-{last}/{more}"),
    "206 of another version": part_of(tag='"new"', other=True),
    "206 of another version under the old ETag": part_of(other=True),
    "206 in small pieces": part_of(span=60_000),
    "416": status(416),
    "416 with a size": lambda handler, body: handler.head(416, 0, Content_Range="bytes */7"),
    "gzip": compressed(),
    "gzip, broken off": compressed(50_000),
    "gzip that is none": compressed(honest=False),
    "another file": instead(bytes(200_000)),
    "one bit": flipped,
    "web page": instead(PAGE, "text/html"),
    "Git LFS pointer": instead(POINTER),
    "JSON": instead(b'{"error": "rate limit"}', "application/json"),
    "empty": instead(b""),
    "204": status(204),
    "304": status(304),
    "302 to nowhere": status(302),
    "302 in a circle": round_and_round,
    "302 to a file": redirect("file:///etc/passwd"),
    "302 to no address": redirect("http://[::1"),
    "403 with a page": answer(403, PAGE),
    "404 with a page": answer(404, PAGE),
    "500 with a page": answer(500, PAGE),
    "503, come back in a year": answer(503, b"busy", Retry_After="31536000"),
    "429, come back ²": answer(429, b"busy", Retry_After="²"),
}  # fmt: skip
