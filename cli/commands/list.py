"""`zoo list [PATTERN]`: the names that other commands take."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from cli.text import table

if TYPE_CHECKING:
    from hub import Card


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = "List models; with --pretrained, sets of weights and what is known."
    parser.add_argument(
        "pattern", metavar="PATTERN", nargs="?", default="*", help="of names, such as 'resnet*'"
    )
    parser.add_argument("--pretrained", action="store_true", help="list weights instead of models")
    parser.add_argument("--json", action="store_true", help="print one JSON array instead")


def run(args: argparse.Namespace) -> int:
    """Print the names; 1 if there are none."""
    import hub
    import zoo
    from hub.stored import is_stored

    cache = hub.default_cache()
    names = zoo.list_models(args.pattern, pretrained=args.pretrained)
    facts = ("result", "params", "download", "here", "licence")
    if args.pretrained:
        cards = [hub.get_card(name) for name in names]
        rows = [{"name": card.name, **_facts(card, is_stored(card, cache))} for card in cards]
        cells = [
            (card.name, *_cells(card, row["cached"])) for card, row in zip(cards, rows, strict=True)
        ]
        lines = table(("weights", *facts), cells)
    else:
        rows, cells = [], []
        for name in names:
            # What is said of a model is true of its default weights, which come first.
            own = hub.cards_for(name)
            stored = bool(own) and is_stored(own[0], cache)
            more = _facts(own[0], stored) if own else {"cached": False}
            rows.append({"name": name, **more, "weights": [card.name for card in own]})
            some = _cells(own[0], stored) if own else ("-",) * len(facts)
            cells.append((name, *some, str(len(own)) if own else "-"))
        lines = table(("model", *facts, "sets"), cells)
        if any(len(row["weights"]) > 1 for row in rows):
            lines += ["", "All sets of weights by name: zoo list PATTERN --pretrained"]
    if args.json:
        print(json.dumps(rows, indent=2, ensure_ascii=False))
    elif rows:
        print("\n".join(lines))
    else:
        print(f"No name fits {args.pattern!r}. To see all, type: zoo list")
    return 0 if rows else 1


def _facts(card: Card, stored: bool) -> dict[str, Any]:
    return {
        "model": card.arch,
        "default": card.default,
        "task": card.task,
        "metrics": [_without_blanks(asdict(metric)) for metric in card.metrics],
        "parameters": card.params,
        "bytes": card.bytes,
        "cached": stored,
        "license": card.license,
        "source": card.source,
    }


def _without_blanks(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _cells(card: Card, stored: bool) -> tuple[str, ...]:
    download = card.files[0].url is not None
    return (
        card.metrics[0].value if card.metrics else "-",
        _short(card.params / 1e6, "M"),
        _short(card.bytes / 1e6, "MB") if download else "included",
        "yes" if stored else "-",
        card.license,
    )


def _short(number: float, unit: str) -> str:
    return f"{number:.0f} {unit}" if number >= 10 else f"{number:.1f} {unit}"
