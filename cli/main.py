"""Entry point of `zoo`: finds the command, loads only that one, and turns failures into advice."""

from __future__ import annotations

import argparse
import importlib
import sys
import traceback
from collections.abc import Sequence
from typing import Any

from cli.errors import EXIT_USAGE, report

COMMANDS = {
    "finetune": "train a model on your own pictures or text",
    "train": "train a language model from random weights",
    "evaluate": "measure a trained model on pictures or text",
    "predict": "say what is in pictures",
    "generate": "write on from a text",
    "embed": "write features of pictures to an array",
    "report": "write the page about a finished run",
    "list": "list models and pretrained weights",
    "export": "write a model as files of other programs",
    "info": "show what is known about a model and its weights",
    "download": "download weights into the cache",
    "verify": "hash weights again and compare",
    "cache": "list, check and remove downloaded weights",
    "demo": "open a page to try models on pictures and text",
    "bench": "measure this machine beside the published figures",
    "doctor": "say what is wrong with this installation",
    "completion": "print a completion script for a shell",
}

_EXAMPLES = """\
examples:
  zoo finetune resnet20 --data demo         train on the built-in digits
  zoo finetune resnet50 --data ./pictures   one folder of pictures per class
  zoo predict runs/resnet50-1 cat.jpg       what the result says of a picture
  zoo finetune gpt2 --data book.txt --lora  a language model on your own text
  zoo generate gpt_shakespeare --prompt "ROMEO."
"""


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Room for the longest command beside its line of help; paragraphs fit the terminal, and what
    is laid out with blanks stays as it is."""

    def __init__(self, prog: str, **options: Any) -> None:
        super().__init__(prog, max_help_position=30, **options)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        import textwrap

        paragraphs = text.strip("\n").split("\n\n")
        return "\n\n".join(
            textwrap.indent(paragraph, indent)
            if "  " in paragraph
            else textwrap.fill(paragraph, width, initial_indent=indent, subsequent_indent=indent)
            for paragraph in paragraphs
        )


class _Version(argparse.Action):
    """Prints the version; looked up only when asked for, because that takes a while."""

    def __call__(self, parser: argparse.ArgumentParser, *ignored: object) -> None:
        from importlib.metadata import version

        print(f"zoo {version('zoo')}")
        parser.exit()


def build_parser(chosen: Sequence[str]) -> argparse.ArgumentParser:
    """The parser. Commands in `chosen` get their arguments, the others only their line of help."""
    parser = argparse.ArgumentParser(
        prog="zoo",
        description="Fine-tune published models on your own pictures or text.",
        epilog=_EXAMPLES,
        formatter_class=_Formatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    _add_debug(parser, default=False)
    commands = parser.add_subparsers(title="commands", dest="command", metavar="COMMAND")
    for name, text in COMMANDS.items():
        command = commands.add_parser(
            name, help=text, allow_abbrev=False, formatter_class=_Formatter
        )
        _add_debug(command, default=argparse.SUPPRESS)
        if name in chosen:
            importlib.import_module(f"cli.commands.{name}").configure(command)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (default: the process's). Returns the exit code: 0 when all went
    well, 1 for a failure, 2 for a wrong command line, 130 when interrupted."""
    argv = sys.argv[1:] if argv is None else list(argv)
    parser = build_parser(argv)
    _refuse_unknown_command(parser, argv)
    args = parser.parse_args(argv)
    if args.command is None:
        parser.print_help(sys.stderr)
        return EXIT_USAGE
    try:
        return importlib.import_module(f"cli.commands.{args.command}").run(args)
    except BaseException as error:
        if args.debug:
            traceback.print_exception(error)
        return report(error)


def _refuse_unknown_command(parser: argparse.ArgumentParser, argv: Sequence[str]) -> None:
    """Say which command was probably meant; what argparse says lists all of them."""
    name = next((word for word in argv if not word.startswith("-")), None)
    if name is None or name in COMMANDS:
        return
    import difflib

    near = difflib.get_close_matches(name, COMMANDS, n=1)
    if near:
        parser.error(f"there is no command {name!r}; did you mean: zoo {near[0]}")


def _add_debug(parser: argparse.ArgumentParser, default: object) -> None:
    parser.add_argument(
        "--debug", action="store_true", default=default, help="on failure, show where it arose"
    )


if __name__ == "__main__":
    sys.exit(main())
