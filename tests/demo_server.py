"""The real `zoo demo` in a process of its own, and requests to it."""

from __future__ import annotations

import http.client
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from PIL import Image

import cli

PAGE = {"X-Zoo": "page"}


@dataclass
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> str:
        return str(self.json["error"])

    @property
    def events(self) -> list[tuple[str, Any]]:
        """(name, value) of server-sent events."""
        found = []
        for block in self.body.decode().split("\n\n")[:-1]:
            name, data = block.split("\n")
            found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
        return found


@dataclass
class Demo:
    """A page that is being served."""

    address: str
    port: int
    folder: Path
    process: subprocess.Popen[str]

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        connection = self.connect()
        try:
            sent = {**(PAGE if method == "POST" else {}), **(headers or {})}
            connection.request(method, path, body, sent)
            reply = connection.getresponse()
            return Answer(reply.status, dict(reply.getheaders()), reply.read())
        finally:
            connection.close()

    def key(self, name: str) -> str:
        """What the page calls a model."""
        offers = self.ask("GET", "/api/state").json["offers"]
        return str(next(offer["key"] for offer in offers if offer["name"] == name))

    def look(
        self, data: bytes, name: str = "a.png", model: str = "resnet20", more: str = ""
    ) -> Answer:
        path = f"/api/look?model={self.key(model)}&name={quote(name, safe='')}{more}"
        return self.ask("POST", path, data)

    def write(self, model: str = "gpt_shakespeare", **settings: Any) -> Answer:
        wanted = {"model": self.key(model), **settings}
        return self.ask("POST", "/api/write", json.dumps(wanted).encode())


def _hear_ctrl_c() -> None:
    # Where the tests are a background job of a shell, that is switched off for all its children.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def serving(folder: Path, runs: Sequence[str | Path] = ()) -> Iterator[Demo]:
    """`zoo demo RUNS...` in a folder, with an empty cache and no network, on a free port."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(cli.__file__).parents[1]),
        "ZOO_HOME": str(folder / "zoo-home"),
        "ZOO_OFFLINE": "1",
        "ZOO_NUM_THREADS": "1",
    }
    command = [sys.executable, "-m", "cli.main", "demo", "--port", "0", "--no-browser"]
    process = subprocess.Popen(
        [*command, *map(str, runs)], cwd=folder, env=environment, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=_hear_ctrl_c,
    )  # fmt: skip
    try:
        assert process.stdout is not None and process.stderr is not None
        address = process.stdout.readline().split()[:1]
        assert address, process.stderr.read()
        yield Demo(address[0], int(address[0].rstrip("/").rpartition(":")[2]), folder, process)
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.communicate(timeout=60)
        finally:
            process.kill()
            process.wait()


def picture(side: int = 48, kind: str = "PNG", seed: int = 0) -> bytes:
    """The file of a noisy picture."""
    pixels = np.random.default_rng(seed).integers(0, 256, (side, side, 3), dtype=np.uint8)
    return file_of(Image.fromarray(pixels), kind)


def file_of(image: Image.Image, kind: str = "PNG") -> bytes:
    """An image as the content of a file."""
    buffer = io.BytesIO()
    image.save(buffer, kind)
    return buffer.getvalue()
