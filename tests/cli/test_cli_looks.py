"""How things look on a terminal: widths, colours, progress."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import hub.progress
from cli.text import coloured, folded, paint, table
from hub.progress import progress_bar
from zoo.train.report import class_table

ESCAPE = "\x1b"
Zoo = Callable[..., "subprocess.CompletedProcess[str]"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_table_that_fits_is_left_alone() -> None:
    rows = [("a" * 20, "b c"), ("x", "y")]
    assert table(("name", "what"), rows, width=40) == [
        "name                  what",
        "aaaaaaaaaaaaaaaaaaaa  b c",
        "x                     y",
    ]


def test_a_table_that_does_not_fit_is_wrapped_between_words() -> None:
    lines = table(("name", "what", "more"), [("n" * 12, "two words", "three little words")], 32)
    assert max(map(len, lines)) <= 32
    assert " ".join(line[14:].strip() for line in lines[1:]).split() != []
    words = {word for line in lines for word in line.split()}
    assert {"n" * 12, "two", "words", "three", "little"} <= words


def test_names_stay_whole_whatever_the_width() -> None:
    name = "a-rather-long-name-of-something"
    lines = table(("name", "what"), [(name, "x" * 60)], width=40)
    assert lines[1].startswith(name)
    assert "".join(line[len(name) :].strip() for line in lines[1:]) == "x" * 60


def test_a_row_of_empty_cells_is_a_line() -> None:
    assert table(("a", "b"), [("", "")], width=10) == ["a  b", ""]


@pytest.mark.parametrize(
    "command",
    [("list",), ("list", "--pretrained"), ("doctor",), ("--help",)]
    + [(command, "--help") for command in ("finetune", "evaluate", "download", "demo")],
)
def test_what_commands_print_fits_80_columns(
    zoo: Zoo, environment: dict[str, str], command: tuple[str, ...]
) -> None:
    del environment["COLUMNS"]
    lines = zoo(*command).stdout.splitlines()
    # A long path stays whole, for whoever copies it, on a line of its own.
    assert lines
    assert [line for line in lines if len(line) > 80 and len(line.split()[-1]) < 50] == []


def test_the_table_of_classes_fits_80_columns_with_the_longest_names() -> None:
    lines = class_table(["n" * 200, "m"], [(999_999, 999_999), (1, 2)])
    assert max(map(len, lines)) <= 80
    assert "…" in lines[1]


def test_text_is_folded_and_long_words_stay_whole() -> None:
    path = "/a/very/long/path/that/somebody/will/copy"
    lines = folded(f"look at {path} first", "  ", 30)
    assert f"  {path}" in lines and "  look at" in lines


def test_colours_are_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert coloured(Terminal()) and not coloured(io.StringIO())
    assert paint("x", "red", Terminal()) == "\x1b[31mx\x1b[0m"


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_colours_can_be_turned_off(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv(name, value)
    assert paint("x", "red", Terminal()) == "x"


def on_a_terminal(environment: dict[str, str], *command: str) -> str:
    """What a command writes to a terminal."""
    here, there = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "cli.main", *command],
        env={**environment, "TERM": "xterm"},
        stdin=subprocess.DEVNULL,
        stdout=there,
        stderr=there,
    ):
        os.close(there)
        seen = b""
        try:
            while piece := os.read(here, 65536):
                seen += piece
        except OSError:  # Linux's end of a terminal
            pass
    os.close(here)
    return seen.decode()


def test_doctor_has_colours_on_a_terminal_and_none_elsewhere(
    zoo: Zoo, environment: dict[str, str]
) -> None:
    assert ESCAPE in on_a_terminal(environment, "doctor")
    assert ESCAPE not in zoo("doctor").stdout
    assert ESCAPE not in on_a_terminal({**environment, "NO_COLOR": "1"}, "doctor")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What the bar takes for the time; may be set."""
    now = [1000.0]
    monkeypatch.setattr("tqdm.std.time", lambda: now[0])
    monkeypatch.setattr(hub.progress.time, "time", lambda: now[0])
    monkeypatch.setattr(hub.progress.time, "monotonic", lambda: now[0])
    return now


def test_a_log_gets_a_whole_line_every_half_minute(
    monkeypatch: pytest.MonkeyPatch, clock: list[float]
) -> None:
    log = io.StringIO()
    monkeypatch.setattr(sys, "stderr", log)
    with progress_bar(total=1000, desc="features", unit=" views", leave=False) as bar:
        for _ in range(100):
            clock[0] += 1
            bar.update(10)
    lines = log.getvalue().splitlines()
    assert len(lines) == 3  # after 30, 60 and 90 seconds
    assert lines[0].startswith("features 30%, 300/1000 views, 00:30")
    assert "\r" not in log.getvalue() and ESCAPE not in log.getvalue()


def test_a_log_gets_nothing_from_what_is_quick(
    monkeypatch: pytest.MonkeyPatch, clock: list[float]
) -> None:
    log = io.StringIO()
    monkeypatch.setattr(sys, "stderr", log)
    with progress_bar(total=10, desc="checking", leave=False) as bar:
        for _ in range(10):
            clock[0] += 1
            bar.update(1)
        bar.set_description("checking, validating")
        with type(bar).external_write_mode():
            pass  # where a bar on a terminal would step aside and come back
    assert log.getvalue() == ""


def test_a_terminal_gets_a_bar_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with progress_bar(total=10, desc="features", leave=False, mininterval=0) as bar:
        bar.update(5)
    assert "\rfeatures:" in screen.getvalue() and " 50%" in screen.getvalue()
    assert "\n" not in screen.getvalue()


def test_a_notebook_gets_a_bar_without_widgets(monkeypatch: pytest.MonkeyPatch) -> None:
    output = io.StringIO()  # as in a notebook: no terminal
    monkeypatch.setattr(sys, "stderr", output)

    class Shell:
        kernel = object()

    class IPython:
        @staticmethod
        def get_ipython() -> Shell:
            return Shell()

    monkeypatch.setitem(sys.modules, "IPython", IPython)  # type: ignore[arg-type]
    with progress_bar(total=10, desc="features", leave=False, mininterval=0) as bar:
        bar.update(5)
    assert " 50%" in output.getvalue()


def test_nothing_is_shown_where_nothing_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with progress_bar(show=False, total=10, desc="features") as bar:
        bar.update(10)
    assert screen.getvalue() == ""


def test_a_run_in_a_log_has_no_bars_and_its_table_fits_80_columns(
    zoo: Zoo, environment: dict[str, str], two_classes: Path, settings: tuple[str, ...]
) -> None:
    del environment["COLUMNS"]
    result = zoo("finetune", "resnet20", "--data", two_classes, "--no-report", *settings)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    assert "\r" not in result.stdout and ESCAPE not in result.stdout
    rows = re.findall(r"^ *(?:epoch|\d+/\d+) .*", result.stdout, re.MULTILINE)
    assert len(rows) == 4 and max(map(len, rows)) <= 80
