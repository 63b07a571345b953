"""Downloads against a server that misbehaves (field cases B-01 and B-03 among them)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import hub
from hub.cache import Cache
from hub.download import download
from hub.policy import Expected, Policy
from tests.fake_server import (
    FakeServer,
    instead,
    redirect,
    short,
    slow,
    stall,
    status,
    whole,
    whole_without_range,
)
from tests.hub.conftest import FAST, files_in, make_card, sha256

ROOT = Path(__file__).parents[2]
PAGE = b"<!DOCTYPE html><html><body>Please log in</body></html>"
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n"
NO_HOST = "https://no-such-host.invalid/w.pth"


def fetched(url: str, body: bytes, **more: object) -> bytes:
    card = make_card({"url": url, "sha256": sha256(body), **more})
    return hub.fetch(card, policy=FAST).path.read_bytes()


def test_a_whole_file_is_stored_under_its_digest(
    server: FakeServer, home: Path, body: bytes
) -> None:
    assert fetched(server.add("/w.pth", body), body) == body
    assert f"blobs/{sha256(body)}" in files_in(home)


def test_a_second_call_asks_no_server(server: FakeServer, home: Path, body: bytes) -> None:
    url = server.add("/w.pth", body)
    fetched(url, body)
    fetched(url, body)
    assert len(server.requests) == 1


def test_weights_returns_the_path_of_the_blob(server: FakeServer, home: Path, body: bytes) -> None:
    card = make_card({"url": server.add("/w.pth", body), "sha256": sha256(body)})
    assert hub.weights(card) == home / "blobs" / sha256(body)


def test_a_short_body_is_refused_and_the_next_call_succeeds(server: FakeServer, home: Path) -> None:
    """Field case B-01."""
    body = bytes(range(250)) * 4
    breaks = [short(600, ranges=False)] * (FAST.attempts + 1)  # the first brings bytes
    url = server.add("/w.pth", body, *breaks, whole())
    with pytest.raises(hub.TruncatedDownload, match="600 of 1,000 bytes"):
        fetched(url, body)
    assert not (home / "blobs").exists()
    assert fetched(url, body) == body


def test_a_broken_transfer_is_resumed_with_a_range(
    server: FakeServer, home: Path, body: bytes
) -> None:
    url = server.add("/w.pth", body, short(200_000), whole())
    assert fetched(url, body) == body
    first, second = server.requests
    assert "Range" not in first.headers
    start = int(second.headers["Range"].removeprefix("bytes=").removesuffix("-"))
    assert 0 < start <= 200_000
    assert second.headers["If-Range"]


def test_attempts_that_bring_bytes_do_not_use_up_the_patience(
    server: FakeServer, home: Path, body: bytes
) -> None:
    url = server.add("/w.pth", body, *[short(70_000)] * (FAST.attempts + 3), whole())
    assert fetched(url, body) == body


def test_a_server_that_ignores_ranges_is_read_from_the_start(
    server: FakeServer, home: Path, body: bytes
) -> None:
    url = server.add("/w.pth", body, short(200_000), whole_without_range())
    assert fetched(url, body) == body


def test_a_file_that_changed_while_broken_off_is_read_from_the_start(
    server: FakeServer, home: Path, body: bytes
) -> None:
    old = body[::-1]
    url = server.add("/w.pth", old, short(200_000), *[short(0)] * FAST.attempts)
    with pytest.raises(hub.TruncatedDownload):
        fetched(url, body)
    server.add("/w.pth", body)
    assert fetched(url, body) == body


def test_a_part_of_other_content_is_thrown_away_once(
    server: FakeServer, home: Path, body: bytes
) -> None:
    # No note of an ETag: the server cannot tell, only the hash can.
    part = home / "parts" / f"{sha256(body)}.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"x" * 1000)
    assert fetched(server.add("/w.pth", body), body) == body
    assert [r.headers.get("Range") for r in server.requests] == ["bytes=1000-", None]


def test_a_part_that_is_whole_already_needs_no_request(
    server: FakeServer, home: Path, body: bytes
) -> None:
    # Killed between the last byte and the rename.
    part = home / "parts" / f"{sha256(body)}.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(body)
    assert fetched(server.add("/w.pth", body), body, bytes=len(body)) == body
    assert server.requests == []


def test_another_hash_is_refused_and_not_kept(server: FakeServer, home: Path, body: bytes) -> None:
    other = body[::-1]
    url = server.add("/w.pth", other)
    with pytest.raises(hub.HashMismatch) as caught:
        fetched(url, body)
    for fact in (sha256(other), sha256(body), url, "--weights PATH"):
        assert fact in str(caught.value)
    assert [f for f in files_in(home.parent) if "blobs" in f or "parts" in f] == []
    assert len(server.requests) == 1


def test_another_size_is_refused_before_the_body_is_stored(
    server: FakeServer, home: Path, body: bytes
) -> None:
    with pytest.raises(hub.HashMismatch, match="500,000 bytes, expected 499,999"):
        fetched(server.add("/w.pth", body), body, bytes=499_999)


@pytest.mark.parametrize(
    ("content", "said"), [(PAGE, "web page"), (POINTER, "Git LFS pointer"), (b"", "empty"),
                          (b'{"error": "not found"}', "JSON")]
)  # fmt: skip
def test_what_is_no_weights_file_is_named_and_not_stored(
    server: FakeServer, home: Path, body: bytes, content: bytes, said: str
) -> None:
    """Field case B-03: a page or a Git LFS pointer served as weights."""
    with pytest.raises(hub.NotWeights, match=said):
        fetched(server.add("/w.pth", body, instead(content)), body)
    assert not home.exists()


def test_503_is_tried_again(server: FakeServer, home: Path, body: bytes) -> None:
    assert fetched(server.add("/w.pth", body, status(503), status(429), whole()), body) == body


def test_404_is_not_tried_again(server: FakeServer, home: Path, body: bytes) -> None:
    with pytest.raises(hub.DownloadError, match="HTTP 404"):
        fetched(server.url("/gone.pth"), body)
    assert len(server.requests) == 1


def test_a_mirror_takes_over(server: FakeServer, home: Path, body: bytes) -> None:
    mirror = server.add("/mirror.pth", body)
    assert fetched(server.url("/gone.pth"), body, mirrors=(mirror,)) == body


def test_the_next_file_of_the_card_takes_over(server: FakeServer, home: Path, body: bytes) -> None:
    other = body[::-1]
    card = make_card(
        {"url": server.add("/page", body, instead(PAGE)), "sha256": sha256(body)},
        {"url": server.add("/w.pth", other), "sha256": sha256(other), "format": "safetensors"},
    )
    found = hub.fetch(card, policy=FAST)
    assert (found.sha256, found.file) == (sha256(other), card.files[1])


def test_redirects_are_followed(server: FakeServer, home: Path, body: bytes) -> None:
    target = server.add("/cdn/w.pth", body)
    assert fetched(server.add("/w.pth", body, redirect(target)), body) == body


def test_a_server_that_falls_silent_is_asked_again(
    server: FakeServer, home: Path, body: bytes
) -> None:
    assert fetched(server.add("/w.pth", body, stall(200_000), whole()), body) == body


def test_silence_without_end_gives_up(server: FakeServer, home: Path, body: bytes) -> None:
    with pytest.raises(hub.DownloadError, match="no data for|no answer for"):
        fetched(server.add("/w.pth", body, stall(0)), body)


def test_slow_is_not_silent(server: FakeServer, home: Path, body: bytes) -> None:
    assert fetched(server.add("/w.pth", body, slow(100_000, 0.1)), body) == body


def test_no_network_is_one_message_with_all_ways_out(home: Path) -> None:
    card = make_card({"url": NO_HOST, "sha256": "0" * 64, "bytes": 1000})
    began = time.monotonic()
    with pytest.raises(hub.DownloadError) as caught:
        hub.fetch(card)
    assert time.monotonic() - began < 10
    by_hand = str(home / "manual" / "tiny.test.pth")
    ways = (by_hand, "take resnet20", "--weights PATH", "--weights none")
    for part in ("tiny.test", NO_HOST, *ways):
        assert part in str(caught.value)


def test_no_network_leaves_nothing_behind(home: Path) -> None:
    with pytest.raises(hub.DownloadError):
        hub.fetch(make_card({"url": NO_HOST, "sha256": "0" * 64}))
    assert not home.exists()


def test_a_failure_leaves_an_existing_cache_as_it_was(
    server: FakeServer, home: Path, body: bytes
) -> None:
    fetched(server.add("/w.pth", body), body)
    before = files_in(home)
    with pytest.raises(hub.DownloadError):
        hub.fetch(make_card({"url": NO_HOST, "sha256": "0" * 64}))
    assert files_in(home) == before
    assert not (home / "locks").exists() and not (home / "parts").exists()


def test_a_refused_connection_is_named(home: Path) -> None:
    with FakeServer() as gone:
        url = gone.url("/w.pth")
    with pytest.raises(hub.DownloadError, match="no connection to 127.0.0.1"):
        hub.fetch(make_card({"url": url, "sha256": "0" * 64}))


def test_a_network_that_swallows_everything_is_found_out_in_time(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As a name server that never answers: connecting blocks, whatever its timeout says.
    over = threading.Event()

    def swallow(*_arguments: object, **_options: object) -> None:
        over.wait(20)
        raise TimeoutError

    monkeypatch.setattr("socket.create_connection", swallow)
    urls = [f"https://host{i}.invalid/w.pth" for i in range(3)]
    card = make_card({"url": urls[0], "mirrors": tuple(urls[1:]), "sha256": "0" * 64})
    began = time.monotonic()
    with pytest.raises(hub.DownloadError, match="did not answer within"):
        hub.fetch(card, policy=Policy(connect_seconds=0.3))
    assert time.monotonic() - began < 3
    over.set()


def test_offline_refuses_without_asking(
    server: FakeServer, home: Path, body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZOO_OFFLINE", "1")
    with pytest.raises(hub.OfflineError) as caught:
        fetched(server.add("/w.pth", body), body)
    assert "ZOO_OFFLINE" in str(caught.value) and "--weights none" in str(caught.value)
    assert server.requests == [] and not home.exists()


def test_offline_serves_what_is_cached(
    server: FakeServer, home: Path, body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = server.add("/w.pth", body)
    fetched(url, body)
    monkeypatch.setenv("ZOO_OFFLINE", "1")
    assert fetched(url, body) == body


def test_no_room_is_said_before_the_transfer(
    server: FakeServer, home: Path, body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Usage:
        free = 1000

    monkeypatch.setattr("shutil.disk_usage", lambda path: Usage)
    with pytest.raises(hub.DiskFull, match="500,000 bytes are needed, 1,000 bytes are free"):
        fetched(server.add("/w.pth", body), body)
    assert not home.exists()


FETCH = """
import sys
sys.path.insert(0, {root!r})
import hub
from tests.hub.conftest import make_card
print(hub.fetch(make_card({{"url": {url!r}, "sha256": {digest!r}}})).path)
"""


def start_fetch(url: str, body: bytes, before: str = "") -> subprocess.Popen[str]:
    # A shell's background job ignores SIGINT, and its children with it.
    hear = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    program = hear + before + FETCH.format(root=str(ROOT), url=url, digest=sha256(body))
    return subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.skipif(sys.platform == "win32", reason="file size limits are POSIX")
def test_no_room_during_the_transfer_leaves_nothing(
    server: FakeServer, home: Path, body: bytes
) -> None:
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))\n"
    process = start_fetch(server.add("/w.pth", body), body, limit)
    _, errors = process.communicate(timeout=30)
    assert "hub.errors.DiskFull" in errors and "500,000 bytes are needed" in errors
    assert not home.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT to one process is POSIX")
def test_ctrl_c_leaves_a_part_that_the_next_call_resumes(
    server: FakeServer, home: Path, body: bytes
) -> None:
    url = server.add("/w.pth", body, slow(20_000, 0.1), whole())
    process = start_fetch(url, body)
    part = home / "parts" / f"{sha256(body)}.part"
    deadline = time.monotonic() + 20
    while not (part.exists() and part.stat().st_size > 60_000):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=10)
    assert "KeyboardInterrupt" in errors
    assert not (home / "blobs").exists() and not any((home / "locks").glob("*"))
    assert fetched(url, body) == body
    assert server.requests[-1].headers["Range"].startswith("bytes=")


def test_the_full_digest_of_a_prefix_is_recorded(
    server: FakeServer, home: Path, body: bytes
) -> None:
    card = make_card({"url": server.add("/w.pth", body), "sha256_prefix": sha256(body)[:8]})
    assert hub.fetch(card, policy=FAST).sha256 == sha256(body)
    recorded = json.loads((home / "lock.json").read_text())["sha256"]
    assert recorded == {"tiny.test/w.pth": sha256(body)}


def test_a_recorded_digest_finds_the_cached_file(
    server: FakeServer, home: Path, body: bytes
) -> None:
    card = make_card({"url": server.add("/w.pth", body), "sha256_prefix": sha256(body)[:8]})
    hub.fetch(card, policy=FAST)
    hub.fetch(card, policy=FAST)
    assert len(server.requests) == 1


def test_a_file_with_another_prefix_is_refused(server: FakeServer, home: Path, body: bytes) -> None:
    card = make_card({"url": server.add("/w.pth", body[::-1]), "sha256_prefix": sha256(body)[:8]})
    with pytest.raises(hub.HashMismatch, match=sha256(body)[:8]):
        hub.fetch(card, policy=FAST)


def test_a_later_file_with_the_same_prefix_is_refused(
    server: FakeServer, home: Path, body: bytes
) -> None:
    # Eight equal digits cannot be made in a test, so the record is changed instead.
    prefix = sha256(body)[:8]
    recorded = prefix + "0" * 56
    home.mkdir()
    lock_file = home / "lock.json"
    lock_file.write_text(json.dumps({"version": 1, "sha256": {"tiny.test/w.pth": recorded}}))
    card = make_card({"url": server.add("/w.pth", body), "sha256_prefix": prefix})
    with pytest.raises(hub.HashMismatch) as caught:
        hub.fetch(card, policy=FAST)
    assert recorded in str(caught.value) and str(lock_file) in str(caught.value)


def test_every_flip_of_a_byte_of_the_records_is_noticed_or_changes_nothing(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.record("tiny.test/w.pth", sha256(b"a"))
    cache.record("https://a.org/w.pth", sha256(b"b"))
    whole, records = cache.lock_file.read_bytes(), cache.records()
    noticed = 0
    for at in range(len(whole)):
        for flip in (0x01, 0x20, 0x80, 0xFF):
            cache.lock_file.write_bytes(whole[:at] + bytes([whole[at] ^ flip]) + whole[at + 1 :])
            try:
                assert cache.records() == records
            except hub.CacheError as error:
                assert str(cache.lock_file) in str(error)
                noticed += 1
    assert noticed > 3 * len(whole)
    # One that a person wrote, or repaired, needs no check.
    cache.lock_file.write_text(json.dumps({"version": 1, "sha256": records}))
    assert cache.records() == records


def test_a_file_put_by_hand_is_verified_and_used(home: Path, body: bytes) -> None:
    manual = home / "manual" / "tiny.test.pth"
    manual.parent.mkdir(parents=True)
    manual.write_bytes(body)
    assert fetched(NO_HOST, body) == body


def test_a_wrong_file_put_by_hand_is_refused_and_left_there(home: Path, body: bytes) -> None:
    manual = home / "manual" / "tiny.test.pth"
    manual.parent.mkdir(parents=True)
    manual.write_bytes(body[::-1])
    with pytest.raises(hub.HashMismatch, match=str(manual)):
        fetched(NO_HOST, body)
    assert manual.exists()


def test_a_damaged_blob_is_downloaded_again(server: FakeServer, home: Path, body: bytes) -> None:
    url = server.add("/w.pth", body)
    fetched(url, body)
    (home / "blobs" / sha256(body)).write_bytes(body[:-1] + b"?")
    assert fetched(url, body) == body


def test_a_damaged_blob_offline_is_named(
    server: FakeServer, home: Path, body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = server.add("/w.pth", body)
    fetched(url, body)
    blob = home / "blobs" / sha256(body)
    blob.write_bytes(body[:-1])
    monkeypatch.setenv("ZOO_OFFLINE", "1")
    with pytest.raises(hub.HashMismatch, match=str(blob)):
        fetched(url, body)


def test_a_cache_that_cannot_be_a_folder_is_named(
    server: FakeServer, tmp_path: Path, home: Path, body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ZOO_HOME", str(tmp_path / "file" / "cache"))
    with pytest.raises(hub.CacheError, match="ZOO_HOME"):
        fetched(server.add("/w.pth", body), body)


def test_a_packaged_file_is_found_beside_the_package(home: Path) -> None:
    content = (ROOT / "hub" / "errors.py").read_bytes()
    card = make_card({"packaged": "hub/errors.py", "sha256": sha256(content)})
    assert hub.fetch(card).path.read_bytes() == content


def test_a_damaged_packaged_file_is_named(home: Path) -> None:
    card = make_card({"packaged": "hub/errors.py", "sha256": "0" * 64})
    with pytest.raises(hub.CacheError, match="errors.py"):
        hub.fetch(card)


def test_download_alone_returns_the_digest(
    server: FakeServer, tmp_path: Path, body: bytes, home: Path
) -> None:
    part = tmp_path / "w.part"
    expected = Expected(sha256(body)[:10])
    url = server.add("/w.pth", body)
    assert download(url, part, expected, label="w", policy=FAST) == sha256(body)
    assert os.listdir(tmp_path) == ["w.part"]
