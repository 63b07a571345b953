"""Downloading, verifying, the cache, lock files and completion, as commands.

Most run in this process, for speed; what a process of its own is for runs in one.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import hub
from cli.main import COMMANDS, main
from tests.fake_faults import PAGE
from tests.fake_server import FakeServer, instead, slow, whole

BODY = np.random.default_rng(1).bytes(50_000)
Zoo = Callable[..., tuple[int, str, str]]


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer() as running:
        yield running


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder; the cache is beside it."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("ZOO_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    for name in ("ZOO_OFFLINE", "ZOO_LOCK", "ZOO_MIRROR", "ZOO_SHARED"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture
def run_zoo(here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Zoo:
    """run_zoo("cache", "ls") -> (exit code, standard output, error output)."""
    # What a command sets for itself must not reach the next one.
    monkeypatch.setattr(os, "environ", os.environ.copy())

    def run(*arguments: str) -> tuple[int, str, str]:
        try:
            code = main(list(arguments))
        except SystemExit as end:
            code = int(end.code or 0)
        out, error = capsys.readouterr()
        return code, out, error

    return run


def test_download_verify_list_and_remove(run_zoo: Zoo, server: FakeServer, here: Path) -> None:
    url = server.add("/w.pth", BODY)
    (row,) = json.loads(run_zoo("download", url, "--json")[1])
    blob = Path(row["path"])
    assert blob.read_bytes() == BODY and row["bytes"] == len(BODY) and row["name"] == url
    assert run_zoo("cache", "path")[1].strip() == str(blob.parents[1])
    (entry,) = json.loads(run_zoo("cache", "ls", "--json")[1])
    assert (entry["sha256"], entry["names"]) == (row["sha256"], [url])
    for command in (("verify",), ("verify", url), ("cache", "verify")):
        assert run_zoo(*command)[:2] == (
            0,
            f"ok       {blob.name[:12]} {url}\nAll 1 as expected.\n",
        )
    code, out, _ = run_zoo("cache", "rm", blob.name[:10])
    assert code == 0 and "0.1 MB freed" in out
    assert json.loads(run_zoo("cache", "ls", "--json")[1]) == []


def test_damage_is_found_though_size_and_time_are_the_same(
    run_zoo: Zoo, server: FakeServer, here: Path
) -> None:
    url = server.add("/w.pth", BODY)
    (row,) = json.loads(run_zoo("download", url, "--json")[1])
    blob = Path(row["path"])
    before = blob.stat()
    blob.write_bytes(BODY[:-1] + b"?")
    os.utime(blob, ns=(before.st_atime_ns, before.st_mtime_ns))
    code, out, _ = run_zoo("verify")
    assert code == 1
    assert "damaged" in out and str(blob) in out and "zoo cache rm" in out
    (checked,) = json.loads(run_zoo("verify", "--json")[1])
    assert checked["state"] == "damaged" and checked["found"] != checked["sha256"]
    # The next use does not trust it either.
    assert run_zoo("download", url)[0] == 0
    assert blob.read_bytes() == BODY


def test_an_address_that_was_removed_may_hold_another_file(
    run_zoo: Zoo, server: FakeServer, here: Path
) -> None:
    url = server.add("/w.pth", BODY)
    run_zoo("download", url)
    server.add("/w.pth", BODY[::-1])
    assert run_zoo("cache", "rm", url)[0] == 0
    (row,) = json.loads(run_zoo("download", url, "--json")[1])
    assert Path(row["path"]).read_bytes() == BODY[::-1]


def test_a_project_is_locked_and_verified(run_zoo: Zoo, server: FakeServer, here: Path) -> None:
    url = server.add("/w.pth", BODY)
    assert run_zoo("download", "--lock", url, "resnet20.letters")[0] == 0
    names = set(json.loads((here / "zoo.lock").read_text())["weights"])
    assert names == {url, "resnet20.letters"}
    code, out, _ = run_zoo("verify")
    assert code == 0 and "All 2 as expected." in out
    shutil.rmtree(os.environ["ZOO_HOME"])
    code, out, _ = run_zoo("verify")
    assert code == 1 and f"zoo download {url}" in out and "1 of 2 not as expected" in out
    server.add("/w.pth", BODY[::-1])
    code, _, error = run_zoo("download", url)
    assert code == 1 and "zoo.lock" in error
    server.add("/w.pth", BODY)
    assert run_zoo("download", url)[0] == 0 and run_zoo("verify")[0] == 0


def test_a_failure_does_not_keep_the_others(run_zoo: Zoo, server: FakeServer, here: Path) -> None:
    page, url = server.add("/page", b"", instead(PAGE)), server.add("/w.pth", BODY)
    code, out, error = run_zoo("download", page, url)
    assert code == 1 and "is a web page" in error and url in out


def test_a_wrong_name_is_told_before_anything_is_fetched(
    run_zoo: Zoo, server: FakeServer, here: Path
) -> None:
    code, _, error = run_zoo("download", server.add("/w.pth", BODY), "resnet5O")
    assert code == 2 and "did you mean resnet50" in error
    assert server.requests == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("lst",), "did you mean: zoo list"),
        (("verfy",), "did you mean: zoo verify"),
        (("download",), "NAME"),
        (("download", "s3://bucket/w.pth"), "not read here"),
        (("download", "hf:nothing"), "hf:ORG/REPO/FILE"),
        (("verify", "resnet5O"), "did you mean resnet50"),
        (("cache",), "ACTION"),
        (("cache", "rm"), "--unfinished or --all"),
        (("cache", "rm", "resnet50"), "not in the cache: resnet50"),
        (("cache", "rm", "resnet5O"), "did you mean resnet50"),
        (("completion", "fish"), "bash"),
    ],
)
def test_a_wrong_command_line_exits_2(run_zoo: Zoo, arguments: tuple[str, ...], said: str) -> None:
    code, _, error = run_zoo(*arguments)
    assert code == 2 and said in error


def test_an_empty_cache_is_no_error(run_zoo: Zoo, here: Path) -> None:
    assert run_zoo("cache", "ls")[:2] == (0, f"The cache is empty ({os.environ['ZOO_HOME']}).\n")
    code, out, _ = run_zoo("verify")
    assert code == 0 and "nothing to verify" in out
    assert not Path(os.environ["ZOO_HOME"]).exists()


def test_one_wrong_name_removes_nothing(run_zoo: Zoo, server: FakeServer, here: Path) -> None:
    url = server.add("/w.pth", BODY)
    run_zoo("download", url)
    assert run_zoo("cache", "rm", url, "resnet50")[0] == 2
    assert len(json.loads(run_zoo("cache", "ls", "--json")[1])) == 1


def test_weights_that_are_missing_are_not_verified(run_zoo: Zoo, here: Path) -> None:
    code, out, _ = run_zoo("verify", "resnet50")
    assert code == 1 and out.startswith("missing  5d061a3c593d resnet50.tv_in1k_v1")


def test_list_says_what_is_cached(run_zoo: Zoo, here: Path) -> None:
    card = hub.get_card("resnet34.tv_in1k_v1")
    cache = hub.default_cache()
    rows = {row["name"]: row for row in json.loads(run_zoo("list", "resnet*", "--json")[1])}
    assert (rows["resnet20"]["cached"], rows["resnet34"]["cached"]) == (True, False)
    assert rows["resnet34"]["parameters"] == card.params
    assert {"bytes", "metrics", "license", "weights"} <= rows["resnet34"].keys()
    # Its digest is known in full after the first download only.
    digest = card.files[0].digest.ljust(64, "0")
    cache.record(f"{card.name}/{str(card.files[0].url).rpartition('/')[2]}", digest)
    cache.blob(digest).parent.mkdir(parents=True)
    cache.blob(digest).write_bytes(b"")
    (row,) = json.loads(run_zoo("list", "resnet34", "--pretrained", "--json")[1])
    assert row["cached"]
    assert " yes " in run_zoo("list", "resnet34")[1]


def test_info_for_programs(run_zoo: Zoo) -> None:
    row = json.loads(run_zoo("info", "resnet34.tv_in1k_v1", "--json")[1])
    assert row["params"] == 21797672 and row["files"][0]["url"].startswith("https://")
    row = json.loads(run_zoo("info", "resnet50", "--json")[1])
    assert [w["name"] for w in row["weights"]][0] == "resnet50.tv_in1k_v1"


def completions(script: Path, *words: str) -> set[str]:
    """What bash offers behind `zoo WORDS`."""
    line = ("zoo", *words)
    program = (
        f'source "{script}"; COMP_WORDS=("$@"); COMP_CWORD={len(words)}; '
        f'_shtab_zoo zoo "$_last" "{line[-2]}"; printf "%s\\n" "${{COMPREPLY[@]}}"'
    )
    result = subprocess.run(
        ["bash", "-c", f"_last={words[-1]!r}; {program}", "bash", *line],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return set(result.stdout.split())


@pytest.mark.skipif(shutil.which("bash") is None, reason="completes in bash")
def test_bash_completes_commands_names_and_flags(run_zoo: Zoo, here: Path) -> None:
    script = here / "completion.sh"
    script.write_text(run_zoo("completion", "bash")[1])
    assert completions(script, "") >= COMMANDS.keys()
    assert completions(script, "cache", "") >= {"ls", "verify", "rm", "path"}
    assert completions(script, "info", "resnet34") == {"resnet34", "resnet34.tv_in1k_v1"}
    assert completions(script, "download", "--l") == {"--lock"}


@pytest.mark.parametrize("shell", ["zsh", "tcsh"])
def test_other_shells_get_a_script_with_every_command(run_zoo: Zoo, shell: str) -> None:
    code, script, _ = run_zoo("completion", shell)
    assert code == 0 and all(name in script for name in (*COMMANDS, "resnet34.tv_in1k_v1"))


@pytest.mark.skipif(os.name == "nt", reason="SIGINT to one process is POSIX")
def test_ctrl_c_and_the_same_command_again(start, environment, server, tmp_path) -> None:
    environment |= {"ZOO_OFFLINE": "", "NO_PROXY": "127.0.0.1"}
    url = server.add("/w.pth", BODY, slow(5_000, 0.1), whole())
    process = start("download", url, preexec_fn=_hear_ctrl_c)
    deadline = time.monotonic() + 30
    while not any(p.stat().st_size > 9000 for p in tmp_path.glob("zoo-home/parts/*.part")):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=30)
    assert (process.returncode, error) == (130, "zoo: interrupted\n")
    process = start("download", url)
    out, error = process.communicate(timeout=30)
    assert process.returncode == 0, error
    assert server.requests[-1].headers["Range"].startswith("bytes=")


def _hear_ctrl_c() -> None:
    # A shell's background job ignores SIGINT, and its children with it.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_unfinished_downloads_are_listed_and_removed(
    run_zoo: Zoo, server: FakeServer, here: Path
) -> None:
    url = server.add("/w.pth", BODY)
    run_zoo("download", url)
    part = Path(os.environ["ZOO_HOME"]) / "parts" / "abc.part"
    part.parent.mkdir(exist_ok=True)
    part.write_bytes(b"begun")
    part.with_suffix(".json").write_text("{}")
    assert "unfinished" in run_zoo("cache", "ls")[1]
    assert run_zoo("cache", "rm", "--unfinished")[0] == 0
    assert list(part.parent.iterdir()) == []
    assert len(json.loads(run_zoo("cache", "ls", "--json")[1])) == 1
    removed = json.loads(run_zoo("cache", "rm", "--all", "--json")[1])
    assert removed["bytes"] == len(BODY)
    assert json.loads(run_zoo("cache", "ls", "--json")[1]) == []
