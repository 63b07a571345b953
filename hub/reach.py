"""Finds out in bounded time whether a server can be reached at all."""

from __future__ import annotations

import socket
import threading
from urllib.parse import urlsplit

from hub.errors import DownloadError


def check_reachable(url: str, seconds: float) -> None:
    """Raise `DownloadError` unless the host of `url` (or its proxy) takes a connection in time.

    Name look-ups cannot be interrupted and hosts with many addresses multiply a timeout, so both
    happen on a thread that is left behind when the time is over.

    >>> check_reachable("https://huggingface.co", seconds=3)                  # doctest: +SKIP
    """
    from requests.utils import get_environ_proxies, select_proxy

    proxy = select_proxy(url, get_environ_proxies(url))
    parts = urlsplit(proxy or url)
    host = parts.hostname or ""
    port = parts.port or {"https": 443, "http": 80}.get(parts.scheme, 1080)
    outcome: list[OSError | None] = []

    def connect() -> None:
        try:
            socket.create_connection((host, port), timeout=seconds).close()
            outcome.append(None)
        except OSError as error:
            outcome.append(error)

    thread = threading.Thread(target=connect, daemon=True, name=f"reach {host}")
    thread.start()
    thread.join(seconds)
    if not outcome:
        reason = f"{host} did not answer within {seconds:.1f} s"
    elif isinstance(outcome[0], socket.gaierror):
        reason = f"the host name {host} cannot be resolved"
    elif outcome[0] is not None:
        reason = f"no connection to {host}:{port} ({outcome[0].strerror or outcome[0]})"
    else:
        return
    raise DownloadError(f"{url}: {reason}", url=url, reason=reason)
