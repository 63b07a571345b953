"""`zoo predict RUN PATH...`: the likeliest classes of pictures."""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from cli.flags import add_computing, add_sources, add_tta, positive

if TYPE_CHECKING:
    from zoo.train.predictions import Prediction

_DESCRIPTION = """\
Say what is in pictures. RUN is a run's folder or a model.safetensors; a name from `zoo list` takes
that model with its published weights. Of a model that gives pictures several labels, those given
come first and are marked with a +. Answers come while pictures are still being read, and take
the memory of a few batches however many there are."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = _DESCRIPTION
    add_sources(parser)
    parser.add_argument(
        "--topk", type=positive, default=3, metavar="N", help="classes to name (default 3)"
    )
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--json", action="store_true", help="print one JSON array instead")
    shape.add_argument(
        "--csv", action="store_true", help="print a table instead: path,class,probability,...,error"
    )
    add_tta(parser)
    add_computing(parser)


def run(args: argparse.Namespace) -> int:
    """Print the predictions; 1 if a picture could not be read."""
    from zoo.data.sources import picture_paths
    from zoo.train.measure import open_model
    from zoo.train.predictions import predict

    model = open_model(args.run, threads=args.threads, device=args.device)
    paths = picture_paths(args.images, sys.stdin)
    predictions = predict(
        model,
        paths,
        topk=args.topk,
        batch_size=args.batch_size,
        threads=args.threads,
        tta=args.tta,
    )
    failed = _Failures(predictions)
    if args.json:
        _print_json(failed)
    elif args.csv:
        _print_csv(failed, min(args.topk, len(model.classes)), model.thresholds is not None)
    else:
        _print_text(failed)
    return 1 if failed.any else 0


class _Failures:
    """Passes predictions on, and says on the error stream which pictures could not be read."""

    def __init__(self, predictions: Iterable[Prediction]) -> None:
        self.predictions = predictions
        self.any = False

    def __iter__(self) -> Iterator[Prediction]:
        for prediction in self.predictions:
            if prediction.error is not None:
                self.any = True
                print(f"zoo: {prediction.path}: {prediction.error}", file=sys.stderr)
            yield prediction


def _print_text(predictions: Iterable[Prediction]) -> None:
    for prediction in predictions:
        if prediction.error is None:
            print(prediction.path)
            for name, probability in prediction.top:
                given = prediction.labels is not None and name in prediction.labels
                print(f"  {probability:>6.1%}  {name}{' +' if given else ''}")


def _print_json(predictions: Iterable[Prediction]) -> None:
    """One array, an element a line, printed as they come."""
    before = "[\n"
    for prediction in predictions:
        print(before + json.dumps(prediction.to_dict(), ensure_ascii=False), end="")
        before = ",\n"
    print("[]" if before == "[\n" else "\n]")


def _print_csv(predictions: Iterable[Prediction], topk: int, several: bool) -> None:
    """A table; with a column for all labels that are given, where there may be several."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    pairs = [("class", "probability")]
    pairs += [(f"class_{i}", f"probability_{i}") for i in range(2, topk + 1)]
    labels = ["labels"] if several else []
    writer.writerow(["path", *(name for pair in pairs for name in pair), *labels, "error"])
    for prediction in predictions:
        cells = [str(cell) for pair in prediction.top[:topk] for cell in pair]
        cells += [""] * (2 * topk - len(cells))
        given = ["|".join(prediction.labels or ())] if several else []
        writer.writerow([prediction.path, *cells, *given, prediction.error or ""])
