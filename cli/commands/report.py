"""`zoo report RUN...`: write the page about a finished run anew, or one that compares several."""

from __future__ import annotations

import argparse
from pathlib import Path

from cli.errors import UsageError
from cli.flags import add_threads

_DESCRIPTION = """\
Write RUN/report.html: curves, confusion, every class with intervals, calibration, the surest
mistakes with where the model looked, the pictures' audit, the recipe and where all of it comes
from; of a language model, perplexity and what it wrote before and after. One file, no network;
`zoo finetune` writes it at the end of each run. Several runs are compared on one page, OUT."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = _DESCRIPTION
    parser.add_argument("runs", metavar="RUN", nargs="+", help="folders of finished runs")
    parser.add_argument(
        "--out",
        metavar="OUT",
        help="file for the page on several runs (default: comparison.html)",
    )
    parser.add_argument(
        "--data", metavar="DIR", help="where the run's pictures are now (default: where they were)"
    )
    add_threads(parser)


def run(args: argparse.Namespace) -> int:
    """Write it and say where."""
    from zoo.report.compare import write_comparison
    from zoo.train import write_page

    if len(args.runs) > 1:
        if args.data is not None:
            raise UsageError("--data is for the page of one run; leave it out")
        out = "comparison.html" if args.out is None else args.out
        print(write_comparison([Path(run) for run in args.runs], Path(out)))
        return 0
    (folder,) = args.runs
    if args.out is not None:
        raise UsageError(f"the page of one run goes into its folder {folder}; leave out --out")
    print(write_page(folder, data=args.data, threads=args.threads, show_progress=True))
    return 0
