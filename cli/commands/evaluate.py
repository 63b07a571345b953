"""`zoo evaluate RUN --data DIR`: loss and accuracy of a trained model on labelled pictures, or the
perplexity of a language model on text."""

from __future__ import annotations

import argparse
import json
from typing import Any

from cli.errors import UsageError
from cli.flags import add_computing, add_tta, positive
from cli.text_runs import add_dtype

_DESCRIPTION = """\
Measure a trained model on the pictures under DIR: its val folder where there is one, else all of
it. Pictures are prepared as in training, by the preprocessing stored with the weights.

A language model is measured on the text in DIR (a file, a folder or a pattern): perplexity and bits
per byte, each token scored once."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = _DESCRIPTION
    parser.add_argument("run", metavar="RUN", help="a run's folder, or a model.safetensors")
    parser.add_argument(
        "--data", metavar="DIR", required=True, help="folder with a folder per class, or `demo`"
    )
    parser.add_argument(
        "--batch-size",
        type=positive,
        metavar="N",
        help="pictures a batch (default 16), or windows of text (default 1)",
    )
    parser.add_argument(
        "--context", type=positive, metavar="N", help="tokens of a window (default: the model's)"
    )
    parser.add_argument(
        "--stride",
        type=positive,
        metavar="N",
        help="tokens from one window to the next (default: half a window)",
    )
    parser.add_argument(
        "--bad-bytes",
        choices=("refuse", "replace"),
        help="bytes of text that are not UTF-8; replace: they become U+FFFD (default: refuse)",
    )
    parser.add_argument("--strict", action="store_true", help="refuse unreadable pictures")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead")
    add_dtype(parser)
    add_tta(parser)
    add_computing(parser)


def run(args: argparse.Namespace) -> int:
    """Print what was measured."""
    from zoo.text.open import is_text_model

    result: Any = (_of_text if is_text_model(args.run) else _of_pictures)(args)
    if args.json:
        print(json.dumps(result.to_dict(), ensure_ascii=False))
    else:
        print("\n".join(result.lines()))
    return 0


def _of_pictures(args: argparse.Namespace) -> Any:
    from zoo.train.measure import measure

    if args.context or args.stride or args.bad_bytes or args.dtype:
        raise UsageError("--context, --stride, --bad-bytes, --dtype: for language models only")
    return measure(
        args.run,
        args.data,
        batch_size=args.batch_size or 16,
        threads=args.threads,
        device=args.device,
        strict=args.strict,
        tta=args.tta,
        show_progress=not args.json,
    )


def _of_text(args: argparse.Namespace) -> Any:
    from zoo.text.open import open_text_model
    from zoo.text.perplexity import measure_text

    return measure_text(
        open_text_model(
            args.run, threads=args.threads, dtype=args.dtype or "float32", device=args.device
        ),
        args.data,
        run=args.run,
        context=args.context or 0,
        stride=args.stride or 0,
        batch_size=args.batch_size or 1,
        bad_bytes=args.bad_bytes or "refuse",
        show_progress=not args.json,
    )
