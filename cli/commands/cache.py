"""`zoo cache ls|verify|rm|path`: the downloaded files."""

from __future__ import annotations

import argparse
import json
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from cli.errors import UsageError
from cli.text import table

if TYPE_CHECKING:
    from hub.stored import Stored


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = "Look at the downloaded weights, check them, remove them."
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, text in _ACTIONS.items():
        action = actions.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        if name != "path":
            action.add_argument("--json", action="store_true", help="print JSON instead")
        if name == "rm":
            action.add_argument(
                "names", metavar="NAME", nargs="*", help="weights, model, address or SHA-256"
            )
            action.add_argument(
                "--unfinished", action="store_true", help="remove broken-off downloads"
            )
            action.add_argument("--all", action="store_true", help="remove everything")


def run(args: argparse.Namespace) -> int:
    """Do what was asked."""
    import hub

    cache = hub.default_cache()
    if args.action == "path":
        print(cache.home)
        return 0
    if args.action == "verify":
        from cli.commands.verify import print_checks
        from hub.stored import verify_cache

        return print_checks(partial(verify_cache, cache), f"the cache ({cache.home})", args.json)
    return _ls(cache, args) if args.action == "ls" else _rm(cache, args)


_ACTIONS = {
    "ls": "list the files in the cache and what they are",
    "verify": "hash every file in the cache again",
    "rm": "remove files from the cache",
    "path": "print the folder of the cache",
}


def _ls(cache: Any, args: argparse.Namespace) -> int:
    from hub.stored import stored_files, unfinished

    files = [*stored_files(cache), *unfinished(cache)]
    if args.json:
        print(json.dumps([_row(file) for file in files], indent=2, ensure_ascii=False))
        return 0
    if not files:
        print(f"The cache is empty ({cache.home}).")
        return 0
    rows = [
        (
            file.sha256[:12] or "unfinished",
            f"{file.bytes / 1e6:.1f} MB",
            time.strftime("%Y-%m-%d", time.localtime(file.used)),
            ", ".join(file.names) or "(no card names it)",
        )
        for file in files
    ]
    print("\n".join(table(("SHA-256", "size", "used", "weights"), rows)))
    print(f"{sum(file.bytes for file in files) / 1e6:,.1f} MB in {cache.home}")
    return 0


def _rm(cache: Any, args: argparse.Namespace) -> int:
    from hub.stored import remove, select, stored_files, unfinished

    if not (args.names or args.all or args.unfinished):
        raise UsageError("say what to remove: zoo cache rm NAME..., --unfinished or --all")
    chosen: dict[Any, Stored] = {}
    absent = []
    for name in args.names:
        found = select(cache, name)
        chosen |= {file.path: file for file in found}
        absent += [] if found else [name]
    if absent:
        # Before anything is removed: a slip in one name should not cost the others.
        raise UsageError(f"not in the cache: {', '.join(absent)}. To see what is: zoo cache ls")
    if args.all:
        chosen |= {file.path: file for file in stored_files(cache)}
    if args.all or args.unfinished:
        chosen |= {file.path: file for file in unfinished(cache)}
    freed = remove(cache, chosen.values())
    if args.json:
        rows = [_row(file) for file in chosen.values()]
        print(json.dumps({"removed": rows, "bytes": freed}, indent=2, ensure_ascii=False))
        return 0
    for file in chosen.values():
        print(f"removed {', '.join(file.names) or file.sha256} ({file.bytes / 1e6:.1f} MB)")
    print(f"{freed / 1e6:,.1f} MB freed.")
    return 0


def _row(file: Stored) -> dict[str, Any]:
    return {
        "sha256": file.sha256 or None,
        "names": list(file.names),
        "bytes": file.bytes,
        "used": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(file.used)),
        "path": str(file.path),
    }
