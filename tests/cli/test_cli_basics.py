"""Help, versions, usage errors, and the plain reading commands."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from cli.main import COMMANDS


def test_help_names_every_command(zoo):
    result = zoo("--help")
    assert result.returncode == 0
    for command in COMMANDS:
        assert f"\n    {command}" in result.stdout


def test_help_is_quick(zoo):
    # Processor time, which other work on the machine does not change; the best of a few.
    seconds = []
    for _ in range(3):
        before = os.times()
        zoo("--help")
        after = os.times()
        spent = (after.children_user, after.children_system)
        seconds.append(sum(spent) - before.children_user - before.children_system)
    assert min(seconds) < 0.25


def test_help_loads_nothing_heavy(environment):
    code = (
        "import sys; from cli.main import build_parser; build_parser(['--help']).format_help(); "
        "print(*{'numpy', 'engine', 'hub', 'zoo', 'PIL', 'requests'} & set(sys.modules))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == ""


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_help(zoo, command):
    result = zoo(command, "--help")
    assert result.returncode == 0
    assert "usage: zoo" in result.stdout


def test_help_of_finetune_shows_defaults_for_both_kinds_of_start(zoo):
    assert "--epochs" in zoo("finetune", "--help").stdout


def test_version(zoo):
    result = zoo("--version")
    assert (result.returncode, result.stdout.split()[0]) == (0, "zoo")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "usage: zoo"),
        (["fly"], "invalid choice"),
        (["finetune"], "needs MODEL"),
        (["finetune", "resnet20"], "needs --data DIR"),
        (["finetune", "resnet20", "--data", "demo", "--epochs", "many"], "--epochs"),
        (["finetune", "resnet20", "--data", "demo", "--epochs", "0"], "epochs=0"),
        (["finetune", "resnet20", "--data", "demo", "--freeze", "ice"], "--freeze"),
        (["finetune", "resnet20", "--data", "demo", "--lr", "-1", "--weights", "none"], "lr=-1"),
        (["finetune", "--resume"], "--resume"),
        (["finetune", "--resume", "a", "--out", "b"], "leave out --out"),
        (["predict"], "RUN"),
    ],
)
def test_a_wrong_command_line_exits_2_and_says_what_is_wrong(zoo, arguments, says, tmp_path):
    result = zoo(*arguments)
    assert result.returncode == 2
    assert says in result.stderr
    assert "Traceback" not in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_list_prints_names_that_fit(zoo):
    names = [row["name"] for row in json.loads(zoo("list", "resnet5*", "--json").stdout)]
    assert "resnet50" in names and "resnet56" in names and "resnet18" not in names


def test_list_of_pretrained_weights_prints_what_is_known_of_them(zoo):
    rows = json.loads(zoo("list", "resnet50", "--pretrained", "--json").stdout)
    assert all(row["model"] == "resnet50" and row["bytes"] > 90_000_000 for row in rows)
    table = zoo("list", "resnet50", "--pretrained").stdout
    assert len(rows) >= 2 and all(row["name"] in table for row in rows)


def test_list_of_an_unknown_pattern_exits_1(zoo):
    result = zoo("list", "alexnet*")
    assert result.returncode == 1
    assert "zoo list" in result.stdout


def test_list_into_a_closed_pipe_is_no_error(start):
    with start("list") as process:
        process.stdout.close()
        assert process.stderr.read() == ""


def test_info_of_weights_prints_its_card(zoo):
    weights = json.loads(zoo("list", "resnet50", "--json").stdout)[0]["weights"][0]
    text = zoo("info", weights).stdout
    for fact in ("licence", "SHA-256", "https://", "25,557,032"):
        assert fact in text


def test_info_of_a_model_lists_its_weights(zoo):
    assert "default" in zoo("info", "resnet50").stdout


def test_info_of_an_unknown_name_suggests_near_ones(zoo):
    result = zoo("info", "resnet5O")
    assert result.returncode == 2
    assert "resnet50" in result.stderr


def test_debug_shows_where_a_failure_arose(zoo):
    result = zoo("info", "resnet5O", "--debug")
    assert result.returncode == 2
    assert "Traceback" in result.stderr
