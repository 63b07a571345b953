"""Addresses, mirrors and tokens; files fetched by address, without a card."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

import hub
from hub.policy import Policy
from hub.sources import parse_source, token_for, with_mirrors, without_secrets
from tests.fake_faults import PAGE, POINTER
from tests.fake_server import FakeServer, instead, redirect, short, status, whole
from tests.hub.conftest import FAST, files_in, make_card, sha256

ROOT = Path(__file__).parents[2]
SECRET = "hf_averysecrettoken"


@pytest.fixture
def hf(server: FakeServer, home: Path, monkeypatch: pytest.MonkeyPatch) -> FakeServer:
    """A server that stands for huggingface.co, and a token for it."""
    monkeypatch.setenv("HF_ENDPOINT", server.url(""))
    monkeypatch.setenv("HF_TOKEN", SECRET)
    return server


@pytest.fixture
def elsewhere() -> Iterator[FakeServer]:
    """Another server; on this machine another port is another host."""
    with FakeServer() as running:
        yield running


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://host/a/w.pth", "https://host/a/w.pth"),
        ("hf:timm/r.x/model.safetensors", "/timm/r.x/resolve/main/model.safetensors"),
        ("hf:a/b@v1.0/c/d e.bin", "/a/b/resolve/v1.0/c/d%20e.bin"),
        ("hf:a/b@refs%2Fpr%2F1/w", "/a/b/resolve/refs%2Fpr%2F1/w"),
        ("http://localhost:8000/w.pth", "http://localhost:8000/w.pth"),
    ],
)
def test_an_address_has_a_url(text: str, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_ENDPOINT", raising=False)
    expected = url if url.startswith("http") else "https://huggingface.co" + url
    assert parse_source(text).url == expected


@pytest.mark.parametrize(
    ("text", "path"),
    [("w.pth", "w.pth"), ("file:///a/b%20c.pth", "/a/b c.pth"), ("file://localhost/a", "/a"),
     ("a:b.pth", "a:b.pth")],
)  # fmt: skip
def test_a_local_file_has_a_path(text: str, path: str) -> None:
    assert parse_source(text).path == Path(path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("http://host/w.pth", "plain http"),
        ("s3://bucket/w.pth", "not read here"),
        ("ftp://host/w.pth", "not read here"),
        ("https:///w.pth", "not read here"),
        ("https://host:port/w.pth", "no address"),
        ("https://[::1/w.pth", "no address"),
        ("file://server/share/w.pth", "three slashes"),
        ("hf:onlyname", "hf:ORG/REPO/FILE"),
        ("hf:a/b", "hf:ORG/REPO/FILE"),
        ("hf:a/b@/w", "hf:ORG/REPO/FILE"),
        ("hf:a/b/../../../c", "hf:ORG/REPO/FILE"),
        (" ", "empty address"),
    ],
)
def test_what_is_no_address_is_refused(text: str, said: str) -> None:
    with pytest.raises(hub.SourceError, match=said):
        parse_source(text)


def test_a_file_of_a_repository_is_fetched_once(hf: FakeServer, body: bytes) -> None:
    hf.add("/org/repo/resolve/main/w.pth", body)
    for _ in range(2):
        found = hub.fetch_file("hf:org/repo/w.pth", policy=FAST)
        assert (found.path.read_bytes(), found.sha256) == (body, sha256(body))
    assert len(hf.requests) == 1


def test_a_card_may_name_a_repository(hf: FakeServer, body: bytes) -> None:
    hf.add("/org/repo/resolve/v2/w.pth", body)
    card = make_card({"url": "hf:org/repo@v2/w.pth", "sha256": sha256(body)})
    assert hub.fetch(card, policy=FAST).path.read_bytes() == body


def test_a_card_may_name_a_local_file(home: Path, tmp_path: Path, body: bytes) -> None:
    (tmp_path / "w.pth").write_bytes(body)
    card = make_card({"url": (tmp_path / "w.pth").as_uri(), "sha256": sha256(body)})
    assert hub.fetch(card).path == home / "blobs" / sha256(body)


@pytest.mark.parametrize(
    ("content", "error"),
    [(PAGE, hub.NotWeights), (POINTER, hub.NotWeights), (b"", hub.NotWeights),
     (b"other" * 99, hub.HashMismatch), (None, hub.DownloadError)],
)  # fmt: skip
def test_a_wrong_local_file_of_a_card_is_not_stored(
    home: Path, tmp_path: Path, body: bytes, content: bytes | None, error: type[Exception]
) -> None:
    if content is not None:
        (tmp_path / "w.pth").write_bytes(content)
    card = make_card({"url": (tmp_path / "w.pth").as_uri(), "sha256": sha256(body)})
    with pytest.raises(error):
        hub.fetch(card)
    assert not home.exists()


def test_a_path_is_used_where_it_is(home: Path, tmp_path: Path, body: bytes) -> None:
    (tmp_path / "w.pth").write_bytes(body)
    found = hub.fetch_file(str(tmp_path / "w.pth"))
    assert (found.path, found.sha256) == (tmp_path / "w.pth", sha256(body))
    assert not home.exists()


def test_a_path_with_another_digest_is_refused(tmp_path: Path, body: bytes) -> None:
    (tmp_path / "w.pth").write_bytes(body)
    with pytest.raises(hub.HashMismatch, match=sha256(body)):
        hub.fetch_file(str(tmp_path / "w.pth"), sha256="0" * 64)


# ---------------------------------------------------------------- nobody knows the digest


def test_the_digest_that_the_server_states_must_be_met(hf: FakeServer, body: bytes) -> None:
    target = hf.add("/cdn/w", body[::-1])
    hf.add("/org/repo/resolve/main/w.pth", b"", redirect(target, X_Linked_Etag=f'"{sha256(body)}"'))
    with pytest.raises(hub.HashMismatch, match="the server's own record"):
        hub.fetch_file("hf:org/repo/w.pth", policy=FAST)


def test_another_host_cannot_state_a_digest(hf: FakeServer, elsewhere: FakeServer) -> None:
    body = b"content" * 100
    stated = status(302, Location=elsewhere.add("/w", body), X_Linked_Etag="0" * 64)
    url = elsewhere.add("/start", b"", stated)
    assert hub.fetch_file(url, policy=FAST).sha256 == sha256(body)


def test_the_first_digest_of_an_address_is_required_later(
    server: FakeServer, home: Path, body: bytes
) -> None:
    url = server.add("/w.pth", body)
    hub.fetch_file(url, policy=FAST)
    (home / "blobs" / sha256(body)).unlink()
    server.add("/w.pth", body[::-1])
    with pytest.raises(hub.HashMismatch, match="at the first download"):
        hub.fetch_file(url, policy=FAST)


def test_a_part_of_unknown_digest_is_continued_under_the_same_etag(
    server: FakeServer, home: Path, body: bytes
) -> None:
    url = server.add("/w.pth", body, *[short(200_000)] * 9)
    with pytest.raises(hub.DownloadError):
        hub.fetch_file(url, policy=Policy(read_seconds=0.4, attempts=0))
    server.add("/w.pth", body)
    assert hub.fetch_file(url, policy=FAST).path.read_bytes() == body
    assert server.requests[-1].headers["Range"] == "bytes=200000-"


@pytest.mark.parametrize("notes", [None, "{", '{"etag": null}', '{"etag": "x", "url": "other"}'])
def test_a_part_of_unknown_digest_and_origin_is_thrown_away(
    server: FakeServer, home: Path, body: bytes, notes: str | None
) -> None:
    url = server.add("/w.pth", body, *[short(200_000)] * 9)
    with pytest.raises(hub.DownloadError):
        hub.fetch_file(url, policy=Policy(read_seconds=0.4, attempts=0))
    (part,) = (home / "parts").glob("*.part")
    part.write_bytes(b"x" * 1000)
    if notes is None:
        part.with_suffix(".json").unlink()
    else:
        part.with_suffix(".json").write_text(notes)
    server.add("/w.pth", body)
    assert hub.fetch_file(url, policy=FAST).path.read_bytes() == body
    assert "Range" not in server.requests[-1].headers


def test_a_web_page_is_no_file(server: FakeServer, home: Path) -> None:
    with pytest.raises(hub.NotWeights, match="web page"):
        hub.fetch_file(server.add("/w.pth", b"", instead(PAGE)), policy=FAST)
    assert not home.exists()


def test_offline_serves_an_address_that_was_fetched(
    server: FakeServer, home: Path, body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = server.add("/w.pth", body)
    monkeypatch.setenv("ZOO_OFFLINE", "1")
    with pytest.raises(hub.OfflineError, match="ZOO_OFFLINE"):
        hub.fetch_file(url)
    monkeypatch.delenv("ZOO_OFFLINE")
    hub.fetch_file(url)
    monkeypatch.setenv("ZOO_OFFLINE", "1")
    assert hub.fetch_file(url).sha256 == sha256(body)


def test_files_of_one_name_never_meet(server: FakeServer, home: Path, body: bytes) -> None:
    one = hub.fetch_file(server.add("/a/model.pth", body), policy=FAST)
    two = hub.fetch_file(server.add("/b/model.pth", body[::-1]), policy=FAST)
    assert (one.path.read_bytes(), two.path.read_bytes()) == (body, body[::-1])


# ---------------------------------------------------------------- shards


def serve_shards(hf: FakeServer) -> dict[str, bytes]:
    """A checkpoint in two files at hf:org/repo; the files by name."""
    one, two = (save({name: np.ones(2, np.float32)}) for name in "ab")
    index = json.dumps({"weight_map": {"a": "one.safetensors", "b": "two.safetensors"}}).encode()
    files = {"one.safetensors": one, "two.safetensors": two, "model.safetensors.index.json": index}
    for name, content in files.items():
        hf.add(f"/org/repo/resolve/main/{name}", content)
    return files


SHARDED = "hf:org/repo/model.safetensors.index.json"


def test_an_index_brings_its_shards(hf: FakeServer, home: Path) -> None:
    files = serve_shards(hf)
    for _ in range(2):
        found = hub.fetch_file(SHARDED, policy=FAST)
        assert list(hub.read_state_dict(found.path)) == ["a", "b"]
    assert len(hf.requests) == 3
    stored = {path.name for path in (home / "blobs").iterdir()}
    assert stored == {sha256(content) for content in files.values()}


def test_a_missing_shard_of_a_repository_is_refused(hf: FakeServer, home: Path) -> None:
    serve_shards(hf)
    hf.add("/org/repo/resolve/main/two.safetensors", b"", status(404))
    with pytest.raises(hub.DownloadError, match=r"two\.safetensors: HTTP 404"):
        hub.fetch_file(SHARDED, policy=FAST)


def test_an_index_cannot_name_files_elsewhere(hf: FakeServer, home: Path) -> None:
    index = b'{"weight_map": {"a": "../../../secret"}}'
    hf.add("/org/repo/resolve/main/model.safetensors.index.json", index)
    with pytest.raises(hub.CorruptCheckpoint, match="secret"):
        hub.fetch_file(SHARDED, policy=FAST)
    assert len(hf.requests) == 1


def test_a_project_pins_each_shard(
    hf: FakeServer, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZOO_LOCK", str(tmp_path / "zoo.lock"))
    serve_shards(hf)
    hub.fetch_file(SHARDED, policy=FAST)
    assert len(hub.ProjectLock(tmp_path / "zoo.lock").pins()) == 3


# ---------------------------------------------------------------- mirrors


def test_a_mirror_is_asked_first(
    server: FakeServer, elsewhere: FakeServer, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = b"content" * 100
    monkeypatch.setenv("ZOO_MIRROR", elsewhere.url("/copies/"))
    url = server.add("/a/w.pth", body)
    elsewhere.add(f"/copies/{url.removeprefix('http://')}", body)
    card = make_card({"url": url, "sha256": sha256(body)})
    assert hub.fetch(card, policy=FAST).path.read_bytes() == body
    assert server.requests == []


@pytest.mark.parametrize("content", [None, b"damaged", PAGE])
def test_the_original_is_asked_where_a_mirror_fails(
    server: FakeServer, tmp_path: Path, home: Path, body: bytes, content: bytes | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    url = server.add("/a/w.pth", body)
    monkeypatch.setenv("ZOO_MIRROR", f"https://no-such-host.invalid {tmp_path / 'mirror'}")
    if content is not None:
        copy = tmp_path / "mirror" / url.removeprefix("http://")
        copy.parent.mkdir(parents=True)
        copy.write_bytes(content)
    card = make_card({"url": url, "sha256": sha256(body)})
    assert hub.fetch(card, policy=FAST).path.read_bytes() == body


def test_a_folder_can_be_a_mirror_without_a_network(
    tmp_path: Path, home: Path, body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZOO_MIRROR", str(tmp_path))
    copy = tmp_path / "no-such-host.invalid" / "w.pth"
    copy.parent.mkdir()
    copy.write_bytes(body)
    found = hub.fetch_file("https://no-such-host.invalid/w.pth?token=1", policy=FAST)
    assert found.path.read_bytes() == body


def test_a_folder_serves_offline_too(
    tmp_path: Path, home: Path, body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZOO_MIRROR", f"{tmp_path} https://mirror.invalid")
    monkeypatch.setenv("ZOO_OFFLINE", "1")
    copy = tmp_path / "no-such-host.invalid" / "w.pth"
    copy.parent.mkdir()
    copy.write_bytes(body)
    card = make_card({"url": "https://no-such-host.invalid/w.pth", "sha256": sha256(body)})
    assert hub.fetch(card, policy=FAST).path.read_bytes() == body
    other = "https://no-such-host.invalid/other.pth"
    with pytest.raises(hub.OfflineError):
        hub.fetch_file(other)
    (copy.parent / "other.pth").write_bytes(body[::-1])
    assert hub.fetch_file(other).path.read_bytes() == body[::-1]


def test_mirrors_do_not_get_the_query(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZOO_MIRROR", "https://mirror/x")
    assert [s.text for s in with_mirrors(["https://host/w?token=1"])] == [
        "https://mirror/x/host/w",
        "https://host/w?token=1",
    ]


def test_a_mirror_that_is_no_address_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZOO_MIRROR", "s3://bucket")
    with pytest.raises(hub.SourceError, match="s3://bucket"):
        with_mirrors(["https://host/w"])


# ---------------------------------------------------------------- secrets


def test_the_token_goes_to_its_own_host(hf: FakeServer, body: bytes) -> None:
    hf.add("/org/repo/resolve/main/w.pth", body, short(200_000), whole())
    hub.fetch_file("hf:org/repo/w.pth", policy=FAST)
    assert [r.headers.get("Authorization") for r in hf.requests] == [f"Bearer {SECRET}"] * 2


def test_the_token_does_not_follow_a_redirect_to_another_host(
    hf: FakeServer, elsewhere: FakeServer, body: bytes
) -> None:
    hf.add("/org/repo/resolve/main/w.pth", b"", redirect(elsewhere.add("/w", body)))
    hub.fetch_file("hf:org/repo/w.pth", policy=FAST)
    assert "Authorization" in hf.requests[0].headers
    assert [r.headers.get("Authorization") for r in elsewhere.requests] == [None]


def test_the_token_follows_a_redirect_on_its_own_host(hf: FakeServer, body: bytes) -> None:
    hf.add("/org/repo/resolve/main/w.pth", b"", redirect(hf.add("/w", body)))
    hub.fetch_file("hf:org/repo/w.pth", policy=FAST)
    assert [r.headers.get("Authorization") for r in hf.requests] == [f"Bearer {SECRET}"] * 2


def test_mirrors_and_other_hosts_get_no_token(
    hf: FakeServer, elsewhere: FakeServer, body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZOO_MIRROR", elsewhere.url("/mirror"))
    url = hf.add("/org/repo/resolve/main/w.pth", body)
    elsewhere.add(f"/mirror/{url.removeprefix('http://')}", body)
    hub.fetch_file("hf:org/repo/w.pth", policy=FAST)
    hub.fetch_file(elsewhere.add("/other.pth", body[::-1]), policy=FAST)
    assert len(elsewhere.requests) > 1
    assert not any("Authorization" in r.headers for r in elsewhere.requests)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://huggingface.co/a/b", SECRET),
        ("https://huggingface.co.evil.example/a", None),
        ("https://huggingface.co:444/a", None),
        ("https://evil.example/huggingface.co", None),
        ("https://huggingface.co@evil.example/a", None),
        ("http://huggingface.co/a", None),
    ],
)
def test_a_token_belongs_to_one_host(
    url: str, expected: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_ENDPOINT", raising=False)
    monkeypatch.setenv("HF_TOKEN", SECRET)
    assert token_for(url) == expected


def test_a_token_over_plain_http_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://hub.example")
    monkeypatch.setenv("HF_TOKEN", SECRET)
    assert token_for("http://hub.example/a") is None


@pytest.mark.parametrize("token", [f"{SECRET} x", f"{SECRET}\r\nHost: evil", f"{SECRET}é"])
def test_a_token_that_cannot_be_one_is_refused_unseen(
    token: str, hf: FakeServer, body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", token)
    hf.add("/org/repo/resolve/main/w.pth", body)
    with pytest.raises(hub.SourceError) as caught:
        hub.fetch_file("hf:org/repo/w.pth", policy=FAST)
    assert "HF_TOKEN" in str(caught.value) and SECRET not in str(caught.value)
    assert hf.requests == []


def test_line_ends_around_a_token_are_forgiven(
    hf: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", f"{SECRET}\n")
    assert token_for(hf.url("/a")) == SECRET


@pytest.mark.parametrize("code", [401, 403])
def test_a_refusal_says_how_to_show_a_token(hf: FakeServer, code: int) -> None:
    hf.add("/org/repo/resolve/main/w.pth", b"", status(code))
    with pytest.raises(hub.DownloadError, match=f"HTTP {code}.*HF_TOKEN"):
        hub.fetch_file("hf:org/repo/w.pth", policy=FAST)


def test_secrets_are_neither_shown_nor_logged_nor_stored(
    hf: FakeServer, home: Path, body: bytes, caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
) -> None:  # fmt: skip
    monkeypatch.setenv("ZOO_LOCK", str(tmp_path / "zoo.lock"))
    caplog.set_level(logging.DEBUG, "hub")
    host = hf.url("").removeprefix("http://")
    url = f"http://me:querypassword@{host}/w.pth?sig=querysecret"
    hf.add(
        "/w.pth?sig=querysecret", body, short(200_000), status(503), short(0), short(0), short(0)
    )
    with pytest.raises(hub.DownloadError) as caught:
        hub.fetch_file(url, policy=FAST)
    hf.add("/w.pth?sig=querysecret", body)
    hub.fetch_file(url, policy=FAST)
    assert "Authorization" in hf.requests[-1].headers
    seen = caplog.text + str(caught.value) + repr(caught.value.__dict__)
    for path in [tmp_path / "zoo.lock", *home.rglob("*.json"), *home.rglob("*.lock")]:
        seen += path.read_text() + str(path)
    assert "/w.pth" in seen and "trying again" in seen
    for secret in (SECRET, "querypassword", "querysecret"):
        assert secret not in seen


def test_an_address_inside_a_message_loses_its_query() -> None:
    text = "cannot reach https://a:b@host/w?x=1, nor (/other?y=2)"
    assert without_secrets(text) == "cannot reach https://host/w nor (/other)"


# ---------------------------------------------------------------- caches that are only read


def test_a_shared_cache_serves_and_is_not_written(
    server: FakeServer, home: Path, tmp_path: Path, body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = tmp_path / "shared"
    (shared / "blobs").mkdir(parents=True)
    (shared / "blobs" / sha256(body)).write_bytes(body)
    monkeypatch.setenv("ZOO_SHARED", f"{tmp_path / 'none'}{os.pathsep}{shared}")
    card = make_card({"url": server.url("/gone"), "sha256": sha256(body)})
    before = files_in(shared)
    assert hub.fetch(card, policy=FAST).path == shared / "blobs" / sha256(body)
    assert files_in(shared) == before and server.requests == []


def test_a_damaged_file_of_a_shared_cache_is_not_used(
    server: FakeServer, home: Path, tmp_path: Path, body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    blob = tmp_path / "shared" / "blobs" / sha256(body)
    blob.parent.mkdir(parents=True)
    blob.write_bytes(body[:-1])
    # A stamp that vouches for it: others' stamps are not believed.
    stamp = tmp_path / "shared" / "stamps" / sha256(body)
    stamp.parent.mkdir()
    stamp.write_text(f"{blob.stat().st_size} {blob.stat().st_mtime_ns}\n")
    monkeypatch.setenv("ZOO_SHARED", str(tmp_path / "shared"))
    card = make_card({"url": server.add("/w.pth", body), "sha256": sha256(body)})
    assert hub.fetch(card, policy=FAST).path == home / "blobs" / sha256(body)
    assert blob.read_bytes() == body[:-1]


READ_ONLY = """
import os, sys
sys.path.insert(0, {root!r})
import hub
from tests.hub.conftest import make_card

def fetch_all(say):
    for url, digest in {wanted!r}:
        try:
            say(hub.fetch(make_card({{"url": url, "sha256": digest}})).path)
        except hub.HubError as error:
            say(type(error).__name__, error)

# Once with another cache: all modules are loaded, which an unprivileged user may not read.
home, os.environ["ZOO_HOME"] = os.environ["ZOO_HOME"], {other!r}
fetch_all(lambda *words: None)
os.environ["ZOO_HOME"] = home
if os.geteuid() == 0:
    os.setuid(65534)
fetch_all(print)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="folder permissions are POSIX")
def test_a_cache_that_cannot_be_written_serves_what_it_has(
    server: FakeServer, body: bytes, tmp_path: Path
) -> None:
    # Not below tmp_path: an unprivileged user must be able to reach it.
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "cache"
        (home / "blobs").mkdir(parents=True)
        (home / "blobs" / sha256(body)).write_bytes(body)
        os.chmod(folder, 0o755)
        for path in (home / "blobs", home):
            path.chmod(0o555)
        other = body[::-1]
        wanted = [(server.url("/gone"), sha256(body)), (server.add("/o", other), sha256(other))]
        program = READ_ONLY.format(root=str(ROOT), wanted=wanted, other=str(tmp_path))
        environment = {**os.environ, "ZOO_HOME": str(home), "NO_PROXY": "127.0.0.1"}
        result = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True
        )
        home.chmod(0o755)
        (home / "blobs").chmod(0o755)
    assert result.returncode == 0, result.stderr
    served, refused = result.stdout.splitlines()
    assert served == str(home / "blobs" / sha256(body))
    assert refused.startswith("CacheError") and "ZOO_HOME" in refused


def test_records_do_not_name_a_password(server: FakeServer, home: Path, body: bytes) -> None:
    server.add("/w.pth?key=querysecret", body)
    hub.fetch_file(server.url("/w.pth?key=querysecret"), policy=FAST)
    records = json.loads((home / "lock.json").read_text())["sha256"]
    (name,) = records
    assert name.startswith(server.url("/w.pth?")) and "querysecret" not in name


def test_addresses_that_differ_in_the_query_are_two_files(
    server: FakeServer, home: Path, body: bytes
) -> None:
    one = hub.fetch_file(server.add("/get?id=1", body), policy=FAST)
    two = hub.fetch_file(server.add("/get?id=2", body[::-1]), policy=FAST)
    assert (one.sha256, two.sha256) == (sha256(body), sha256(body[::-1]))
