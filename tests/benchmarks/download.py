"""Speed of a verified download beside `curl` and then `sha256sum`, from a server on this machine.

    python -m tests.benchmarks.download [--megabytes 1000] [--times 3]

Prints seconds of wall clock and of processor, best of several, and the ratio of the two ways: above
1 the hub is faster. Needs curl and sha256sum, and room for three times the file.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import hub

_SERVER = """
import socket, sys
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
size = __import__("os").path.getsize(sys.argv[1])
while True:
    peer, _ = listener.accept()
    with peer, open(sys.argv[1], "rb") as file:
        if peer.recv(65536):  # a mere check that somebody is here sends nothing
            peer.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: %d\\r\\n\\r\\n" % size)
            peer.sendfile(file)
"""


def measure(megabytes: int, times: int) -> dict[str, tuple[float, float]]:
    """Best (wall, processor) seconds by way."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        digest = hashlib.sha256()
        with open(path, "wb") as f:
            for block in range(megabytes):
                piece = np.random.default_rng(block).bytes(1_000_000)
                digest.update(piece)
                f.write(piece)
        server = subprocess.Popen(
            [sys.executable, "-c", _SERVER, str(path)], stdout=subprocess.PIPE, text=True
        )
        try:
            assert server.stdout
            url = f"http://127.0.0.1:{int(server.stdout.readline())}/file"
            wanted = digest.hexdigest()
            ways = {
                "curl + sha256sum": lambda: _by_curl(url, Path(folder) / "copy", wanted),
                "hub": lambda: _by_hub(url, Path(folder) / "cache", wanted),
            }
            best = {name: (float("inf"), float("inf")) for name in ways}
            for _ in range(times):
                for name, way in ways.items():
                    wall, cpu = _seconds(way)
                    best[name] = min(best[name][0], wall), min(best[name][1], cpu)
            return best
        finally:
            server.kill()
            server.communicate()


def _by_curl(url: str, copy: Path, digest: str) -> None:
    subprocess.run(["curl", "-sS", "--noproxy", "*", "-o", copy, url], check=True)
    out = subprocess.run(["sha256sum", copy], check=True, capture_output=True, text=True).stdout
    assert out.startswith(digest)
    copy.unlink()


def _by_hub(url: str, home: Path, digest: str) -> None:
    os.environ |= {"ZOO_HOME": str(home), "NO_PROXY": "127.0.0.1"}
    hub.fetch_file(url, sha256=digest, progress=False).path.unlink()


def _seconds(way: Callable[[], None]) -> tuple[float, float]:
    before, began = _processor(), time.perf_counter()
    way()
    return time.perf_counter() - began, _processor() - before


def _processor() -> float:
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(u.ru_utime + u.ru_stime for u in map(resource.getrusage, kinds))


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--times", type=int, default=3)
    args = parser.parse_args()
    best = measure(args.megabytes, args.times)
    for name, (wall, cpu) in best.items():
        print(
            f"{name:<18} {wall:7.2f} s, {args.megabytes / wall:6.0f} MB/s, processor {cpu:6.2f} s"
        )
    (curl, curl_cpu), (own, own_cpu) = best["curl + sha256sum"], best["hub"]
    print(f"speed of the hub   {curl / own:.2f} of the other's, processor {curl_cpu / own_cpu:.2f}")


if __name__ == "__main__":
    main()
