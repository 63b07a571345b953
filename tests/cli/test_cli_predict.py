"""`zoo predict` and `zoo embed` over folders, patterns and streams."""

from __future__ import annotations

import csv
import io
import json
import subprocess

import numpy as np
import pytest


def test_json_csv_and_text_say_the_same_over_a_folder(zoo, run, two_classes):
    rows = json.loads(zoo("predict", "run", two_classes, "--json").stdout)
    assert [row["path"] for row in rows] == sorted(row["path"] for row in rows)
    assert len(rows) == 40
    table = list(csv.DictReader(io.StringIO(zoo("predict", "run", two_classes, "--csv").stdout)))
    for row, cells in zip(rows, table, strict=True):
        first, second = row["predictions"]
        assert cells["path"] == row["path"] and cells["error"] == ""
        assert (cells["class"], cells["class_2"]) == (first["class"], second["class"])
        assert float(cells["probability"]) == first["probability"]
    text = zoo("predict", "run", f"{two_classes}/*/1?.png", "--topk", "1").stdout.splitlines()
    assert text[0].endswith("10.png") and len(text) == 2 * 20


def test_paths_come_from_a_stream_and_bad_ones_are_noted(zoo, run, two_classes):
    lines = f"{two_classes}/red/0.png\nnowhere.png\n{two_classes}/blue/0.png\n"
    result = zoo("predict", "run", "-", "--csv", "--topk", "1", input_text=lines)
    assert result.returncode == 1
    assert "nowhere.png: No such file" in result.stderr
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert [row["error"] != "" for row in rows] == [False, True, False]
    assert list(rows[0]) == ["path", "class", "probability", "error"]


def test_no_pictures_make_an_empty_array(zoo, run):
    result = zoo("predict", "run", "-", "--json", input_text="")
    assert result.returncode == 0 and json.loads(result.stdout) == []


def test_json_and_csv_exclude_each_other(zoo, run, two_classes):
    assert zoo("predict", "run", two_classes, "--json", "--csv").returncode == 2


def test_embed_writes_features_and_names(zoo, run, two_classes, tmp_path):
    result = zoo("embed", "run", two_classes, "--out", "f.npy", "--batch-size", "7")
    assert result.returncode == 0, result.stderr
    assert "f.npy: 40 x 64" in result.stdout
    assert np.load(tmp_path / "f.npy").shape == (40, 64)
    assert len((tmp_path / "f.csv").read_text().splitlines()) == 41


@pytest.fixture
def zoo(start):
    """As the other `zoo`, with an input stream: zoo(..., input_text="a.jpg")."""

    def zoo(*arguments, input_text=None):
        process = start(*arguments, stdin=subprocess.PIPE)
        out, error = process.communicate(input_text, timeout=120)
        return subprocess.CompletedProcess(arguments, process.returncode, out, error)

    return zoo
