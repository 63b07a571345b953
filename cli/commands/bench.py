"""`zoo bench`: this machine's figures beside the published ones."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from cli.text import folded, table

if TYPE_CHECKING:
    from zoo.bench import Figure

_DESCRIPTION = """\
Time a few pieces of work on this machine, in less than a minute, and print them beside the figures
that were measured on a named one. Weights are random: nothing is downloaded."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = _DESCRIPTION
    parser.add_argument("--json", action="store_true", help="print one JSON object instead")


def run(args: argparse.Namespace) -> int:
    """Print the figures."""
    from zoo.bench import machine, measure, published

    here = machine()

    def say(name: str) -> None:
        print(f"{name} ...", file=sys.stderr, flush=True)

    figures = list(measure(say))
    if args.json:
        rows = [figure.to_dict() for figure in figures]
        print(json.dumps({"machine": here, "figures": rows}, indent=2, ensure_ascii=False))
        return 0
    stored = published()
    print("\n".join(_lines(figures, here, stored)))
    return 0


def _lines(figures: list[Figure], here: dict[str, Any], stored: dict[str, Any]) -> list[str]:
    rows = [_row(figure, stored["figures"].get(figure.name)) for figure in figures]
    notes = [f"{figure.name}: left out, {figure.note}" for figure in figures if figure.note]
    return [
        *table(("work", "unit", "here", "published", "ratio"), rows),
        "",
        *folded(f"here: {_named(here)}"),
        *folded(f"published: {_named(stored['machine'])}"),
        *(line for note in notes for line in folded(note)),
    ]


def _row(figure: Figure, other: dict[str, Any] | None) -> tuple[str, ...]:
    there = other["value"] if other else None
    ratio = figure.value / there if figure.value and there else None
    cells = [_number(value) for value in (figure.value, there)]
    return figure.name, figure.unit, *cells, "-" if ratio is None else f"{ratio:.2f}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}" if value < 100 else f"{value:.0f}"


def _named(facts: dict[str, Any]) -> str:
    busy = facts["load"] is not None and facts["load"] > 0.5 * facts["cpus"]
    load = f", while other programs ran (load {facts['load']})" if busy else ""
    return (
        f"{facts['processor']}, {facts['cpus']} CPUs, {facts['threads']} threads, "
        f"{facts['instruction_set']}, zoo {facts['zoo']}{load}"
    )
