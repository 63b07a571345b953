"""Downloads that are killed, and many at once."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import hub
from tests.benchmarks.download import measure
from tests.fake_server import FakeServer, slow, whole
from tests.hub.conftest import FAST, card_text, files_in, make_card, sha256

ROOT = Path(__file__).parents[2]
FETCH = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
import hub, requests, filelock, tqdm
from hub.cards import parse_card
from hub.policy import Policy
card = parse_card(sys.argv[1], "tiny.test")
print("ready", flush=True)
sys.stdin.readline()
print(hub.fetch(card, policy=Policy(pause_seconds=0.01)).sha256, flush=True)
"""


def start(url: str, body: bytes) -> subprocess.Popen[str]:
    """A process that fetches once it is told to (`go`), its imports behind it."""
    card = card_text({"url": url, "sha256": sha256(body)})
    return subprocess.Popen(
        [sys.executable, "-c", FETCH, card],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def go(*processes: subprocess.Popen[str]) -> None:
    for process in processes:
        assert process.stdout and process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin
        process.stdin.write("\n")
        process.stdin.flush()


def test_eight_processes_at_once_download_once(server: FakeServer, home: Path, body: bytes) -> None:
    url = server.add("/w.pth", body, slow(50_000, 0.05))
    processes = [start(url, body) for _ in range(8)]
    go(*processes)
    outputs = [process.communicate(timeout=60) for process in processes]
    assert [(process.returncode, out) for process, (out, _) in zip(processes, outputs, strict=True)
            ] == [(0, f"{sha256(body)}\n")] * 8, outputs  # fmt: skip
    assert len(server.requests) == 1
    assert [f for f in files_in(home) if not f.startswith("stamps/")] == [f"blobs/{sha256(body)}"]


def killed_at(seconds: float, url: str, body: bytes) -> None:
    process = start(url, body)
    go(process)
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=30)


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX")
@pytest.mark.parametrize("kills", [4, pytest.param(50, marks=pytest.mark.slow)])
def test_a_killed_download_leaves_nothing_that_the_next_run_trusts(
    server: FakeServer, home: Path, body: bytes, kills: int
) -> None:
    # Each takes about 0.15 s, so some are killed before the first byte, some behind the last.
    dice = random.Random(kills)
    url = server.add("/w.pth", body, slow(50_000, 0.01))
    blob = home / "blobs" / sha256(body)
    done = 0
    for _ in range(kills):
        killed_at(dice.uniform(0, 0.25), url, body)
        if blob.exists():
            # Under its final name it is whole, whenever that was.
            assert blob.read_bytes() == body
            done += 1
            blob.unlink()
    if kills >= 50:
        assert 0 < done < kills
    server.add("/w.pth", body, whole())
    card = make_card({"url": url, "sha256": sha256(body)})
    assert hub.fetch(card, policy=FAST).path.read_bytes() == body


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX")
def test_a_lock_of_a_killed_process_holds_nobody_up(
    server: FakeServer, home: Path, body: bytes
) -> None:
    url = server.add("/w.pth", body, slow(10_000, 0.1), whole())
    process = start(url, body)
    go(process)
    while not (home / "locks").is_dir() or not files_in(home / "locks"):
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=30)
    began = time.monotonic()
    card = make_card({"url": url, "sha256": sha256(body)})
    assert hub.fetch(card, policy=FAST).path.read_bytes() == body
    assert time.monotonic() - began < 30  # the lock itself would hold for an hour


@pytest.mark.slow
def test_a_verified_download_is_as_quick_as_curl_and_sha256sum() -> None:
    # For a gigabyte: python -m tests.benchmarks.download
    best = measure(megabytes=200, times=3)
    (others, _), (own, _) = best["curl + sha256sum"], best["hub"]
    assert own <= others / 0.8
