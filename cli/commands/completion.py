"""`zoo completion SHELL`: a script that lets a shell complete commands, flags and names."""

from __future__ import annotations

import argparse

_DESCRIPTION = """\
Print a completion script. To use it in every new shell:
  bash   zoo completion bash > ~/.local/share/bash-completion/completions/zoo
  zsh    zoo completion zsh > ~/.zfunc/_zoo   (~/.zfunc in fpath before compinit)
  tcsh   zoo completion tcsh >> ~/.tcshrc"""
_SHELLS = ("bash", "zsh", "tcsh")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = _DESCRIPTION
    parser.add_argument("shell", metavar="SHELL", choices=_SHELLS, help="bash, zsh or tcsh")


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    import hub
    from cli.errors import MissingExtra
    from cli.main import COMMANDS, build_parser

    try:
        import shtab
    except ImportError:
        raise MissingExtra("completion", "shtab") from None
    parser = build_parser(list(COMMANDS))
    cards = hub.load_cards().values()
    names = sorted({name for card in cards for name in (card.name, card.arch)})
    words = {shell: f"_zoo_names_{shell}" for shell in ("bash", "zsh")}
    _complete_names(parser, words | {"tcsh": f"({' '.join(names)})"}, shtab.FILE)
    quoted = " ".join(names)
    preamble = {
        "bash": f'_zoo_names_bash() {{ compgen -W "{quoted}" -- "$1"; compgen -f -- "$1"; }}\n',
        "zsh": f"_zoo_names_zsh() {{ compadd -- {quoted}; _files; }}\n",
        "tcsh": "",
    }
    print(shtab.complete(parser, shell=args.shell, preamble=preamble[args.shell]))
    return 0


# Arguments that take a name from `zoo list` or a path; and those that take a path only.
_NAMES = {"model", "name", "names", "weights", "run", "runs"}
_PATHS = {"data", "out", "resume", "images"}


def _complete_names(parser: argparse.ArgumentParser, names: object, files: object) -> None:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for child in action.choices.values():
                _complete_names(child, names, files)
        elif action.dest in _NAMES | _PATHS and not action.choices:
            action.complete = names if action.dest in _NAMES else files  # type: ignore[attr-defined]
