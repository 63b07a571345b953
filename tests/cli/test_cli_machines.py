"""Ranks on two machines, which are two network namespaces joined by a cable that can be cut. Needs
Linux, root, and `ip` of iproute2."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        os.geteuid() != 0 or shutil.which("ip") is None, reason="needs root and iproute2"
    ),
]

HOSTS = {"10.77.0.1": "zoo-a", "10.77.0.2": "zoo-b"}
TIMEOUT = 5.0  # of ranks, seconds
BOUND = 20.0  # seconds after which all have ended, once a rank has waited for its time


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


def wait_for_link(machine: str, end: str) -> None:
    """The kernel takes a moment to see that a cable is in; MPI passes over an end without one."""
    state, deadline = "", time.monotonic() + 30
    while state != "up":
        assert time.monotonic() < deadline, f"{end} of {machine} is {state}"
        state = subprocess.run(
            ["ip", "netns", "exec", machine, "cat", f"/sys/class/net/{end}/operstate"],
            capture_output=True, text=True,
        ).stdout.strip()  # fmt: skip


@pytest.fixture
def cable(tmp_path):
    """Two machines; returns what runs a command in the place of ssh."""
    for name in HOSTS.values():
        subprocess.run(["ip", "netns", "del", name], capture_output=True)
        ip("netns", "add", name)
        ip("-n", name, "link", "set", "lo", "up")
    ip("link", "add", "zoo-va", "netns", "zoo-a", "type", "veth", "peer", "name", "zoo-vb",
       "netns", "zoo-b")  # fmt: skip
    for (address, name), end in zip(HOSTS.items(), ("zoo-va", "zoo-vb"), strict=True):
        ip("-n", name, "addr", "add", f"{address}/24", "dev", end)
        ip("-n", name, "link", "set", end, "up")
    for end, name in zip(("zoo-va", "zoo-vb"), HOSTS.values(), strict=True):
        wait_for_link(name, end)
    shell = tmp_path / "shell"
    shell.write_text(
        '#!/bin/sh\nwhile [ "${1#-}" != "$1" ]; do shift; done\nhost=$1; shift\n'
        "case $host in 10.77.0.1) name=zoo-a;; *) name=zoo-b;; esac\n"
        'exec ip netns exec $name sh -c "$*"\n'
    )
    shell.chmod(0o755)
    yield shell
    for name in HOSTS.values():
        for pid in subprocess.run(
            ["ip", "netns", "pids", name], capture_output=True, text=True
        ).stdout.split():
            subprocess.run(["kill", "-9", pid])
        ip("netns", "del", name)


def losses(run: Path) -> list[float]:
    path = run / "metrics.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    found = [json.loads(line) for line in lines if line.endswith("}")]
    return [row["loss"] for row in found if row["kind"] == "step"]


def ranks_in(name: str) -> list[str]:
    """Processes of ranks on a machine."""
    pids = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True).stdout
    found = []
    for pid in pids.split():
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        if b"cli.main" in words and b"--nproc" not in words and b"mpiexec" not in words:
            found.append(pid)
    return found


def test_a_machine_that_is_cut_off_ends_the_run_and_it_goes_on(
    cable, environment, two_classes, tmp_path
):
    hosts = tmp_path / "hosts"
    hosts.write_text("".join(f"{address}:1\n" for address in HOSTS))
    out = tmp_path / "run"
    across = {
        **environment,
        "HYDRA_LAUNCHER": "ssh",
        "HYDRA_LAUNCHER_EXEC": str(cable),
        "HYDRA_IFACE": "zoo-va",
        "UCX_TLS": "tcp,self",  # both run on one kernel: no short cut through its memory
    }
    command = ["ip", "netns", "exec", "zoo-a", sys.executable, "-m", "cli.main", "finetune"]
    started = ["resnet20", "--data", str(two_classes), "--weights", "none", "--epochs", "3",
               "--batch-size", "4", "--threads", "1", "--save-every", "2", "--no-report",
               "--rank-timeout", str(TIMEOUT), "--out", str(out)]  # fmt: skip
    ranks = ["--nproc", "2", "--hostfile", str(hosts)]
    with subprocess.Popen(
        [*command, *started, *ranks], env=across, cwd=tmp_path, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        deadline = time.monotonic() + 120
        while len(losses(out)) < 5:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert len(ranks_in("zoo-a")) == len(ranks_in("zoo-b")) == 1
        ip("-n", "zoo-b", "link", "set", "zoo-vb", "down")
        cut = time.monotonic()
        _, error = process.communicate(timeout=120)
    assert time.monotonic() - cut < TIMEOUT + BOUND
    assert process.returncode == 1
    assert "rank 0 of 2 waited 5 s for the others" in error, error
    while ranks_in("zoo-b") and time.monotonic() - cut < TIMEOUT + BOUND:
        time.sleep(0.1)
    assert not ranks_in("zoo-a") and not ranks_in("zoo-b")

    ip("-n", "zoo-b", "link", "set", "zoo-vb", "up")
    wait_for_link("zoo-b", "zoo-vb")
    resumed = subprocess.run(
        [*command, "--resume", str(out), "--no-report", *ranks],
        env=across, cwd=tmp_path, text=True, capture_output=True, timeout=300,
    )  # fmt: skip
    assert resumed.returncode == 0, resumed.stderr
    assert len(losses(out)) == 24 and np.isfinite(losses(out)).all()
