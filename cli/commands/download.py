"""`zoo download NAME...`: put weights into the cache, verified, before they are needed."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

_DESCRIPTION = """\
Download weights, check them and keep them in the cache (`zoo cache path`). A download that breaks
off is continued by the same command. NAME is a name from `zoo list`, or an address:
https://..., hf:ORG/REPO[@REVISION]/FILE, file://... or a path."""
_EPILOG = """\
environment:
  ZOO_HOME     folder of the cache        ZOO_MIRROR  copies to ask first
  ZOO_SHARED   caches that are only read  HF_TOKEN    token for Hugging Face
  ZOO_OFFLINE  1: use no network          ZOO_LOCK    instead of ./zoo.lock
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = _DESCRIPTION
    parser.epilog = _EPILOG
    parser.add_argument("names", metavar="NAME", nargs="+", help="model, weights or address")
    parser.add_argument(
        "--lock", action="store_true", help="start a zoo.lock here, if there is none yet, with them"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON array instead")


@dataclass(frozen=True)
class _Got:
    name: str
    path: Path
    sha256: str


def run(args: argparse.Namespace) -> int:
    """Fetch each; 1 if one could not be fetched."""
    import os

    import hub

    # All names are looked at before the first byte moves.
    wanted = [_meant(name) for name in args.names]
    if args.lock and hub.ProjectLock.find() is None:
        from hub.project_lock import NAME

        os.environ["ZOO_LOCK"] = NAME
    rows: list[dict[str, Any]] = []
    failed = False
    for item in wanted:
        try:
            got = _get(item, progress=not args.json)
        except hub.HubError as error:
            failed = True
            print(f"zoo: {error}", file=sys.stderr)
            continue
        size = got.path.stat().st_size
        rows.append({"name": got.name, "path": str(got.path), "sha256": got.sha256, "bytes": size})
        if not args.json:
            print(f"{got.name}\n  {got.path} ({size / 1e6:.1f} MB)\n  SHA-256 {got.sha256}")
    if args.json:
        print(json.dumps(rows, indent=2, ensure_ascii=False))
    return 1 if failed else 0


def _meant(name: str) -> Any:
    """A card, or the text of an address."""
    from pathlib import Path

    import hub
    from hub.sources import parse_source

    if hub.is_address(name) or Path(name).is_file():
        parse_source(name)
        return name
    return hub.card_of(name)


def _get(item: Any, progress: bool) -> _Got:
    import hub

    if isinstance(item, str):
        file = hub.fetch_file(item, progress=progress)
        return _Got(file.address, file.path, file.sha256)
    found = hub.fetch(item, progress=progress)
    return _Got(item.name, found.path, found.sha256)
