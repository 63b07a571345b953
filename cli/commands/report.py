"""`zoo report RUN`: write the page about a finished run anew."""

from __future__ import annotations

import argparse

from cli.flags import add_threads

_DESCRIPTION = """\
Write RUN/report.html: curves, confusion, every class with intervals, calibration, the surest
mistakes with where the model looked, the pictures' audit, the recipe and where all of it comes
from. One file, no network; `zoo finetune` writes it at the end of each run."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = _DESCRIPTION
    parser.add_argument("run", metavar="RUN", help="a finished run's folder")
    parser.add_argument(
        "--data", metavar="DIR", help="where the run's pictures are now (default: where they were)"
    )
    add_threads(parser)


def run(args: argparse.Namespace) -> int:
    """Write it and say where."""
    from zoo.train import write_page

    print(write_page(args.run, data=args.data, threads=args.threads, show_progress=True))
    return 0
