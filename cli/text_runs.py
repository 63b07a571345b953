"""What `zoo finetune`, `zoo train` and `zoo evaluate` do with language models."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import Field, fields
from functools import partial
from typing import Any

from cli.errors import UsageError
from zoo.train.config import TrainConfig
from zoo.train.text_config import LORA, TEXT_FINE_TUNING, TEXT_FROM_SCRATCH, TextConfig

_OF_PICTURES = {setting.name for setting in fields(TrainConfig)}
_OF_TEXT = {setting.name: setting for setting in fields(TextConfig)}
# Of `zoo finetune`, besides settings.
_SWITCHES_OF_PICTURES = ("strict", "find_lr", "fix")
_METAVARS = {int: "N", float: "X", str: "TEXT"}


def add_text_settings(parser: argparse.ArgumentParser, *, all_of_them: bool = False) -> None:
    """One flag for each field of `TextConfig`, or for those that pictures do not have; absent from
    the result where not given."""
    shared = [name for name in _OF_TEXT if name in _OF_PICTURES and not all_of_them]
    own = [name for name in shared if _default(name) != getattr(TrainConfig(), name)]
    about = (
        "What the recipe does not set has these defaults; the second of two is for --weights none. "
        f"The recipe lora sets {_listed(LORA)}."
    )
    if own:
        defaults = {name: _default(name) for name in own}
        about += f" Language models have their own defaults of other settings: {_listed(defaults)}."
    group = parser.add_argument_group("settings of language models", about)
    if not all_of_them:
        group.add_argument(
            "--lora",
            action="store_true",
            help="train small adapters in place of the weights: the same as --recipe lora",
        )
    for name, setting in _OF_TEXT.items():
        if name not in shared:
            _add_flag(group, setting)


def _default(name: str) -> Any:
    return getattr(TEXT_FINE_TUNING, name)


def _listed(values: Mapping[str, Any]) -> str:
    return ", ".join(f"--{name.replace('_', '-')} {value}" for name, value in values.items())


def _add_flag(group: argparse._ArgumentGroup, setting: Field[Any]) -> None:
    kind, choices = type(setting.default), setting.metadata["choices"]
    tuned, scratch = (getattr(c, setting.name) for c in (TEXT_FINE_TUNING, TEXT_FROM_SCRATCH))
    default = f"{tuned}" if tuned == scratch else f"{tuned}, {scratch}"
    group.add_argument(
        f"--{setting.name.replace('_', '-')}",
        dest=setting.name,
        type=kind,
        choices=choices,
        metavar=None if choices else _METAVARS[kind],
        default=argparse.SUPPRESS,
        help=f"{setting.metadata['text']} (default: {default or 'none'})".replace("%", "%%"),
    )


def add_dtype(parser: argparse.ArgumentParser) -> None:
    """`--dtype`, for commands that use a language model."""
    parser.add_argument(
        "--dtype",
        choices=("float32", "bfloat16", "int8", "int4"),
        help="what the weights of a language model are kept in: fewer bits are faster and less "
        "exact (default: float32)",
    )


def is_about_text(args: argparse.Namespace, resumed: str | None) -> bool:
    """Whether a `finetune` is for a language model: the one that is named, or the run's.

    Raises:
        UsageError: it is not, and has flags that only language models take.
    """
    if resumed is None:
        from zoo.registry import get_arch

        text = args.model is not None and get_arch(args.model).config.task == "text-generation"
    else:
        from zoo.train.text_run import newest_text_checkpoint

        text = newest_text_checkpoint(resumed) is not None
    if not text:
        typed = [n for n in _OF_TEXT if n not in _OF_PICTURES and hasattr(args, n)]
        typed += ["lora"] if args.lora else []
        if typed:
            raise UsageError(f"{_flags(typed)}: for language models only, such as gpt2")
    return text


def _flags(names: list[str]) -> str:
    return ", ".join(f"--{name.replace('_', '-')}" for name in names)


def finetune_on_text(args: argparse.Namespace, **more: Any) -> int:
    """Start a run on text, or say what it would be. `more` goes to
    `zoo.train.text_run.finetune_text`."""
    from zoo.train.text_run import finetune_text, lora_recipe, plan_text

    settings = _settings(args)
    recipe = lora_recipe("auto" if args.recipe is None else args.recipe, args.lora)
    if args.print_recipe:
        return _print_recipe(args, more["weights"], recipe, settings)
    if args.data is None:
        command = f"zoo {args.command} {args.model}" if args.command == "finetune" else "zoo train"
        raise UsageError(
            f"{args.command} needs --data TEXT; for example: {command} --data book.txt"
        )
    common = {
        "out": args.out,
        "recipe": recipe,
        "say": partial(print, flush=True),
        **settings,
        **more,
    }
    if args.plan:
        plan_text(args.model, args.data, show_progress=True, **common)
    else:
        finetune_text(
            args.model,
            args.data,
            report=not args.no_report,
            callbacks=callbacks_of(args),
            show_progress=True,
            **common,
        )
    return 0


def callbacks_of(args: argparse.Namespace) -> list[Any]:
    """What `--tensorboard` asks for."""
    from zoo.train import TensorBoard

    return [TensorBoard()] if args.tensorboard else []


def _print_recipe(
    args: argparse.Namespace, weights: str, recipe: str, settings: Mapping[str, Any]
) -> int:
    from zoo.registry import get_arch
    from zoo.text.read import find_files
    from zoo.train.recipe_book import recipe_text
    from zoo.train.text_recipes import plan_text_config

    files = None if args.data is None else find_files(args.data)
    model = get_arch(args.model).config
    config, chosen = plan_text_config(files, weights, recipe, settings, model)
    print(recipe_text(config, chosen.lines()), end="")
    return 0


def resume_on_text(args: argparse.Namespace, folder: str) -> int:
    """Go on with a run on text."""
    from zoo.train.errors import NothingToResume
    from zoo.train.text_run import newest_text_checkpoint, resume_text

    checkpoint = newest_text_checkpoint(folder)
    if checkpoint is None:
        raise NothingToResume(
            f"{folder}: no checkpoint of a language model to go on from. To start a run, type: "
            "zoo train --data TEXT"
        )
    if args.plan or args.print_recipe:
        raise UsageError("--plan and --print-recipe are for a new run; leave out --resume")
    if args.recipe is not None or args.lora:
        raise UsageError("a resumed run keeps its recipe; leave out --recipe and --lora")
    given = {"model": args.model, "weights": getattr(args, "weights", None), **_settings(args)}
    resume_text(
        folder,
        checkpoint,
        data=args.data,
        expected={name: value for name, value in given.items() if value is not None},
        report=not args.no_report,
        callbacks=callbacks_of(args),
        say=partial(print, flush=True),
        show_progress=True,
    )
    return 0


def _settings(args: argparse.Namespace) -> dict[str, Any]:
    """The settings whose flags were typed, by field name.

    Raises:
        UsageError: some are for pictures only.
    """
    foreign = [name for name in _OF_PICTURES - _OF_TEXT.keys() if hasattr(args, name)]
    foreign += [name for name in _SWITCHES_OF_PICTURES if getattr(args, name, None)]
    if foreign:
        raise UsageError(f"{_flags(sorted(foreign))}: for models of pictures only")
    return {name: getattr(args, name) for name in _OF_TEXT if hasattr(args, name)}
