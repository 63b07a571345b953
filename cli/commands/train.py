"""`zoo train --data TEXT`: train a language model from random weights."""

from __future__ import annotations

import argparse

from cli.flags import add_run_switches, positive
from cli.ranks import add_nproc, on_ranks, typed
from cli.text_runs import add_text_settings, finetune_on_text, resume_on_text

_DESCRIPTION = """\
Train a language model from random weights on your own text, with a vocabulary that is found in it.
TEXT is a file, a folder or a pattern: plain text, JSONL or CSV. The best weights go to
OUT/model.safetensors, with the tokenizer inside."""

_CONFIGS = ("nano", "tiny", "small")
_SIZES = {
    "layers": "blocks",
    "width": "numbers in the vector of a token",
    "heads": "heads of attention; they divide the width",
    "context": "longest sequence, tokens",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = _DESCRIPTION
    parser.usage = "zoo train --data TEXT [options]\n       zoo train --resume RUN"
    parser.add_argument("--data", metavar="TEXT", help="file, folder or pattern in quotes")
    parser.add_argument(
        "--config",
        choices=_CONFIGS,
        default="tiny",
        help="sizes to begin with: 0.1, 1.6 or 14 million parameters (default: tiny)",
    )
    for name, text in _SIZES.items():
        parser.add_argument(
            f"--{name}", type=positive, metavar="N", default=argparse.SUPPRESS, help=text
        )
    parser.add_argument(
        "--tokenizer",
        metavar="TOKENIZER",
        help="number of tokens to find in the text; gpt2; bytes; or a folder with tokenizer.json "
        "(default: as many as the config has)",
    )
    parser.add_argument(
        "--out",
        metavar="OUT",
        help="folder for the results, new or empty (default: runs/gpt_CONFIG-N, the first free N)",
    )
    parser.add_argument("--resume", metavar="RUN", help="go on with the run in folder RUN")
    add_run_switches(parser, "scratch", "TEXT")
    add_nproc(parser)
    add_text_settings(parser, all_of_them=True)


def run(args: argparse.Namespace) -> int:
    """Start a run, or go on with one; on one process, or as one of several ranks."""
    alone = typed(args, "print_recipe", "plan")
    return on_ranks(args, lambda: _run(args), refused=alone)


def _run(args: argparse.Namespace) -> int:
    args.lora = False  # adapters go beside weights that were trained before
    if args.resume is not None:
        args.model = None
        return resume_on_text(args, args.resume)
    args.model = f"gpt_{args.config}"
    options = {name: getattr(args, name) for name in _SIZES if hasattr(args, name)}
    return finetune_on_text(args, weights="none", tokenizer=args.tokenizer, options=options)
