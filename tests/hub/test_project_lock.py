"""`zoo.lock`: what a project used once is what it gets from then on."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import hub
from tests.fake_server import FakeServer
from tests.hub.conftest import FAST, files_in, make_card, sha256

ROOT = Path(__file__).parents[2]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with an empty lock; the path of the lock."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.delenv("ZOO_LOCK", raising=False)
    lock = folder / "zoo.lock"
    lock.write_text('{"version": 1, "weights": {}}')
    return lock


def pinned(lock: Path) -> dict[str, str]:
    return {name: pin.sha256 for name, pin in hub.ProjectLock(lock).pins().items()}


def test_without_a_lock_nothing_is_written(
    server: FakeServer, home: Path, body: bytes, project: Path
) -> None:
    project.unlink()
    hub.fetch(make_card({"url": server.add("/w.pth", body), "sha256": sha256(body)}), policy=FAST)
    assert list(project.parent.iterdir()) == []


def test_what_is_used_is_pinned(server: FakeServer, home: Path, body: bytes, project: Path) -> None:
    url = server.add("/w.pth", body)
    hub.fetch(make_card({"url": url, "sha256_prefix": sha256(body)[:8]}), policy=FAST)
    other = server.add("/o.pth", body[::-1])
    hub.fetch_file(other, policy=FAST)
    assert json.loads(project.read_text()) == {
        "version": 1,
        "weights": {
            "tiny.test": {
                "sha256": sha256(body), "bytes": len(body), "file": "w.pth", "source": url
            },
            other: {
                "sha256": sha256(body[::-1]), "bytes": len(body), "file": "o.pth", "source": other
            },
        },
    }  # fmt: skip


def test_using_it_again_changes_nothing(
    server: FakeServer, home: Path, body: bytes, project: Path
) -> None:
    card = make_card({"url": server.add("/w.pth", body), "sha256": sha256(body)})
    hub.fetch(card, policy=FAST)
    before = project.read_bytes(), project.stat().st_mtime_ns
    hub.fetch(card, policy=FAST)
    assert (project.read_bytes(), project.stat().st_mtime_ns) == before


def test_a_pin_decides_between_the_files_of_a_card(
    server: FakeServer, home: Path, body: bytes, project: Path
) -> None:
    files = [
        {"url": server.add("/1", body), "sha256": sha256(body), "format": "safetensors"},
        {"url": server.add("/2", body[::-1]), "sha256": sha256(body[::-1])},
    ]
    hub.fetch(make_card(files[1]), policy=FAST)
    found = hub.fetch(make_card(*files), policy=FAST)
    assert found.sha256 == sha256(body[::-1])
    assert [r.path for r in server.requests] == ["/2"]


def test_a_prefix_with_another_end_than_the_pin_is_refused(
    server: FakeServer, home: Path, body: bytes, project: Path
) -> None:
    # The card knows eight digits; the pin of a colleague knows all of them.
    pin = hub.Pin(sha256(body)[:8] + "0" * 56, len(body), "w.pth", "https://host/w.pth")
    hub.ProjectLock(project).add("tiny.test", pin)
    card = make_card({"url": server.add("/w.pth", body), "sha256_prefix": sha256(body)[:8]})
    with pytest.raises(hub.HashMismatch, match=pin.sha256):
        hub.fetch(card, policy=FAST)


def test_a_card_that_names_other_weights_now_is_refused(
    server: FakeServer, home: Path, body: bytes, project: Path
) -> None:
    url = server.add("/w.pth", body)
    hub.fetch(make_card({"url": url, "sha256": sha256(body)}), policy=FAST)
    with pytest.raises(hub.LockError) as caught:
        hub.fetch(make_card({"url": url, "sha256": "1" * 64}), policy=FAST)
    for fact in ("tiny.test", sha256(body), "1" * 64, str(project), "delete the entry"):
        assert fact in str(caught.value)


def test_an_address_that_holds_another_file_now_is_refused(
    server: FakeServer, home: Path, body: bytes, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = server.add("/w.pth", body)
    hub.fetch_file(url, policy=FAST)
    monkeypatch.setenv("ZOO_HOME", str(home.parent / "another machine"))
    server.add("/w.pth", body[::-1])
    with pytest.raises(hub.HashMismatch, match="zoo.lock"):
        hub.fetch_file(url, policy=FAST)


def test_a_local_file_that_changed_is_refused(tmp_path: Path, project: Path, body: bytes) -> None:
    path = tmp_path / "w.pth"
    path.write_bytes(body)
    hub.fetch_file(str(path))
    path.write_bytes(body[::-1])
    with pytest.raises(hub.HashMismatch, match="zoo.lock"):
        hub.fetch_file(str(path))


def test_a_packaged_file_is_pinned_too(home: Path, project: Path) -> None:
    hub.fetch("resnet20.letters")
    assert pinned(project) == {"resnet20.letters": hub.get_card("resnet20.letters").files[0].sha256}
    assert not home.exists()


def test_the_environment_names_another_lock_or_none(
    server: FakeServer, home: Path, body: bytes, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    card = make_card({"url": server.add("/w.pth", body), "sha256": sha256(body)})
    monkeypatch.setenv("ZOO_LOCK", "0")
    hub.fetch(card, policy=FAST)
    assert pinned(project) == {}
    monkeypatch.setenv("ZOO_LOCK", "mine.lock")
    hub.fetch(card, policy=FAST)
    assert pinned(project.with_name("mine.lock")) == {"tiny.test": sha256(body)}
    assert pinned(project) == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no JSON"),
        ("<<<<<<< HEAD", "no JSON"),
        ("[" * 100_000, "no JSON"),
        ("[]", "version"),
        ('{"version": 2, "weights": {}}', "version"),
        ('{"version": 1}', "weights"),
        ('{"version": 1, "weights": {"a": {}}}', "'a' needs sha256"),
        ('{"version": 1, "weights": {"a": {"sha256": "x", "bytes": 1, "file": "", "source": ""}}}',
         "64 lower-case"),
    ],
)  # fmt: skip
def test_a_damaged_lock_is_named_before_anything_is_fetched(
    server: FakeServer, home: Path, body: bytes, project: Path, text: str, said: str
) -> None:
    project.write_text(text)
    with pytest.raises(hub.LockError, match=said):
        hub.fetch(make_card({"url": server.add("/w.pth", body), "sha256": sha256(body)}))
    assert server.requests == []


ADD = """
import sys
sys.path.insert(0, {root!r})
import hub, pathlib
lock = hub.ProjectLock(pathlib.Path("zoo.lock"))
for i in range(5):
    lock.add(f"{{sys.argv[1]}}.{{i}}", hub.Pin("0" * 64, 1, "f", "s"))
"""


def test_processes_that_add_at_once_lose_nothing(home: Path, project: Path) -> None:
    program = [sys.executable, "-c", ADD.format(root=str(ROOT))]
    at_once = [subprocess.Popen([*program, str(i)], cwd=project.parent) for i in range(4)]
    assert [process.wait(60) for process in at_once] == [0] * 4
    assert len(pinned(project)) == 20
    assert files_in(home.parent) == ["project/zoo.lock"]
