"""A local HTTP server that misbehaves on request.

    with FakeServer() as server:
        server.add("/w.bin", body, short(600), whole())   # first request, then all others
        url = server.url("/w.bin")
        ...
        assert [r.headers.get("Range") for r in server.requests] == [None, None]

A behaviour answers one request for a body; the last one given answers all further requests.
"""

from __future__ import annotations

import hashlib
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

Behaviour = Callable[["_Handler", bytes], None]


@dataclass(frozen=True)
class Request:
    """A request that arrived."""

    path: str
    headers: dict[str, str]


@dataclass
class _Resource:
    body: bytes
    script: list[Behaviour]
    answered: int = 0


@dataclass
class FakeServer:
    """Serves on a free port of 127.0.0.1 until the block ends.

    Attributes:
        requests: what was asked, in order of arrival.
        closing: set when the block ends; behaviours that wait give up then.
    """

    requests: list[Request] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._resources: dict[str, _Resource] = {}
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.fake = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    def __enter__(self) -> FakeServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, t: TracebackType | None
    ) -> None:
        self.closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def add(self, path: str, body: bytes, *script: Behaviour) -> str:
        """Serve `body` at `path`, one behaviour per request (default `whole`); returns the URL."""
        self._resources[path] = _Resource(body, list(script) or [whole()])
        return self.url(path)

    def url(self, path: str) -> str:
        """Address of a path on this server."""
        return f"http://127.0.0.1:{self._server.server_address[1]}{path}"

    def take(self, request: Request) -> tuple[Behaviour, bytes]:
        """Record a request and say how to answer it."""
        with self._lock:
            self.requests.append(request)
            resource = self._resources.get(request.path)
            if resource is None:
                return status(404), b""
            step = min(resource.answered, len(resource.script) - 1)
            resource.answered += 1
            return resource.script[step], resource.body


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    fake: FakeServer


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:  # noqa: N802 (the name that http.server looks for)
        request = Request(self.path, dict(self.headers))
        behaviour, body = self.server.fake.take(request)
        # One request a connection: broken replies leave no connection to reuse.
        self.close_connection = True
        try:
            behaviour(self, body)
        except (BrokenPipeError, ConnectionResetError):
            pass  # the client went away, as some tests want

    def head(self, code: int, length: int, **headers: str) -> None:
        """Send status line and headers; `Content_Range` becomes `Content-Range`."""
        self.send_response(code)
        self.send_header("Content-Length", str(length))
        self.send_header("Connection", "close")
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def requested_start(self, body: bytes) -> int:
        """First byte asked for; 0 if If-Range names another version."""
        condition = self.headers.get("If-Range")
        match = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        return int(match[1]) if match and condition in (None, etag(body)) else 0

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: pytest's output is for tests."""


def etag(body: bytes) -> str:
    """The strong ETag that the server gives a body."""
    return f'"{hashlib.sha256(body).hexdigest()[:16]}"'


def _answer(handler: _Handler, body: bytes) -> bytes:
    """Send the headers of a whole or partial reply; returns what is left to send."""
    start = handler.requested_start(body)
    if start > len(body) or (start and start == len(body)):
        handler.head(416, 0, Content_Range=f"bytes */{len(body)}")
        return b""
    if start:
        span = f"bytes {start}-{len(body) - 1}/{len(body)}"
        handler.head(206, len(body) - start, ETag=etag(body), Content_Range=span)
    else:
        handler.head(200, len(body), ETag=etag(body), Accept_Ranges="bytes")
    return body[start:]


def whole() -> Behaviour:
    """The body, or the range asked for."""

    def behave(handler: _Handler, body: bytes) -> None:
        handler.wfile.write(_answer(handler, body))

    return behave


def short(count: int, *, ranges: bool = True) -> Behaviour:
    """Announces the whole (or the range, if `ranges`), sends `count` bytes of it, and closes."""

    def behave(handler: _Handler, body: bytes) -> None:
        if ranges:
            rest = _answer(handler, body)
        else:
            handler.head(200, len(body))
            rest = body
        handler.wfile.write(rest[:count])

    return behave


def whole_without_range() -> Behaviour:
    """Always the whole body, as servers do that know no ranges."""

    def behave(handler: _Handler, body: bytes) -> None:
        handler.head(200, len(body))
        handler.wfile.write(body)

    return behave


def instead(content: bytes, content_type: str = "application/octet-stream") -> Behaviour:
    """Other content, with 200: a changed file, a web page, a pointer."""

    def behave(handler: _Handler, body: bytes) -> None:
        handler.head(200, len(content), Content_Type=content_type)
        handler.wfile.write(content)

    return behave


def status(code: int, **headers: str) -> Behaviour:
    """An empty reply with this status."""

    def behave(handler: _Handler, body: bytes) -> None:
        handler.head(code, 0, **headers)

    return behave


def redirect(url: str, **headers: str) -> Behaviour:
    """302 to another address."""
    return status(302, Location=url, **headers)


def stall(count: int) -> Behaviour:
    """Sends `count` bytes, then nothing more until the server closes."""

    def behave(handler: _Handler, body: bytes) -> None:
        handler.wfile.write(_answer(handler, body)[:count])
        handler.server.fake.closing.wait(30)

    return behave


def slow(piece: int, seconds: float) -> Behaviour:
    """Sends `piece` bytes at a time, with pauses between."""

    def behave(handler: _Handler, body: bytes) -> None:
        rest = _answer(handler, body)
        for start in range(0, len(rest), piece):
            handler.wfile.write(rest[start : start + piece])
            handler.wfile.flush()
            time.sleep(seconds)

    return behave
