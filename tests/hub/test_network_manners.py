"""Proxies, pauses between attempts, and what a reply may not talk us into."""

from __future__ import annotations

import http.client
from pathlib import Path

import pytest
import requests
import urllib3

import hub
from hub.download import download
from hub.policy import Expected, Policy
from hub.reply import Reply, short_reason
from tests.fake_server import FakeServer, status, whole
from tests.hub.conftest import FAST, make_card, sha256


@pytest.fixture
def proxied(home: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment in which no host is exempt from proxies."""
    for name in ("NO_PROXY", "no_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def test_the_proxy_of_the_environment_is_used(
    server: FakeServer, body: bytes, proxied: pytest.MonkeyPatch
) -> None:
    proxied.setenv("http_proxy", server.url("/"))
    url = "http://localhost:1/w.pth"  # where nobody listens: only the proxy can bring it
    server.add(url, body)
    card = make_card({"url": url, "sha256": sha256(body)})
    assert hub.fetch(card, policy=FAST).path.read_bytes() == body


def test_a_dead_proxy_is_named_without_its_password(proxied: pytest.MonkeyPatch) -> None:
    with FakeServer() as gone:
        address = gone.url("").removeprefix("http://")
    proxied.setenv("http_proxy", f"http://me:proxypassword@{address}")
    with pytest.raises(hub.DownloadError, match=f"no connection to {address}") as caught:
        hub.fetch(make_card({"url": "http://localhost:1/w", "sha256": "0" * 64}), policy=FAST)
    assert "proxypassword" not in str(caught.value)


def pauses(
    url: str, body: bytes, folder: Path, monkeypatch: pytest.MonkeyPatch, policy: Policy
) -> list[float]:
    slept: list[float] = []
    monkeypatch.setattr("hub.download.time.sleep", slept.append)
    expected = Expected(sha256(body))
    assert download(url, folder / "part", expected, label="w", policy=policy) == sha256(body)
    return slept


def test_pauses_grow_vary_and_are_bounded(
    server: FakeServer, home: Path, body: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = Policy(attempts=7, pause_seconds=1, longest_pause_seconds=8)
    url = server.add("/w.pth", body, *[status(503)] * 6, whole())
    slept = pauses(url, body, tmp_path, monkeypatch, policy)
    for seconds, middle in zip(slept, [1, 2, 4, 8, 8, 8], strict=True):
        assert 0.75 * middle <= seconds <= 1.25 * middle
    # Three draws around the same middle that are all equal would be no jitter.
    assert len(set(slept[3:])) > 1


def test_a_server_may_ask_for_a_pause_but_not_for_a_year(
    server: FakeServer, home: Path, body: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = [status(503, Retry_After="3"), status(503, Retry_After="31536000")]
    url = server.add("/w.pth", body, *asked, whole())
    assert pauses(url, body, tmp_path, monkeypatch, Policy(longest_pause_seconds=8)) == [3, 8]


def reply(url: str, *before: str, **headers: str) -> Reply:
    """A reply at the end of redirects."""
    responses = []
    for address in (*before, url):
        response = requests.Response()
        response.url = address
        response.status_code = 200
        responses.append(response)
    *responses[-1].history, last = responses
    last.headers.update({name.replace("_", "-"): value for name, value in headers.items()})
    return Reply(last)


@pytest.mark.parametrize(
    ("way", "fell"),
    [
        (("https://a/w",), False),
        (("https://a/w", "https://b/w"), False),
        (("https://a/w", "http://b/w"), True),
        (("http://127.0.0.1/w", "http://127.0.0.1/v"), False),
    ],
)
def test_a_fall_from_https_to_http_is_noticed(way: tuple[str, ...], fell: bool) -> None:
    assert reply(way[-1], *way[:-1]).fell_to_plain_http() is fell


@pytest.mark.parametrize(
    ("header", "start", "total"),
    [
        ("bytes 5-9/10", 5, 10),
        ("bytes 5-9/*", 5, None),
        ("bytes */10", -1, 10),
        ("bytes 5-9", -1, None),
        ("bytes -5-9/10", -1, None),
        ("octets 5-9/10", -1, None),
        ("bytes " + "9" * 5000 + "-9/10", -1, None),
        ("", -1, None),
    ],
)
def test_a_content_range_is_read_or_ignored(header: str, start: int, total: int | None) -> None:
    found = reply("https://a/w", Content_Range=header)
    assert (found.start, found.total) == (start, total)


def test_a_weak_etag_vouches_for_no_bytes() -> None:
    assert reply("https://a/w", ETag='W/"x"').etag is None
    assert reply("https://a/w", ETag='"x"').etag == '"x"'


def test_reasons_are_plain_and_without_control_characters() -> None:
    found = reply("https://a/w")
    found._response.reason = "Not\x1b[31m Found\r\n" + "x" * 500
    assert "\x1b" not in found.reason and "\n" not in found.reason and len(found.reason) < 100


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (http.client.BadStatusLine("SSH-2.0"), "the answer is no HTTP: 'SSH-2.0'"),
        (http.client.RemoteDisconnected("Remote end closed"), "Remote end closed"),
        (urllib3.exceptions.ProtocolError("aborted", ConnectionResetError(104, "reset")),
         "[Errno 104] reset"),
        (ValueError("at https://me:pass@host/w?sig=secret"), "at https://host/w"),
        (ValueError(), "ValueError"),
    ],
)  # fmt: skip
def test_the_innermost_error_is_what_is_said(error: Exception, said: str) -> None:
    assert short_reason(requests.ConnectionError(error)) == said
