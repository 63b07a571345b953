"""`zoo evaluate RUN --data DIR`: loss and accuracy of a trained model on labelled pictures."""

from __future__ import annotations

import argparse
import json

from cli.flags import add_threads, add_tta, positive

_DESCRIPTION = """\
Measure a trained model on the pictures under DIR: its val folder where there is one, else all of
it. Pictures are prepared as in training, by the preprocessing stored with the weights."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = _DESCRIPTION
    parser.add_argument("run", metavar="RUN", help="a run's folder, or a model.safetensors")
    parser.add_argument(
        "--data", metavar="DIR", required=True, help="folder with a folder per class, or `demo`"
    )
    parser.add_argument(
        "--batch-size", type=positive, default=16, metavar="N", help="pictures a batch (default 16)"
    )
    parser.add_argument("--strict", action="store_true", help="refuse unreadable pictures")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead")
    add_tta(parser)
    add_threads(parser)


def run(args: argparse.Namespace) -> int:
    """Print what was measured."""
    from zoo.train.measure import measure

    result = measure(
        args.run,
        args.data,
        batch_size=args.batch_size,
        threads=args.threads,
        strict=args.strict,
        tta=args.tta,
        show_progress=not args.json,
    )
    if args.json:
        print(json.dumps(result.to_dict(), ensure_ascii=False))
    else:
        print("\n".join(result.lines()))
    return 0
