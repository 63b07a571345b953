"""`zoo info NAME`: what is known about a model, a set of weights or a run."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from cli.text import table

if TYPE_CHECKING:
    from pathlib import Path

    from hub import Card
    from hub.cards import CardMetric


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = "Show what is known about a model, a set of weights, or a run's results."
    parser.add_argument(
        "name", metavar="NAME", help="a name from `zoo list`, or a run's folder or weights file"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead")


def run(args: argparse.Namespace) -> int:
    """Print it."""
    from pathlib import Path

    import hub
    import zoo

    row: dict[str, Any]
    if args.name in hub.load_cards():
        card = hub.get_card(args.name)
        lines, row = _card(card), asdict(card)
    elif Path(args.name).exists():
        file, row = _facts_of_run(Path(args.name))
        lines = _run(file, row)
    else:
        arch, cards = zoo.registry.get_arch(args.name), hub.cards_for(args.name)
        lines = _arch(arch, cards)
        row = {
            "name": arch.name,
            "family": arch.family,
            "designed_for": arch.config.designed_for,
            "weights": [asdict(card) for card in cards],
        }
    print(json.dumps(row, indent=2, ensure_ascii=False) if args.json else "\n".join(lines))
    return 0


def _arch(arch: Any, cards: tuple[Card, ...]) -> list[str]:
    lines = [f"{arch.name}: family {arch.family}, made for {arch.config.designed_for}"]
    if not cards:
        return [*lines, "No published weights; start with --weights none."]
    rows = [
        (
            card.name,
            card.metrics[0].value if card.metrics else "-",
            "default" if card.default else "",
        )
        for card in cards
    ]
    return [*lines, "", *table(("weights", "published result", ""), rows), "", *_card(cards[0])]


def _card(card: Card) -> list[str]:
    facts = [("model", card.arch), ("parameters", f"{card.params:,}")]
    if card.classes:
        facts.append(("classes", f"{card.classes.number} ({card.classes.labels})"))
    if card.input:
        given = card.input
        prepared = (
            f"shorter side to {given.resize} pixels ({given.interpolation}), central "
            f"{given.crop}x{given.crop}"
        )
        facts.append(("input", prepared))
    if card.text:
        given_text = f"up to {card.text.context:,} of {card.text.vocabulary:,} different tokens"
        facts.append(("input", f"{given_text} ({card.text.tokenizer} tokenizer)"))
    facts += [
        *((f"{_measure(m)} on {m.dataset}", _value(m)) for m in card.metrics),
        *(("file", f"{file.url or 'included: ' + str(file.packaged)}") for file in card.files),
        ("SHA-256", card.files[0].digest),
        ("licence", card.license),
        ("source", card.source),
    ]
    width = max(len(name) for name, _ in facts)
    return [card.name, *(f"  {name:<{width}}  {value}" for name, value in facts), "", card.prose]


def _measure(metric: CardMetric) -> str:
    return "perplexity" if metric.top1 is None else "top-1"


def _value(metric: CardMetric) -> str:
    if metric.top1 is None:
        return f"{metric.perplexity:g}"
    return f"{metric.top1:.3f}% at {metric.size} pixels"


def _facts_of_run(path: Path) -> tuple[Path, dict[str, Any]]:
    """The weights file of a run, and what it says of itself."""
    import hub
    from zoo.stored import RUN_WEIGHTS
    from zoo.train.errors import NotARun

    file = path / RUN_WEIGHTS if path.is_dir() else path
    metadata = hub.SafetensorsFile(file).metadata if file.is_file() else {}
    if "arch" not in metadata:
        raise NotARun(
            f"{path}: no run. Expected the folder that `zoo finetune` wrote to, or the "
            f"{RUN_WEIGHTS} in it."
        )
    return file, {k: v if k == "format" else json.loads(v) for k, v in metadata.items()}


_TABLES = {"settings": "recipe", "versions": "versions"}


def _run(file: Path, facts: dict[str, Any]) -> list[str]:
    def listed(table: dict[str, Any]) -> str:
        return ", ".join(f"{key} {value}" for key, value in table.items())

    rows = [("model", facts["arch"])]
    if "source" in facts:
        rows += [("started from", facts["source"]["name"])]
        rows += [("of SHA-256", facts["source"]["sha256"] or "-")]
    if "classes" in facts:
        classes = facts["classes"]
        rows += [("classes", ", ".join(classes[:20]) + (", ..." if len(classes) > 20 else ""))]
    result = facts.get("result", {})
    if "val_accuracy" in result:
        rows += [("accuracy", f"{result['val_accuracy']:.2%} after epoch {result['epoch']}")]
    elif result:
        rows += [("result", listed(result))]
    data = facts.get("data", {})
    if "pictures" in data:
        rows += [("pictures", f"{data['pictures']} ({data['fingerprint'][:16]})")]
    rows += [(f, listed(facts[k])) for f, k in _TABLES.items() if k in facts]
    width = max(len(name) for name, _ in rows)
    return [str(file), *(f"  {name:<{width}}  {value}" for name, value in rows)]
