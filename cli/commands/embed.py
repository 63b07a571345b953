"""`zoo embed RUN PATH...`: features of pictures, for search, clustering or other models."""

from __future__ import annotations

import argparse
import sys

from cli.flags import add_computing, add_sources

_DESCRIPTION = """\
Write what the model's last layer gets to see of each picture: OUT, an array of (pictures, width)
float32 for numpy.load, and a .csv beside it that says which row is of which picture."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = _DESCRIPTION
    add_sources(parser)
    parser.add_argument(
        "--out", metavar="OUT", default="features.npy", help="file to write (default features.npy)"
    )
    add_computing(parser)


def run(args: argparse.Namespace) -> int:
    """Write the files; 1 if a picture could not be read."""
    from zoo.data.sources import picture_paths
    from zoo.train.embedding import write_features
    from zoo.train.measure import open_model

    model = open_model(args.run, threads=args.threads, device=args.device)
    paths = picture_paths(args.images, sys.stdin)
    done = write_features(model, paths, args.out, batch_size=args.batch_size, threads=args.threads)
    for failure in done.failures:
        print(f"zoo: {failure}", file=sys.stderr)
    print(f"{done.path}: {done.rows} x {done.width}; {done.names}: which row is of which picture")
    return 1 if done.failures else 0
