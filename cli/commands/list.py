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

    names = zoo.list_models(args.pattern, pretrained=args.pretrained)
    if args.pretrained:
        rows = [_of_card(hub.get_card(name)) for name in names]
        lines = table(
            ("weights", "published result", "parameters", "download", "licence"),
            [_card_cells(hub.get_card(name)) for name in names],
        )
    else:
        rows = [_of_arch(name, hub.cards_for(name)) for name in names]
        lines = table(
            ("model", "weights (the first is the default)"),
            [(row["name"], ", ".join(row["weights"]) or "-") for row in rows],
        )
    if args.json:
        print(json.dumps(rows, indent=2, ensure_ascii=False))
    elif rows:
        print("\n".join(lines))
    else:
        print(f"No name fits {args.pattern!r}. To see all, type: zoo list")
    return 0 if rows else 1


def _of_card(card: Card) -> dict[str, Any]:
    return {
        "name": card.name,
        "model": card.arch,
        "default": card.default,
        "task": card.task,
        "metrics": [_without_blanks(asdict(metric)) for metric in card.metrics],
        "parameters": card.params,
        "bytes": card.bytes,
        "license": card.license,
        "source": card.source,
    }


def _without_blanks(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _of_arch(name: str, cards: tuple[Card, ...]) -> dict[str, Any]:
    return {"name": name, "weights": [card.name for card in cards]}


def _card_cells(card: Card) -> tuple[str, ...]:
    download = card.files[0].url is not None
    return (
        card.name,
        f"{card.metrics[0].value}, {card.metrics[0].dataset}" if card.metrics else "-",
        f"{card.params / 1e6:.1f} M",
        f"{card.bytes / 1e6:.1f} MB" if download else "included",
        card.license,
    )
