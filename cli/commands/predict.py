"""`zoo predict RUN IMAGE...`: the likeliest classes of pictures."""

from __future__ import annotations

import argparse
import json
import sys

from cli.flags import add_threads, positive

_DESCRIPTION = """\
Say what is in pictures. RUN is a run's folder or a model.safetensors; a name from `zoo list` takes
that model with its published weights."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = _DESCRIPTION
    parser.add_argument("run", metavar="RUN", help="run folder, weights file or model name")
    parser.add_argument("images", metavar="IMAGE", nargs="+", help="picture files")
    parser.add_argument(
        "--topk", type=positive, default=3, metavar="N", help="classes to name (default 3)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON array instead")
    add_threads(parser)


def run(args: argparse.Namespace) -> int:
    """Print the predictions; 1 if a picture could not be read."""
    from zoo.train.inference import predict
    from zoo.train.measure import open_model

    model = open_model(args.run, threads=args.threads)
    predictions = predict(model, args.images, topk=args.topk, threads=args.threads)
    failed = False
    rows = []
    for prediction in predictions:
        failed = failed or prediction.error is not None
        if prediction.error is not None:
            print(f"zoo: {prediction.path}: {prediction.error}", file=sys.stderr)
        if args.json:
            rows.append(prediction.to_dict())
        elif prediction.error is None:
            print(prediction.path)
            for name, probability in prediction.top:
                print(f"  {probability:>6.1%}  {name}")
    if args.json:
        print(json.dumps(rows, ensure_ascii=False, indent=2))
    return 1 if failed else 0
