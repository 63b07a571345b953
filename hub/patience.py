"""A deadline for the headers of a reply.

Time-outs of sockets bound each silence; a server that sends a header line now and then, or "100
Continue" without end, is never silent. `http.client` would listen to it for ever.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import requests


def session_with_deadline(seconds: float) -> requests.Session:
    """A session whose connections break off where the headers are not complete in time.

    What that raises is what a broken connection raises.

    >>> session_with_deadline(30).get("https://example.com")                  # doctest: +SKIP
    """
    import requests
    from requests.adapters import HTTPAdapter
    from urllib3 import HTTPConnectionPool, HTTPSConnectionPool

    def pool(base: Any) -> Any:
        class Connection(base.ConnectionCls):  # type: ignore[misc]
            def getresponse(self, *arguments: Any, **options: Any) -> Any:
                timer = threading.Timer(seconds, _break_off, [self.sock])
                timer.daemon = True
                timer.start()
                try:
                    return super().getresponse(*arguments, **options)
                finally:
                    timer.cancel()

        return type(base.__name__, (base,), {"ConnectionCls": Connection})

    pools = {"http": pool(HTTPConnectionPool), "https": pool(HTTPSConnectionPool)}

    class Adapter(HTTPAdapter):
        def init_poolmanager(self, *arguments: Any, **options: Any) -> None:
            super().init_poolmanager(*arguments, **options)
            self.poolmanager.pool_classes_by_scheme = pools

        def proxy_manager_for(self, *arguments: Any, **options: Any) -> Any:
            manager = super().proxy_manager_for(*arguments, **options)
            manager.pool_classes_by_scheme = pools
            return manager

    session = requests.Session()
    session.mount("http://", Adapter())
    session.mount("https://", Adapter())
    return session


def _break_off(sock: socket.socket | None) -> None:
    # From another thread: closing would leave the reader waiting, shutting down wakes it.
    with contextlib.suppress(OSError, AttributeError):
        sock.shutdown(socket.SHUT_RDWR)  # type: ignore[union-attr]
