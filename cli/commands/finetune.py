"""`zoo finetune MODEL --data DIR`: train a model on pictures, or go on with a run."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

from cli.errors import UsageError
from cli.flags import add_run_switches, add_settings, given_settings
from cli.ranks import add_nproc, on_ranks, typed
from cli.text_runs import (
    add_text_settings,
    callbacks_of,
    finetune_on_text,
    is_about_text,
    resume_on_text,
)

_DESCRIPTION = """\
Train MODEL on the pictures under DIR, one folder per class, starting from its pretrained weights.
The best weights go to OUT/model.safetensors, with class names and preprocessing inside.

A language model (gpt2, ...) is trained on the text in DIR: a file, a folder or a pattern; plain
text, JSONL or CSV."""

_THIS_RUN = ""  # value of --resume without a folder: the one of --out


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = _DESCRIPTION
    parser.usage = "zoo finetune MODEL --data DIR [options]\n       zoo finetune --resume RUN"
    parser.add_argument("model", metavar="MODEL", nargs="?", help="a name from `zoo list`")
    parser.add_argument(
        "--data",
        metavar="DIR",
        help="folder with DIR/CLASS/picture.jpg, or with DIR/train and DIR/val of that form; a "
        ".csv or .jsonl list with path, label and perhaps split; "
        "`demo`: the built-in handwritten digits",
    )
    parser.add_argument(
        "--weights",
        metavar="WEIGHTS",
        help="where to start from: default, a name from `zoo list --pretrained`, a .safetensors or "
        ".pth file, or none for random values (default: default)",
    )
    parser.add_argument(
        "--out",
        metavar="OUT",
        help="folder for the results, new or empty (default: runs/MODEL-N, the first free N)",
    )
    parser.add_argument(
        "--resume",
        metavar="RUN",
        nargs="?",
        const=_THIS_RUN,
        help="go on with the run in folder RUN (or OUT), with the settings it was started with",
    )
    add_run_switches(
        parser, "linear, finetune, full, scratch, of language models lora, full, scratch", "DIR"
    )
    parser.add_argument(
        "--find-lr",
        metavar="PNG",
        nargs="?",
        const="lr.png",
        help="suggest a learning rate from a few steps at rising ones, draw them and stop",
    )
    parser.add_argument(
        "--strict", action="store_true", help="refuse unreadable pictures; else they are left out"
    )
    parser.add_argument(
        "--fix",
        action="store_true",
        help="first offer to move unreadable files and duplicates out of DIR; asks each time",
    )
    add_nproc(parser)
    add_settings(parser)
    add_text_settings(parser)


def run(args: argparse.Namespace) -> int:
    """Start a run, or go on with one; on one process, or as one of several ranks."""
    alone = typed(args, "print_recipe", "find_lr", "plan", "fix", "folds")
    return on_ranks(args, lambda: _run(args), refused=alone)


def _run(args: argparse.Namespace) -> int:
    resumed = args.out if args.resume == _THIS_RUN else args.resume
    if is_about_text(args, resumed):
        if resumed is not None:
            return resume_on_text(args, resumed)
        return finetune_on_text(args, weights=args.weights or "default")
    from zoo.train import finetune, plan, resume

    settings = given_settings(args)
    if args.print_recipe:
        return _print_recipe(args, settings)
    say = partial(print, flush=True)
    if args.resume is None:
        if args.model is None or args.data is None:
            missing = "MODEL" if args.model is None else "--data DIR"
            raise UsageError(
                f"finetune needs {missing}; for example: zoo finetune resnet18 --data ./pictures"
            )
        common: dict[str, Any] = {
            "weights": "default" if args.weights is None else args.weights,
            "recipe": "auto" if args.recipe is None else args.recipe,
            "out": args.out,
            "strict": args.strict,
            "say": say,
            "show_progress": True,
            **settings,
        }
        if args.fix:
            _fix(args.data, settings)
        if args.find_lr is not None:
            from zoo.train.lr_finder import find_lr

            del common["out"]
            find_lr(args.model, args.data, plot=args.find_lr, **common)
        elif args.plan:
            plan(args.model, args.data, **common)
        elif common.get("folds") and "fold" not in common:
            from zoo.train.folds import cross_validate

            cross_validate(args.model, args.data, report=not args.no_report, **common)
        else:
            finetune(
                args.model,
                args.data,
                report=not args.no_report,
                callbacks=callbacks_of(args),
                **common,
            )
        return 0
    if args.plan or args.fix:
        raise UsageError("--plan and --fix are for a new run; leave out --resume")
    folder = args.resume if args.resume != _THIS_RUN else args.out
    if folder is None:
        raise UsageError("--resume needs a run's folder, for example: --resume runs/resnet18-1")
    if args.out is not None and args.out != folder:
        raise UsageError(
            f"--resume {folder} writes to {folder}, not to --out {args.out}; leave out --out"
        )
    if args.recipe is not None:
        raise UsageError("a resumed run keeps its recipe; leave out --recipe")
    given = {"model": args.model, "weights": args.weights, **settings}
    resume(
        folder,
        data=args.data,
        expected={name: value for name, value in given.items() if value is not None},
        report=not args.no_report,
        callbacks=callbacks_of(args),
        say=say,
        show_progress=True,
    )
    return 0


def _print_recipe(args: argparse.Namespace, settings: dict[str, Any]) -> int:
    from zoo.train.recipe_book import recipe_text
    from zoo.train.recipes import plan_config

    weights = "default" if args.weights is None else args.weights
    recipe = "auto" if args.recipe is None else args.recipe
    config, chosen, _ = plan_config(args.data, weights, recipe, settings)
    print(recipe_text(config, chosen.lines()), end="")
    return 0


def _fix(data: str, settings: dict[str, Any]) -> None:
    from cli.fixing import fix
    from zoo.train.config import TrainConfig

    config = TrainConfig.from_dict(settings)
    threads = config.threads or None
    fix(data, val_fraction=config.val_fraction, seed=config.seed, threads=threads)
