"""`zoo demo [RUN...]`: a page on this computer to try models and to watch runs."""

from __future__ import annotations

import argparse
import os
import sys

_DESCRIPTION = """\
Open a page in the browser: drop pictures and see what a model says of them and where it looked, or
type a beginning and see a language model go on; watch runs while they train. RUN is a run's folder,
a model.safetensors or a name from `zoo list`; without one, the runs in ./runs are offered. Models
inside the package and in the cache are there in any case.

Only this computer can reach the page, and nothing leaves it. For the page of a server, type on your
own computer: ssh -L 8765:127.0.0.1:8765 SERVER"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = _DESCRIPTION
    parser.add_argument(
        "runs", metavar="RUN", nargs="*", help="run folders, weights files or model names"
    )
    parser.add_argument(
        "--port",
        type=_port,
        default=8765,
        metavar="N",
        help="of the page; 0: a free one (default 8765)",
    )
    parser.add_argument(
        "--no-browser", action="store_true", help="print the page's address, do not open it"
    )


def _port(text: str) -> int:
    value = int(text)
    if not 0 <= value <= 65535:
        raise argparse.ArgumentTypeError(f"{value} is no port; expected 0 to 65535")
    return value


def run(args: argparse.Namespace) -> int:
    """Serve the page until Ctrl-C."""
    from cli.errors import MissingExtra, UsageError

    try:
        import bottle  # noqa: F401
        import waitress  # noqa: F401
    except ImportError as error:
        raise MissingExtra("demo", error.name or "bottle") from None
    import hub
    from cli.page.app import make_server
    from cli.page.shelf import Shelf

    shelf = Shelf(args.runs)
    for offer in shelf.offers:
        if offer.name in args.runs and offer.published:
            hub.fetch(hub.card_of(offer.name))  # now, where a download shows how far it is
    try:
        server = make_server(shelf, args.port)
    except OSError as error:
        raise UsageError(
            f"port {args.port} cannot be used ({error.strerror}); is another zoo demo running? "
            "Take a free port: --port 0"
        ) from error
    address = f"http://127.0.0.1:{server.effective_port}/"
    try:
        print(f"{address}  (for this computer only; Ctrl-C ends it)", flush=True)
        if not args.no_browser and _has_screen():
            import webbrowser

            webbrowser.open(address)
        server.run()
    except KeyboardInterrupt:
        pass  # that is how it ends
    finally:
        server.close()
    print("Ended.", file=sys.stderr)
    return 0


def _has_screen() -> bool:
    """Whether a browser could show a window: without one, a browser of text would take over the
    terminal."""
    return sys.platform in ("darwin", "win32") or bool(
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    )
