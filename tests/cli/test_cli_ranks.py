"""`--nproc N`: the real command on several processes, and what becomes of them when one fails."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import hub
from cli import ranks
from cli.errors import MissingExtra, UsageError

BOUND = 20.0  # seconds within which all ranks have ended once one has failed


def rows(run):
    path = run / "metrics.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("}")]


def column(run, kind, key):
    return [row[key] for row in rows(run) if row["kind"] == kind]


def processes_of(out):
    """Ranks and mpiexec of the run in `out`: who has its name on the command line."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if str(out).encode() in words and b"--nproc" not in words and state != "Z":
                found[int(entry.name)] = b"mpiexec" in words[0]
    return found


def rank_processes(out):
    return sorted(pid for pid, starts_others in processes_of(out).items() if not starts_others)


def wait_for_step(process, run, step):
    deadline = time.monotonic() + 90
    while not any(row["step"] >= step for row in rows(run)):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)


def nobody_left(out):
    deadline = time.monotonic() + 5
    while processes_of(out) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not processes_of(out)


SETTINGS = ("--weights", "none", "--epochs", "2", "--batch-size", "4", "--optimizer", "sgd",
            "--lr", "0.01", "--save-every", "3", "--threads", "1", "--no-report")  # fmt: skip


@pytest.fixture(scope="module")
def alone(tmp_path_factory, zoo_in, pictures_in):
    """(run, pictures): two epochs of 8 steps in one process. Not to be changed."""
    folder = tmp_path_factory.mktemp("alone")
    pictures = pictures_in(folder / "pictures", {"red": 20, "blue": 20})
    result = zoo_in(folder, "finetune", "resnet20", "--data", pictures, *SETTINGS, "--out", "run")
    assert result.returncode == 0, result.stderr
    return folder / "run", pictures


@pytest.fixture
def command(alone):
    """The same run, but for --out."""
    return ("finetune", "resnet20", "--data", alone[1], *SETTINGS)


def assert_same_steps(run, other):
    """As many steps, and the first ones with the same losses but for rounding: a rank's part of a
    batch may be convolved by another algorithm than all of it, and what this network makes of a
    small difference grows a hundredfold in three steps."""
    found, expected = column(run, "step", "loss"), column(other, "step", "loss")
    assert len(found) == len(expected) and np.isfinite(found).all()
    np.testing.assert_allclose(found[:4], expected[:4], rtol=1e-3)


def test_two_ranks_learn_what_one_process_learns(zoo, alone, command, tmp_path):
    done = zoo(*command, "--out", tmp_path / "two", "--nproc", "2")
    assert done.returncode == 0, done.stderr
    assert "2 ranks of 1 thread each" in done.stdout
    assert done.stdout.count("Validation accuracy") == 1
    assert {p.name for p in (tmp_path / "two").iterdir()} >= {"model.safetensors", "summary.json"}
    assert_same_steps(tmp_path / "two", alone[0])
    assert nobody_left(tmp_path / "two")


def test_a_language_model_on_two_ranks(zoo, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("".join(f"line {n} of the text, {n * n} and {n % 7}.\n" for n in range(300)))
    command = ("train", "--data", text, "--config", "nano", "--tokenizer", "bytes", "--epochs", "1")
    for name, more in (("alone", ()), ("two", ("--nproc", "2", "--shard-optimizer", "on"))):
        done = zoo(*command, "--out", tmp_path / name, *more)
        assert done.returncode == 0, done.stderr
    alone, two = tmp_path / "alone", tmp_path / "two"
    np.testing.assert_allclose(
        column(two, "step", "loss"), column(alone, "step", "loss"), rtol=1e-4
    )
    np.testing.assert_allclose(
        column(two, "epoch", "val_loss"), column(alone, "epoch", "val_loss"), rtol=1e-4
    )


def test_a_killed_rank_ends_all_and_the_run_goes_on_with_another_number(
    zoo, start, alone, command, tmp_path
):
    out = tmp_path / "killed"
    with start(*command, "--out", out, "--nproc", "2") as process:
        wait_for_step(process, out, 7)
        victim = rank_processes(out)[-1]
        os.kill(victim, signal.SIGKILL)
        killed = time.monotonic()
        _, error = process.communicate(timeout=60)
    assert time.monotonic() - killed < BOUND
    assert process.returncode == 1
    assert "was killed or crashed, so all were ended" in error
    assert f"zoo finetune --resume {out}" in error
    assert "BAD TERMINATION" not in error
    assert nobody_left(out)
    resumed = zoo("finetune", "--resume", out, "--no-report")
    assert resumed.returncode == 0, resumed.stderr
    assert_same_steps(out, alone[0])


def test_ctrl_c_stops_all_ranks_after_a_step_and_saves(start, command, tmp_path):
    out = tmp_path / "stopped"
    with start(*command, "--out", out, "--nproc", "2") as process:
        wait_for_step(process, out, 3)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert error.count("Stopping after this step") == 1
    assert error.count(f"zoo finetune --resume {out}") == 1
    assert nobody_left(out)
    newest = sorted((out / "last").glob("ckpt-*"))[-1]
    state = json.loads(hub.read_safetensors(newest)[1]["zoo.state"])
    assert len({tuple(pair) for pair in state["rng_of_ranks"]}) == 2


# Ranks that come to a third operation, or do not; see test_one_rank_in_trouble.
PROGRAM = """
import os, sys, time
import engine
from engine import distributed

group = distributed.init(timeout=float(sys.argv[2]))
for step in range(1, 4):
    if step == 3 and group.rank == 1:
        trouble = sys.argv[1]
        if trouble == "raises":
            raise ValueError("the third batch is broken")
        if trouble == "killed":
            os.kill(os.getpid(), 9)
        if trouble == "hangs":
            time.sleep(600)
    total = group.all_reduce(engine.ones(4), label="gradients of fc.weight")
    assert total.tolist()[0] == group.size
sys.exit(distributed.end(0))
"""


def mpiexec():
    return str(Path(sys.executable).with_name("mpiexec"))


def run_program(trouble, size, timeout, environment):
    started = time.monotonic()
    done = subprocess.run(
        [mpiexec(), "-n", str(size), sys.executable, "-c", PROGRAM, trouble, str(timeout)],
        env=environment, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    return done, time.monotonic() - started


# One that raises gives the others 2 s to fail as well: here they do so long before, or never.
@pytest.mark.parametrize(
    ("trouble", "size", "timeout", "said"),
    [
        ("none", 3, 20, None),
        ("raises", 3, 0.2, "ValueError: the third batch is broken"),
        ("raises", 3, 20, "ValueError: the third batch is broken"),
        ("killed", 2, 2, None),
        (
            "hangs",
            2,
            2,
            "rank 0 of 2 waited 2 s for the others in gradients of fc.weight; not there: rank 1 "
            "(process ",
        ),
    ],
)
def test_one_rank_in_trouble(environment, trouble, size, timeout, said):
    done, seconds = run_program(trouble, size, timeout, environment)
    assert (done.returncode == 0) == (trouble == "none"), done.stderr
    assert seconds < BOUND
    if said is not None:
        assert said in done.stderr
    if trouble == "raises":
        assert "rank 1 of 3:" in done.stderr and done.stderr.count("Traceback") == 1


def arguments(**given):
    return argparse.Namespace(
        **{"nproc": None, "hostfile": None, "resume": None, "out": None, **given}
    )


def test_flags_for_one_process_are_refused_with_nproc():
    with pytest.raises(UsageError, match="--plan: for one process only"):
        ranks.on_ranks(arguments(nproc=2), lambda: 0, refused=["--plan"])


def test_nproc_under_mpiexec_is_refused(monkeypatch):
    monkeypatch.setenv("PMI_RANK", "0")
    with pytest.raises(UsageError, match="leave it out under mpiexec and srun"):
        ranks.on_ranks(arguments(nproc=2), lambda: 0)


def test_processes_of_srun_that_do_not_know_each_other_are_refused(monkeypatch):
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "4")
    with pytest.raises(UsageError, match="--mpi=pmi2"):
        ranks.on_ranks(arguments(), lambda: 0)


def test_one_process_just_does_its_work():
    assert ranks.on_ranks(arguments(nproc=1), lambda: 7) == 7


def test_without_mpi_the_extra_is_named(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"pip install 'zoo\[mpi\]'"):
        ranks.on_ranks(arguments(nproc=2), lambda: 0)


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 3, 4])
def test_any_number_of_ranks_and_the_same_bits_twice(zoo, alone, command, tmp_path, size):
    for name in ("one", "other"):
        done = zoo(*command, "--out", tmp_path / name, "--nproc", size)
        assert done.returncode == 0, done.stderr
    one, other = tmp_path / "one", tmp_path / "other"
    assert (one / "model.safetensors").read_bytes() == (other / "model.safetensors").read_bytes()
    assert column(one, "step", "loss") == column(other, "step", "loss")
    assert_same_steps(one, alone[0])


@pytest.mark.slow
def test_20_kills_of_any_rank_at_any_moment(zoo, start, alone, command, tmp_path):
    moments = random.Random(0)
    for number in range(20):
        out = tmp_path / f"killed{number}"
        with start(*command, "--out", out, "--nproc", "2", "--save-every", "2") as process:
            wait_for_step(process, out, 1)
            time.sleep(3 * moments.random())
            victims = rank_processes(out)
            if victims:
                os.kill(moments.choice(victims), signal.SIGKILL)
            killed = time.monotonic()
            process.communicate(timeout=60)
        assert time.monotonic() - killed < BOUND
        assert nobody_left(out)
        resumed = zoo("finetune", "--resume", out, "--no-report", "--nproc", str(1 + number % 3))
        assert resumed.returncode == 0, resumed.stderr
        assert_same_steps(out, alone[0])


@pytest.mark.slow
def test_ranks_end_with_the_process_that_started_them(start, command, tmp_path):
    out = tmp_path / "run"
    with start(*command, "--out", out, "--nproc", "2") as process:
        wait_for_step(process, out, 2)
        process.kill()
        process.wait()
    assert nobody_left(out)
