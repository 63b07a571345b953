"""`--fix`: what the audit objects to, moved out of the data folder, one question for each kind."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from cli.errors import UsageError

_SHOWN = 10  # names before the rest is summed up


def fix(data: str, *, val_fraction: float, seed: int, threads: int | None) -> None:
    """Ask about each kind of file that spoils the folder `data`, and move those agreed to.

    Raises:
        UsageError: there is no terminal to ask on, or no folder.
    """
    from zoo import demo
    from zoo.data import prepare_folder
    from zoo.data.image_set import ImageSet
    from zoo.data.set_aside import aside_folder, proposals, set_aside

    if data == demo.NAME:
        raise UsageError("the demo's pictures need no fixing; leave out --fix")
    if Path(data).is_file():
        raise UsageError(
            f"--fix moves files out of a folder, and {data} is a list. See what is wrong with "
            "--plan, and take those lines out of the list"
        )
    if not sys.stdin.isatty():
        raise UsageError(
            "--fix asks before it moves a file, so it needs a terminal. To see what it would ask, "
            "type the same with --plan instead of --fix"
        )
    prepared = prepare_folder(
        data, val_fraction=val_fraction, seed=seed, threads=threads, progress=True
    )
    train: ImageSet = prepared.train
    found = proposals(prepared.audit, (train.name(i) for i in range(len(train))))
    target = aside_folder(data)
    moved = 0
    for proposal in found:
        names = proposal.names
        print(f"{len(names)} file(s) {proposal.why}:")
        print("\n".join(f"  {name}" for name in names[:_SHOWN]))
        if len(names) > _SHOWN:
            print(f"  ... and {len(names) - _SHOWN} more")
        if agreed(f"Move to {target}? [y/N] "):
            moved += set_aside(data, names, target)
    print(_said(len(found), moved, target))


def agreed(question: str, ask: Callable[[str], str] = input) -> bool:
    """Whether the answer is yes; anything else, and no answer, is no."""
    try:
        return ask(question).strip().lower() in ("y", "yes")
    except EOFError:
        return False


def _said(found: int, moved: int, target: Path) -> str:
    if not found:
        return "Nothing to fix.\n"
    if not moved:
        return "Nothing was moved.\n"
    return f"{moved} file(s) are now in {target}; to undo that, move them back.\n"
