"""`zoo bench`: what it measures, and how it is laid beside the published figures."""

from __future__ import annotations

import json
import time

import pytest

from cli.commands.bench import _lines, _named
from cli.main import main
from zoo import bench
from zoo.bench import Figure

QUICK = (
    bench._Row("sleeping", "naps/s", 1, lambda: lambda: time.sleep(0.01), 3, 0),
    bench._Row("everything", "GB/s", 1, lambda: pytest.fail("there is no room"), 3, 1e18),
)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "_ROWS", QUICK)


def test_a_figure_is_the_amount_of_a_second(quick: None) -> None:
    figure = next(bench.measure())
    assert figure.value is not None and 50 < figure.value < 100
    assert figure.rounds == 3 and figure.seconds == pytest.approx(1 / figure.value)


def test_rounds_end_with_the_time_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = bench._Row("slow", "x/s", 1, lambda: lambda: time.sleep(0.05), 100, 0)
    monkeypatch.setattr(bench, "_ROWS", (slow, slow))
    assert next(bench.measure(seconds=0.17)).rounds in (1, 2, 3)
    first, second = bench.measure(seconds=0.01, total=0.01)
    assert first.rounds == 1  # the first round took it all
    assert second.value is None and "came before" in second.note


def test_work_that_there_is_no_room_for_is_left_out_and_says_so(quick: None) -> None:
    figure = list(bench.measure())[1]
    assert figure.value is None and "GB of memory" in figure.note


def test_each_piece_of_work_is_published() -> None:
    stored = bench.published()
    assert list(stored["figures"]) == [row.name for row in bench._ROWS]
    assert all(figure["value"] > 0 for figure in stored["figures"].values())
    assert set(stored["machine"]) == set(bench.machine())


def test_the_work_is_the_work_that_is_named() -> None:
    # One row that is over in a moment; the others are networks.
    row = bench._ROWS[0]
    figure = bench._timed(row, 0.1)
    assert figure.unit == "GFLOP/s" and figure.value == pytest.approx(
        10 * 2 * 1024**3 / figure.seconds / 1e9
    )


def test_json_is_what_the_published_file_holds(
    quick: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "--json"]) == 0
    printed = capsys.readouterr()
    facts = json.loads(printed.out)
    assert facts.keys() == {"machine", "figures"}
    assert [row["name"] for row in facts["figures"]] == ["sleeping", "everything"]
    assert printed.err.splitlines() == ["sleeping ..."]


def test_the_table_fits_80_columns_and_shows_ratios(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    stored = bench.published()
    figures = [
        Figure(name, row["value"] / 2, row["unit"]) for name, row in stored["figures"].items()
    ]
    lines = _lines(figures, {**bench.machine(), "processor": "A processor " * 8}, stored)
    assert max(map(len, lines)) <= 80
    assert sum(line.endswith("0.50") for line in lines) == len(figures)


def test_a_busy_machine_is_told() -> None:
    facts = {**bench.machine(), "cpus": 2}
    assert "other programs" in _named({**facts, "load": 3.0})
    assert "other programs" not in _named({**facts, "load": 0.1})
    assert "other programs" not in _named({**facts, "load": None})
