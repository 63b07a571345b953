"""`zoo export RUN --format FORMAT`: a model as files of other programs."""

from __future__ import annotations

import argparse

from zoo.export import FORMATS, export

_DESCRIPTION = """\
Write a model as files of other programs. RUN is a run's folder or a model.safetensors; a name from
`zoo list` takes that model with its published weights."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = _DESCRIPTION
    width = max(map(len, FORMATS))
    lines = [f"  {name:<{width}}  {chosen.text}" for name, chosen in FORMATS.items()]
    parser.epilog = "\n".join(["formats:", *lines])
    parser.add_argument("run", metavar="RUN", help="run folder, weights file or model name")
    parser.add_argument("--format", required=True, choices=FORMATS, help="see below")
    parser.add_argument(
        "--out", metavar="PATH", help="file or folder to write (default: RUN's name, here)"
    )


def run(args: argparse.Namespace) -> int:
    """Write it and say what was written."""
    done = export(args.run, args.format, args.out)
    print(f"Wrote {done.path} ({done.bytes / 1e6:.1f} MB)")
    for note in done.notes:
        print(note)
    return 0
