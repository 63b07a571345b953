"""Turns away whoever is not the page itself, before anything else is looked at.

The server is bound to loopback, so other computers cannot reach it. Pages of other sites in the
same browser can, in three ways, and each has its answer:

- DNS rebinding, where a site's name suddenly means 127.0.0.1: the Host header must be a name of
  this machine.
- Requests across sites: Origin must be the page's own, Sec-Fetch-Site must not say "cross-site" or
  "same-site", and a POST needs a header that a form cannot send, and a script only after a
  preflight, which is never granted.
- Frames: `frame-ancestors 'none'`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import urlsplit

Start = Callable[..., Any]
App = Callable[[dict[str, Any], Start], Iterable[bytes]]

HEADER = "HTTP_X_ZOO"  # "X-Zoo: page"
_HERE = {"127.0.0.1", "localhost", "::1"}
_METHODS = {"GET", "HEAD", "POST"}
_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
_HEADERS = [
    ("Content-Security-Policy", _POLICY),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cache-Control", "no-store"),
]


def guarded(app: App) -> App:
    """A WSGI application whose every answer carries the page's policy, unless it has one of its
    own, and that answers 403 to requests from elsewhere.

    >>> guarded(app)({"HTTP_HOST": "evil.example"}, start)                   # doctest: +SKIP
    """

    def answer(environ: dict[str, Any], start: Start) -> Iterable[bytes]:
        def start_guarded(status: str, headers: list[tuple[str, str]], *more: Any) -> Any:
            own = {name for name, _ in headers}
            return start(
                status, [*headers, *(pair for pair in _HEADERS if pair[0] not in own)], *more
            )

        why = why_refused(environ)
        if why is None:
            return app(environ, start_guarded)
        body = json.dumps({"error": why}).encode()
        kind = ("Content-Type", "application/json")
        start_guarded("403 Forbidden", [kind, ("Content-Length", str(len(body)))])
        return [body]

    return answer


def why_refused(environ: dict[str, Any]) -> str | None:
    """Why a request is not the page's; None if it may be.

    >>> why_refused({"REQUEST_METHOD": "GET", "HTTP_HOST": "rebound.example:8000"})
    'this page is for the computer it runs on: open http://127.0.0.1 with its port'
    """
    host = environ.get("HTTP_HOST", "")
    if _hostname(host) not in _HERE:
        return "this page is for the computer it runs on: open http://127.0.0.1 with its port"
    method = environ.get("REQUEST_METHOD")
    if method not in _METHODS:
        return f"{method} is not answered here"
    origin = environ.get("HTTP_ORIGIN")
    if origin is not None and origin != f"http://{host}":
        return "another site's page asked; only this one is answered"
    elsewhere = environ.get("HTTP_SEC_FETCH_SITE", "none") not in ("none", "same-origin")
    if elsewhere and not _opens_the_page(environ):
        return "another site's page asked; only this one is answered"
    if method == "POST" and environ.get(HEADER) != "page":
        return "expected the header X-Zoo: page"
    return None


def _opens_the_page(environ: dict[str, Any]) -> bool:
    """Whether somebody follows a link to the page, as from a terminal in a browser: that shows them
    the page, and tells the site with the link nothing."""
    return (
        environ.get("REQUEST_METHOD") == "GET"
        and environ.get("PATH_INFO") == "/"
        and environ.get("HTTP_SEC_FETCH_MODE") == "navigate"
        and environ.get("HTTP_SEC_FETCH_DEST") == "document"
    )


def _hostname(host: str) -> str | None:
    try:
        return urlsplit(f"http://{host}").hostname
    except ValueError:
        return None
