"""Writes the reference of the guide: pages of names, which mkdocstrings fills with docstrings.

    python -m tests.docs.make_reference [--check]

--check writes nothing and fails if the pages are not what the modules and commands say.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.docs.pages import DOCS
from tests.docs.public_names import Page, constants_of, pages, public_of

REFERENCE = DOCS / "reference"
_NOTE = "<!-- Written by python -m tests.docs.make_reference; do not edit. -->\n"


def page_text(page: Page) -> str:
    """Markdown with a line for mkdocstrings for each name."""

    topics = page.topics or {"": tuple(public_of(page.module))}
    parts = [_NOTE, f"# {page.title}\n", f"{page.text}\n"]
    constants = constants_of(page.module) if not page.topics else {}
    if constants:
        parts.append(_constants(page.module, constants))
    for heading, names in topics.items():
        if heading:
            parts.append(f"## {heading}\n")
        parts += [f"::: {page.module}.{name}\n" for name in names]
    return "\n".join(parts)


def _constants(module: str, constants: dict[str, object]) -> str:
    rows = []
    for name, value in constants.items():
        text = repr(value)
        shown = f"`{text}`" if len(text) < 100 else f"a `{type(value).__name__}`"
        rows.append(f"| `{module}.{name}` | {shown} |")
    return "\n".join(["| constant | value |", "|---|---|", *rows, ""])


def engine_index() -> str:
    """The front page of the engine's part: its constants."""
    constants = {n: v for n, v in constants_of("engine").items() if n not in ("inf", "nan")}
    constants |= {"inf": "infinity", "nan": "not a number"}
    rows = [f"| `engine.{name}` | {value} |" for name, value in constants.items()]
    text = "Functions follow the Python array API standard; `nn`, `autograd` and `optim` PyTorch."
    head = [_NOTE, "# The engine\n", text + "\n", "## Constants and dtypes\n"]
    return "\n".join([*head, "| name | value |", "|---|---|", *rows, ""])


def commands() -> str:
    """Every command with its arguments, from the parser."""
    from cli.main import COMMANDS, build_parser

    parser = build_parser(list(COMMANDS))
    parts = [
        _NOTE,
        "# Commands\n",
        "What `zoo COMMAND --help` says. Exit codes: 0 all went well, 1 a failure, 2 a wrong "
        "command line, 130 interrupted. `--debug` shows where a failure arose.\n",
    ]
    (choices,) = (a.choices for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    for name, command in choices.items():
        parts += [f"## zoo {name}\n", f"{COMMANDS[name].capitalize()}.\n"]
        parts += _arguments(command)
    return "\n".join(parts)


def _arguments(parser: argparse.ArgumentParser, prefix: str = "") -> list[str]:
    if parser.description and not prefix:
        parts = [f"```text\n{parser.description.strip()}\n```\n"]
    else:
        parts = []
    for group in parser._action_groups:
        actions = [a for a in group._group_actions if a.dest not in ("help", "debug")]
        inner = [a for a in actions if isinstance(a, argparse._SubParsersAction)]
        for action in inner:
            for name, command in action.choices.items():
                parts += [f"### {parser.prog} {name}\n", f"{command.description}\n"]
                parts += _arguments(command, name)
        rows = [_row(a) for a in actions if a not in inner and a.help != argparse.SUPPRESS]
        if rows:
            if group.description and group.title not in ("positional arguments", "options"):
                parts.append(f"**{group.title}** {_cell(group.description)}\n")
            parts += ["| argument | |", "|---|---|", *rows, ""]
    return parts


def _row(action: argparse.Action) -> str:
    name = ", ".join(action.option_strings) or str(action.metavar or action.dest)
    if action.option_strings and action.nargs != 0:
        choices = "{" + ",".join(map(str, action.choices)) + "}" if action.choices else None
        name += f" {action.metavar or choices or action.dest.upper()}"
    text = (action.help or "") % {**vars(action), "prog": "zoo"}
    return f"| `{_cell(name)}` | {_cell(text)} |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def generate() -> dict[Path, str]:
    """Path and text of every page."""
    made = {REFERENCE / page.file: page_text(page) for page in pages()}
    return {
        REFERENCE / "engine/index.md": engine_index(),
        REFERENCE / "commands.md": commands(),
        **made,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    check = parser.parse_args().check
    stale = []
    for path, text in generate().items():
        if check:
            if not path.exists() or path.read_text("utf-8") != text:
                stale.append(str(path))
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    if stale:
        print("\n".join(["stale; run python -m tests.docs.make_reference:", *stale]))
    return bool(stale)


if __name__ == "__main__":
    sys.exit(main())
