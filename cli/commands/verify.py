"""`zoo verify [NAME...]`: hash weights again and compare."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hub.stored import Checked, Show

_DESCRIPTION = """\
Read weights again from the first byte to the last and compare their SHA-256: of each NAME; or of
all that ./zoo.lock pins; or, where there is no zoo.lock, of all in the cache."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = _DESCRIPTION
    parser.add_argument("names", metavar="NAME", nargs="*", help="model, weights or address")
    parser.add_argument("--json", action="store_true", help="print one JSON array instead")


def run(args: argparse.Namespace) -> int:
    """Print what was found; 1 if a file is missing or damaged."""
    import hub
    from hub.stored import verify_cache, verify_lock, verify_names

    cache = hub.default_cache()
    lock = hub.ProjectLock.find()
    check: Callable[[Show], Iterable[Checked]]
    if args.names:
        check, scope = partial(verify_names, cache, args.names), "names"
    elif lock:
        check, scope = partial(verify_lock, cache, lock), str(lock.path)
    else:
        check, scope = partial(verify_cache, cache), f"the cache ({cache.home})"
    return print_checks(check, scope, args.json)


def print_checks(check: Callable[[Show], Iterable[Checked]], scope: str, as_json: bool) -> int:
    """Print results as they come, with a bar on a terminal; returns the exit code."""
    from hub.progress import progress_bar

    seen = []
    with progress_bar(
        show=not as_json, desc="verifying", unit="B", unit_scale=True, unit_divisor=1000,
        leave=False,
    ) as bar:  # fmt: skip
        for result in check(bar.update):
            seen.append(result)
            if not as_json:
                with bar.external_write_mode():
                    print("\n".join(_lines(result)), flush=True)
    wrong = sum(result.state != "ok" for result in seen)
    if as_json:
        rows = [
            {
                "name": r.name,
                "state": r.state,
                "sha256": r.sha256,
                "found": r.found,
                "path": str(r.path) if r.path else None,
            }
            for r in seen
        ]
        print(json.dumps(rows, indent=2, ensure_ascii=False))
    elif not seen:
        print(f"There is nothing to verify in {scope}.")
    elif wrong:
        print(f"{wrong} of {len(seen)} not as expected.")
    else:
        print(f"All {len(seen)} as expected.")
    return 1 if wrong else 0


def _lines(result: Checked) -> Iterator[str]:
    yield f"{result.state:<8} {result.sha256[:12] or '-':<12} {result.name}"
    if result.state == "missing":
        yield f"         not at hand; to fetch it, type: zoo download {result.name}"
    if result.state == "damaged":
        yield f"         {result.path}"
        yield f"         now has the SHA-256 {result.found}"
        yield f"         to remove it, type: zoo cache rm {result.sha256[:12]}"
