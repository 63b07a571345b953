"""Every way a server can misbehave, on a cold cache and with a part from before.

Each ends with the right bytes under the final name, or with an error and nothing there; either way
the next run, on a sound server, gets the right bytes.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import hub
from hub.policy import Policy
from tests.fake_faults import FAULTS
from tests.fake_server import FakeServer, etag, whole
from tests.hub.conftest import files_in, make_card, sha256

IMPATIENT = Policy(
    connect_seconds=2, read_seconds=0.15, attempts=3, pause_seconds=0.001,
    longest_pause_seconds=0.01,
)  # fmt: skip
BROKEN, CHANGED, FOREIGN = hub.DownloadError, hub.HashMismatch, hub.NotWeights
SHORT = hub.TruncatedDownload
# What comes of a fault that happens once, and of one that stays, on a cold cache; "whole" means the
# right bytes. A pair where a part from before makes a difference: (cold, with a part).
OUTCOMES: dict[str, tuple[object, object]] = {
    "closes at once": ("whole", BROKEN),
    "another protocol": ("whole", BROKEN),
    "no status line": ("whole", BROKEN),
    "headers cut off": ("whole", SHORT),
    "a header without end": ("whole", BROKEN),
    "too many headers": ("whole", BROKEN),
    "short body": ("whole", SHORT),
    "connection reset": ("whole", SHORT),
    "100 Continue without end": ("whole", BROKEN),
    "headers that drip": ("whole", SHORT),
    "silent from the start": ("whole", BROKEN),
    "silent behind the headers": ("whole", BROKEN),
    "silent half-way": ("whole", "whole"),
    "trickles": ("whole", BROKEN),
    "chunked": ("whole", "whole"),
    "chunked, broken off": ("whole", SHORT),
    "chunked, sizes that are none": ("whole", SHORT),
    "chunked, ends too early": ("whole", CHANGED),
    "chunked without end": ("whole", SHORT),
    "HTTP/1.0 without length": ("whole", "whole"),
    "HTTP/1.0 without length, short": ("whole", CHANGED),
    "length too large": ("whole", SHORT),
    "length too small": (CHANGED, CHANGED),
    "length is no number": ("whole", "whole"),
    "length has thousands of digits": ("whole", "whole"),
    "two lengths": (BROKEN, BROKEN),
    "negative length": ("whole", "whole"),
    "ranges ignored": ("whole", "whole"),
    "206 before the place": ("whole", "whole"),
    "206 behind the place": ("whole", BROKEN),
    "206 without Content-Range": ("whole", BROKEN),
    "206 with nonsense in Content-Range": ("whole", BROKEN),
    "206 of many parts": ("whole", BROKEN),
    "206 of another size": ("whole", SHORT),
    "206 of another version": ((CHANGED, "whole"), CHANGED),
    "206 of another version under the old ETag": ((CHANGED, "whole"), CHANGED),
    "206 in small pieces": ("whole", "whole"),
    "416": ("whole", BROKEN),
    "416 with a size": ("whole", BROKEN),
    "gzip": ("whole", "whole"),
    "gzip, broken off": ("whole", SHORT),
    "gzip that is none": (BROKEN, BROKEN),
    "another file": (CHANGED, CHANGED),
    "one bit": ((CHANGED, "whole"), CHANGED),
    "web page": (FOREIGN, FOREIGN),
    "Git LFS pointer": (FOREIGN, FOREIGN),
    "JSON": (FOREIGN, FOREIGN),
    "empty": (FOREIGN, FOREIGN),
    "204": (BROKEN, BROKEN),
    "304": (BROKEN, BROKEN),
    "302 to nowhere": (BROKEN, BROKEN),
    "302 in a circle": ("whole", BROKEN),
    "302 to a file": (BROKEN, BROKEN),
    "302 to no address": (BROKEN, BROKEN),
    "403 with a page": (BROKEN, BROKEN),
    "404 with a page": (BROKEN, BROKEN),
    "500 with a page": ("whole", BROKEN),
    "503, come back in a year": ("whole", BROKEN),
    "429, come back ²": ("whole", BROKEN),
}


@pytest.fixture(scope="module")
def body() -> bytes:
    return np.random.default_rng(0).bytes(200_000)


def put_part(home: Path, url: str, body: bytes) -> None:
    """What a download leaves that was broken off at 120,000 bytes."""
    part = home / "parts" / f"{sha256(body)}.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(body[:120_000])
    notes = {"url": url, "etag": etag(body), "total": len(body)}
    part.with_suffix(".json").write_text(json.dumps(notes))


def outcome(url: str, body: bytes) -> object:
    """ "whole", or the type of the error."""
    card = make_card({"url": url, "sha256": sha256(body)})
    try:
        content = hub.fetch(card, policy=IMPATIENT, progress=False).path.read_bytes()
    except hub.HubError as error:
        return type(error)
    assert content == body
    return "whole"


@pytest.mark.parametrize("resumed", [False, True], ids=["cold", "resumed"])
@pytest.mark.parametrize("stays", [False, True], ids=["once", "stays"])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_ends_with_the_right_bytes_or_with_none(
    fault: str, stays: bool, resumed: bool, server: FakeServer, home: Path, body: bytes
) -> None:
    url = server.add("/w.pth", body, FAULTS[fault], *([] if stays else [whole()]))
    if resumed:
        put_part(home, url, body)
    expected = OUTCOMES[fault][stays]
    if isinstance(expected, tuple):
        expected = expected[resumed]
    assert outcome(url, body) == expected
    stored = [name for name in files_in(home.parent) if "blobs" in name]
    assert stored == ([f"cache/blobs/{sha256(body)}"] if expected == "whole" else [])
    server.add("/w.pth", body)
    assert outcome(url, body) == "whole"


def test_every_fault_has_an_outcome() -> None:
    assert FAULTS.keys() == OUTCOMES.keys()


def test_a_body_without_end_stops_at_the_size_of_the_card(
    server: FakeServer, home: Path, body: bytes
) -> None:
    url = server.add("/w.pth", body, FAULTS["chunked without end"])
    card = make_card({"url": url, "sha256": sha256(body), "bytes": len(body)})
    with pytest.raises(hub.HashMismatch, match="sends more than 200,000 bytes"):
        hub.fetch(card, policy=IMPATIENT)


def test_a_body_without_end_stops_well_above_an_approximate_size(
    server: FakeServer, home: Path, body: bytes
) -> None:
    url = server.add("/w.pth", body, FAULTS["chunked without end"])
    card = make_card({"url": url, "sha256": sha256(body), "bytes_approx": len(body)})
    with pytest.raises(hub.HashMismatch, match="sends more than 1,250,000 bytes"):
        hub.fetch(card, policy=IMPATIENT)


def test_a_416_behind_the_last_byte_is_recognised_as_the_end(
    server: FakeServer, home: Path, body: bytes
) -> None:
    # Killed behind the last byte, of a file whose length nobody had announced.
    part = home / "parts" / f"{sha256(body)}.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(body)
    url = server.add("/w.pth", body)
    assert outcome(url, body) == "whole"
    assert [r.headers.get("Range") for r in server.requests] == ["bytes=200000-"]
