"""Flags shared by commands, and flags derived from the settings of a training run."""

from __future__ import annotations

import argparse
from dataclasses import fields
from typing import Any

from zoo.placement import DEVICES
from zoo.train.config import FINE_TUNING, FROM_SCRATCH, TrainConfig


def add_settings(parser: argparse.ArgumentParser) -> None:
    """One flag for each field of `TrainConfig`; absent from the result where not given."""
    group = parser.add_argument_group(
        "settings",
        "What the recipe does not set has these defaults; the second of two is for --weights none.",
    )
    for setting in fields(TrainConfig):
        choices = setting.metadata["choices"]
        kind = type(setting.default)
        group.add_argument(
            f"--{setting.name.replace('_', '-')}",
            dest=setting.name,
            type=kind,
            choices=choices,
            metavar=None if choices else {int: "N", float: "X", str: "NAME"}[kind],
            default=argparse.SUPPRESS,
            help=f"{setting.metadata['text']} (default: {_defaults(setting.name)})".replace(
                "%", "%%"
            ),
        )


def add_run_switches(parser: argparse.ArgumentParser, recipes: str, data: str) -> None:
    """What every command that trains takes, besides settings.

    Args:
        recipes: names of recipes, for the help.
        data: what --data is called there.
    """
    parser.add_argument(
        "--recipe",
        metavar="RECIPE",
        help=f"{recipes}, a .toml file, or auto: chosen from the data (default: auto); other flags "
        "win over it",
    )
    parser.add_argument(
        "--print-recipe",
        action="store_true",
        help="print the recipe as a .toml file, with what other flags set, and stop",
    )
    parser.add_argument(
        "--plan",
        action="store_true",
        help=f"say what is in {data}, how long it will take and how much memory; then stop",
    )
    parser.add_argument(
        "--tensorboard",
        action="store_true",
        help="log to OUT/tensorboard as well; needs: pip install 'zoo[tensorboard]'",
    )
    parser.add_argument("--no-report", action="store_true", help="leave out report.html at the end")


def given_settings(args: argparse.Namespace) -> dict[str, Any]:
    """The settings whose flags were typed, by field name."""
    return {f.name: getattr(args, f.name) for f in fields(TrainConfig) if hasattr(args, f.name)}


def add_sources(parser: argparse.ArgumentParser) -> None:
    """RUN and the pictures to give to its model, for commands that read pictures in a stream."""
    parser.add_argument("run", metavar="RUN", help="run folder, weights file or model name")
    parser.add_argument(
        "images",
        metavar="PATH",
        nargs="+",
        help="pictures, folders of pictures, patterns such as 'new/**/*.jpg', or - for paths from "
        "the input stream, one a line",
    )
    parser.add_argument(
        "--batch-size", type=positive, default=16, metavar="N", help="pictures a batch (default 16)"
    )


def add_threads(parser: argparse.ArgumentParser) -> None:
    """`--threads`, for commands that do not train."""
    parser.add_argument(
        "--threads", type=positive, metavar="N", help="CPU threads (default: one for each CPU)"
    )


def add_computing(parser: argparse.ArgumentParser) -> None:
    """`--threads` and `--device`, for commands that do not train."""
    add_threads(parser)
    parser.add_argument(
        "--device",
        default="cpu",
        metavar="NAME",
        help=f"where to compute: {DEVICES} (default: cpu)",
    )


def add_tta(parser: argparse.ArgumentParser) -> None:
    """`--tta`, for commands that look at pictures."""
    parser.add_argument(
        "--tta",
        choices=("none", "flip", "ten"),
        default="none",
        help="views of each picture whose probabilities are averaged; flip: the picture and its "
        "mirror image; ten: centre and corners, each with its mirror image (default: none)",
    )


def positive(text: str) -> int:
    """An argparse type: a whole number above 0."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is not 1 or more")
    return value


def _defaults(name: str) -> str:
    tuned, scratch = getattr(FINE_TUNING, name), getattr(FROM_SCRATCH, name)
    return f"{tuned}" if tuned == scratch else f"{tuned}, {scratch}"
