"""Checkpoints survive kills, full disks and damage."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from zoo.train.checkpoint import Checkpoints
from zoo.train.errors import CannotSave


def save(checkpoints, step, epoch=0):
    return checkpoints.save(
        epoch, step, {"model/w": np.full(1000, step, np.float32)}, {"step": step}
    )


@pytest.fixture
def checkpoints(tmp_path):
    return Checkpoints(tmp_path / "last")


def test_the_newest_comes_back_with_its_state_and_tensors(checkpoints):
    save(checkpoints, 1)
    save(checkpoints, 2)
    newest = checkpoints.newest()
    assert newest.state == {"step": 2}
    assert newest.tensors("model")["w"][0] == 2


def test_a_later_epoch_is_newer_at_the_same_step(checkpoints):
    save(checkpoints, 5, epoch=0)
    path = save(checkpoints, 5, epoch=1)
    assert checkpoints.newest().path == path


def test_there_is_none_in_an_absent_folder(checkpoints):
    assert checkpoints.newest() is None


def test_two_are_kept(checkpoints):
    for step in range(4):
        save(checkpoints, step)
    assert len(list(checkpoints.folder.iterdir())) == 2


@pytest.mark.parametrize("damage", ["cut", "flipped bit", "emptied"])
def test_a_damaged_one_is_passed_over_for_the_one_before(checkpoints, damage):
    save(checkpoints, 1)
    path = save(checkpoints, 2)
    content = bytearray(path.read_bytes())
    if damage == "cut":
        content = content[: len(content) // 2]
    elif damage == "emptied":
        content = bytearray()
    else:
        content[-1] ^= 1
    path.write_bytes(content)
    assert checkpoints.newest().state == {"step": 1}


def test_leftovers_of_a_killed_writer_are_ignored_and_then_removed(checkpoints):
    save(checkpoints, 1)
    leftover = checkpoints.folder / ".writing.safetensors.x1y2.aside"
    leftover.write_bytes(b"half of a checkpoint")
    assert checkpoints.newest().state == {"step": 1}
    save(checkpoints, 2)
    assert not leftover.exists()


def test_state_of_the_optimizer_comes_back_by_name_and_slot(checkpoints):
    tensors = {"optimizer/fc.bias/exp_avg": np.ones(2), "optimizer/fc.bias/step": 3}
    checkpoints.save(0, 1, tensors, {})
    state = checkpoints.newest().nested("optimizer")
    assert set(state["fc.bias"]) == {"exp_avg", "step"}
    assert int(state["fc.bias"]["step"]) == 3


WRITER = """
import sys
from pathlib import Path
import numpy as np
from zoo.train.checkpoint import Checkpoints
checkpoints = Checkpoints(Path(sys.argv[1]))
for step in range(1, 100_000):
    values = np.full(50_000, step, np.float32)
    checkpoints.save(0, step, {"model/w": values}, {"step": step})
    print(step, flush=True)
"""


def test_a_kill_at_any_moment_of_saving_loses_no_finished_checkpoint(tmp_path, python_env):
    seed = random.randrange(2**32)
    rng = random.Random(seed)
    for attempt in range(12):
        folder = tmp_path / f"run{attempt}"
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(folder)], stdout=subprocess.PIPE, env=python_env
        )
        reported = int(writer.stdout.readline())  # the first checkpoint is complete
        time.sleep(rng.uniform(0, 0.05))
        writer.send_signal(signal.SIGKILL)
        rest = writer.communicate()[0].split()
        reported = int(rest[-1]) if rest else reported
        newest = Checkpoints(folder).newest()
        assert newest is not None and newest.state["step"] >= reported, f"seed {seed}"
        assert (newest.tensors("model")["w"] == newest.state["step"]).all(), f"seed {seed}"


def test_a_full_disk_is_reported_and_the_checkpoint_before_is_intact(checkpoints):
    resource = pytest.importorskip("resource")
    save(checkpoints, 1)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, before[1]))
    try:
        with pytest.raises(CannotSave, match="no room"):
            save(checkpoints, 2)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert checkpoints.newest().state == {"step": 1}
    assert len(os.listdir(checkpoints.folder)) == 1
