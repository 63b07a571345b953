"""`zoo info NAME`: what is known about a model, a set of weights or a run."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from cli.text import table

if TYPE_CHECKING:
    from hub import Card
    from hub.cards import CardMetric


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = "Show what is known about a model, a set of weights, or a run's results."
    parser.add_argument(
        "name", metavar="NAME", help="a name from `zoo list`, or a run's folder or weights file"
    )


def run(args: argparse.Namespace) -> int:
    """Print it."""
    from pathlib import Path

    import hub
    import zoo

    if args.name in hub.load_cards():
        lines = _card(hub.get_card(args.name))
    elif Path(args.name).exists():
        lines = _run(Path(args.name))
    else:
        lines = _arch(zoo.registry.get_arch(args.name), hub.cards_for(args.name))
    print("\n".join(lines))
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


def _run(path: Any) -> list[str]:
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
    facts: dict[str, Any] = {k: v if k == "format" else json.loads(v) for k, v in metadata.items()}
    result, classes = facts["result"], facts["classes"]
    rows = [
        ("model", facts["arch"]),
        ("started from", facts["source"]["name"]),
        ("of SHA-256", facts["source"]["sha256"] or "-"),
        ("classes", ", ".join(classes[:20]) + (", ..." if len(classes) > 20 else "")),
        ("accuracy", f"{result['val_accuracy']:.2%} after epoch {result['epoch']}"),
        ("pictures", f"{facts['data']['pictures']} ({facts['data']['fingerprint'][:16]})"),
        ("settings", ", ".join(f"{k} {v}" for k, v in facts["recipe"].items())),
        ("versions", ", ".join(f"{k} {v}" for k, v in facts["versions"].items())),
    ]
    width = max(len(name) for name, _ in rows)
    return [str(file), *(f"  {name:<{width}}  {value}" for name, value in rows)]
