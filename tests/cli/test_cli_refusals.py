"""Input that cannot work is refused before work starts, and nothing is left behind."""

from __future__ import annotations

import io
import json
import os
import pickle
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

import hub


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, by relative path."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def refused(zoo, tmp_path):
    """Check that a command fails cleanly; returns its error text."""

    def refused(*arguments, code=1):
        before = contents(tmp_path)
        result = zoo(*arguments)
        assert result.returncode == code, result.stdout + result.stderr
        assert "Traceback" not in result.stderr and "internal error" not in result.stderr
        assert contents(tmp_path) == before
        assert not (tmp_path / "runs").exists()
        return result.stderr

    return refused


def test_an_absent_folder(refused):
    assert "nowhere" in refused("finetune", "resnet20", "--data", "nowhere", "--weights", "none")


def test_an_empty_folder(refused, tmp_path):
    (tmp_path / "empty").mkdir()
    text = refused("finetune", "resnet20", "--data", "empty", "--weights", "none")
    assert "no pictures" in text and "one folder per class" in text


def test_a_file_instead_of_a_folder(refused, tmp_path):
    (tmp_path / "cats.zip").write_bytes(b"PK")
    assert "cats.zip" in refused("finetune", "resnet20", "--data", "cats.zip", "--weights", "none")


def test_one_class(refused, make_pictures):
    data = make_pictures({"red": 4})
    text = refused("finetune", "resnet20", "--data", data, "--weights", "none")
    assert "all of one class, 'red'" in text and "Add a folder" in text


def test_an_unknown_model_before_anything_else(refused):
    text = refused("finetune", "resnet5O", "--data", "nowhere", code=2)
    assert "resnet50" in text and "zoo list" in text


def test_a_folder_for_results_that_holds_something(refused, two_classes, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("irreplaceable")
    text = refused(
        "finetune", "resnet20", "--data", two_classes, "--weights", "none", "--out", "out"
    )
    assert "--resume out" in text and "--out out-2" in text


def test_a_folder_for_results_among_the_pictures(refused, two_classes):
    text = refused(
        "finetune", "resnet20", "--data", two_classes, "--weights", "none",
        "--out", two_classes / "run",
    )  # fmt: skip
    assert "for a class" in text


def test_weights_that_do_not_exist(refused, two_classes):
    text = refused("finetune", "resnet20", "--data", two_classes, "--weights", "gone.pth")
    assert "gone.pth" in text


def test_weights_of_another_model(refused, two_classes, tmp_path):
    hub.write_safetensors(tmp_path / "w.safetensors", {"a.weight": np.zeros((2, 2), np.float32)})
    text = refused("finetune", "resnet20", "--data", two_classes, "--weights", "w.safetensors")
    assert "w.safetensors does not fit" in text and "a.weight" in text


def test_weights_cut_short(refused, two_classes, tmp_path):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps({}))
        archive.writestr("archive/data/0", bytes(4000))
    (tmp_path / "cut.pth").write_bytes(buffer.getvalue()[:2000])
    text = refused("finetune", "resnet20", "--data", two_classes, "--weights", "cut.pth")
    assert "cut.pth" in text


class Hostile:
    """Unpickling it with Python's own reader would create the file `pwned`."""

    def __reduce__(self):
        return os.system, ("touch pwned",)


def test_weights_that_would_run_a_program(refused, two_classes, tmp_path):
    with zipfile.ZipFile(tmp_path / "hostile.pth", "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps({"fc.weight": Hostile()}, protocol=2))
        archive.writestr("archive/version", "3\n")
    text = refused("finetune", "resnet20", "--data", two_classes, "--weights", "hostile.pth")
    assert "system" in text
    assert not (tmp_path / "pwned").exists()


def test_weights_with_another_digest_than_the_card_says(zoo, two_classes, tmp_path):
    name = json.loads(zoo("list", "resnet18", "--json").stdout)[0]["weights"][0]
    file = hub.get_card(name).files[0]
    by_hand = tmp_path / "zoo-home" / "manual" / f"{name}.{file.format}"
    by_hand.parent.mkdir(parents=True)
    by_hand.write_bytes(b"not what was published")
    result = zoo("finetune", "resnet18", "--data", two_classes)
    assert result.returncode == 1
    assert file.digest in result.stderr and "Traceback" not in result.stderr
    assert not (tmp_path / "runs").exists()


def test_no_network_names_the_card_the_address_and_the_ways_out(
    zoo, two_classes, tmp_path, environment
):
    del environment["ZOO_OFFLINE"]
    # A proxy that is not there: the same on every machine, with a network or without.
    environment |= {"HTTPS_PROXY": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}
    started = time.monotonic()
    result = zoo("finetune", "resnet50", "--data", two_classes)
    assert time.monotonic() - started < 10
    assert result.returncode == 1
    card = hub.cards_for("resnet50")[0]
    for said in (card.name, card.files[0].url, "--weights PATH", "--weights none", "zoo-home"):
        assert said in result.stderr
    assert not (tmp_path / "runs").exists()
    home = tmp_path / "zoo-home"
    assert not home.exists() or contents(home) == {}


def limited(largest_file: int):
    """Let no file of a child process grow over that many bytes, like a disk that is full."""
    resource = pytest.importorskip("resource")
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))


def test_a_disk_without_room_for_the_first_checkpoint(zoo, two_classes, tmp_path):
    result = zoo(
        "finetune", "resnet20", "--data", two_classes, "--weights", "none", "--out", "new/run",
        preexec_fn=limited(500_000),
    )  # fmt: skip
    assert result.returncode == 1
    assert "no room" in result.stderr and "Traceback" not in result.stderr
    assert not (tmp_path / "new").exists()


def test_a_disk_that_fills_up_later_keeps_the_checkpoint_and_the_run_can_go_on(
    zoo, two_classes, tmp_path
):
    # Weights alone take 1.1 MB; with the optimizer's momentum a checkpoint takes 2.2 MB.
    arguments = ("--data", two_classes, "--weights", "none", "--epochs", "2", "--out", "run")
    result = zoo("finetune", "resnet20", *arguments, preexec_fn=limited(1_600_000))
    assert result.returncode == 1
    assert "no room" in result.stderr and "--resume run" in result.stderr
    resumed = zoo("finetune", "--resume", "run")
    assert resumed.returncode == 0, resumed.stderr
    assert (tmp_path / "run" / "summary.json").exists()


def test_a_real_full_file_system(zoo, two_classes, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1800k", "tmpfs", str(disk)], capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip("needs the right to mount a small file system")
    try:
        arguments = ("--data", two_classes, "--weights", "none", "--out", disk / "run")
        result = zoo("finetune", "resnet20", *arguments)
        assert result.returncode == 1
        assert "no room" in result.stderr
        assert len(list((disk / "run" / "last").iterdir())) == 1
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_nothing_to_resume(refused, tmp_path):
    (tmp_path / "run").mkdir()
    assert "no checkpoint" in refused("finetune", "--resume", "run")


def test_predict_and_evaluate_want_a_run(refused, two_classes):
    assert "no such run" in refused("predict", "nowhere", two_classes / "red" / "0.png")
    assert "no such run" in refused("evaluate", "nowhere", "--data", two_classes)


def test_python_itself_would_have_run_the_hostile_file(tmp_path):
    """The file above is hostile indeed, so that its test cannot pass for a dull reason."""
    code = "import pickle, sys; pickle.loads(sys.stdin.buffer.read())"
    subprocess.run(
        [sys.executable, "-c", code], input=pickle.dumps(Hostile()), cwd=tmp_path, check=True
    )
    assert (tmp_path / "pwned").exists()
