"""The page's server: which address gives what."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from importlib.resources import files
from typing import Any

from cli.page.answers import (
    MOST_BYTES,
    Refused,
    check_size,
    how_it_stands,
    limits,
    look_at,
    report_of,
    shown_name,
    write_on,
)
from cli.page.guard import App, guarded
from cli.page.shelf import Busy, NotOffered, NotReady, Shelf

log = logging.getLogger("zoo")

# Files of the page by address: nothing else is read from the disk for a browser.
_FILES = {
    "/": ("index.html", "text/html"),
    "/page.css": ("page.css", "text/css"),
    "/page.js": ("page.js", "text/javascript"),
    "/common.js": ("common.js", "text/javascript"),
    "/pictures.js": ("pictures.js", "text/javascript"),
    "/text.js": ("text.js", "text/javascript"),
    "/runs.js": ("runs.js", "text/javascript"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
}
_LARGEST_JSON = 200_000  # bytes; a prompt of the greatest length, each letter escaped
# The server takes more than the application allows, so that it is this program that answers a file
# of 50 MB, in words, when it has arrived, instead of a connection that breaks off.
_LARGEST_BODY = 64_000_000
_THREADS = 6  # browsers open as many connections to one server
_SILENT_SECONDS = 30
_CONNECTIONS = 50


def make_app(shelf: Shelf) -> App:
    """The WSGI application.

    >>> make_app(Shelf(["resnet20"]))                                        # doctest: +SKIP
    """
    from bottle import Bottle, HTTPResponse, request, response

    app = Bottle()

    def answered(work: Callable[[], Any]) -> Any:
        """JSON of what `work` gives, or of why it cannot."""
        try:
            return in_json(200, work())
        except Exception as error:
            return in_json(*_refusal(error))

    def in_json(status: int, value: Any) -> Any:
        body = json.dumps(value, ensure_ascii=False).encode()
        return HTTPResponse(body, status, {"Content-Type": "application/json"})

    def body(most: int) -> bytes:
        return bytes(request.environ["wsgi.input"].read(most + 1))

    for address, (name, kind) in _FILES.items():

        def page(name: str = name, kind: str = kind) -> bytes:
            response.content_type = f"{kind}; charset=utf-8"
            return (files("cli.page") / "static" / name).read_bytes()

        app.route(address, "GET", page)

    @app.get("/report.css")  # type: ignore[untyped-decorator]
    def style() -> str:
        from zoo.report.style import STYLE

        response.content_type = "text/css; charset=utf-8"
        return STYLE

    @app.get("/api/state")  # type: ignore[untyped-decorator]
    def state() -> Any:
        return answered(lambda: {"offers": [o.to_dict() for o in shelf.offers], "limits": limits()})

    @app.get("/api/runs/<key>")  # type: ignore[untyped-decorator]
    def run(key: str) -> Any:
        return answered(lambda: how_it_stands(shelf.offer(key)))

    @app.get("/runs/<key>/report")  # type: ignore[untyped-decorator]
    def report(key: str) -> Any:
        try:
            page = report_of(shelf.offer(key))
        except Exception as error:
            return in_json(*_refusal(error))
        # A file of the disk, perhaps from somebody else: it may show itself and do nothing.
        return HTTPResponse(
            page,
            200,
            {
                "Content-Type": "text/html; charset=utf-8",
                "Content-Security-Policy": "sandbox; default-src 'none'; img-src data:; "
                "style-src 'unsafe-inline'; frame-ancestors 'none'",
            },
        )

    @app.post("/api/look")  # type: ignore[untyped-decorator]
    def look() -> Any:
        def work() -> Any:
            name = shown_name(request.query.getunicode("name") or "")
            check_size(name, request.content_length)
            chosen = request.query.get("explain")
            explain = int(chosen) if chosen and chosen.isdecimal() else None
            offer = shelf.offer(request.query.get("model") or "")
            return look_at(shelf, offer, name, body(MOST_BYTES), explain)

        return answered(work)

    @app.post("/api/write")  # type: ignore[untyped-decorator]
    def write() -> Any:
        def work() -> Iterator[dict[str, Any]]:
            wanted = _json(body(_LARGEST_JSON))
            return write_on(shelf, shelf.offer(str(wanted.get("model"))), wanted)

        try:
            pieces = work()
        except Exception as error:
            return in_json(*_refusal(error))
        response.content_type = "text/event-stream; charset=utf-8"
        return _events(pieces)

    @app.error(404)  # type: ignore[untyped-decorator]
    @app.error(405)  # type: ignore[untyped-decorator]
    def absent(error: Any) -> str:
        response.content_type = "application/json"
        return json.dumps({"error": "there is nothing here"})

    return guarded(app)


def make_server(shelf: Shelf, port: int) -> Any:
    """A server on 127.0.0.1, listening; `run()` answers until Ctrl-C, `effective_port` is its port.

    Args:
        shelf: what it offers.
        port: 0 takes a free one.

    Raises:
        OSError: the port is taken.
    """
    from waitress import create_server

    return create_server(
        make_app(shelf),
        host="127.0.0.1",
        port=port,
        threads=_THREADS,
        connection_limit=_CONNECTIONS,
        channel_timeout=_SILENT_SECONDS,
        max_request_body_size=_LARGEST_BODY,
        channel_request_lookahead=1,  # notices who has left while an answer is made
        ident=None,
        expose_tracebacks=False,
    )


def _json(data: bytes) -> dict[str, Any]:
    if len(data) > _LARGEST_JSON:
        raise Refused("the prompt is too long", 413)
    try:
        wanted = json.loads(data)
    except (ValueError, RecursionError):
        wanted = None
    if not isinstance(wanted, dict):
        raise Refused("expected a JSON object with a prompt")
    return wanted


def _events(pieces: Iterator[dict[str, Any]]) -> Iterator[bytes]:
    """Server-sent events. Whoever leaves closes this, and with it the text in the making."""
    try:
        for piece in pieces:
            yield _event("piece" if "text" in piece else "end", piece)
    except Exception as error:
        yield _event("error", _refusal(error)[1])


def _event(name: str, value: dict[str, Any]) -> bytes:
    return f"event: {name}\ndata: {json.dumps(value)}\n\n".encode()


def _refusal(error: Exception) -> tuple[int, dict[str, str]]:
    """Status and message for what went wrong. What is not expected goes to the terminal, not to
    the page."""
    import hub
    import zoo
    from zoo.data import DataError
    from zoo.text.errors import TextError
    from zoo.train.errors import TrainError

    if isinstance(error, Refused):
        return error.status, {"error": str(error)}
    if isinstance(error, NotOffered):
        return 404, {"error": str(error)}
    if isinstance(error, (Busy, NotReady)):
        return 503, {"error": str(error)}
    if isinstance(error, (zoo.LoadError, hub.HubError, DataError, TextError, TrainError)):
        return 409, {"error": str(error)}
    if isinstance(error, MemoryError):
        return 503, {"error": "out of memory; choose a smaller model or picture"}
    log.error("zoo demo: an answer failed", exc_info=error)
    return 500, {"error": "something went wrong; the terminal of zoo demo says what"}
