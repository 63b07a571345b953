"""The page's server, by HTTP: what it answers, and what it refuses."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PIL import Image

import zoo
from cli.page.answers import MOST_BYTES, shown_name
from cli.page.guard import why_refused
from tests.cli.conftest import environment_in, finish, start_in
from tests.demo_server import PAGE, Demo, file_of, picture, serving

EXTERNAL = re.compile(rb"""(?:src|href|from|import|url)\s*[=(:]?\s*["'(]\s*(?:https?:)?//""")


@pytest.fixture(scope="module")
def demo(
    tmp_path_factory: pytest.TempPathFactory, finished_run: tuple[Path, Path]
) -> Iterator[Demo]:
    """A page with a finished run, a run in progress, and what is in the package."""
    folder = tmp_path_factory.mktemp("demo")
    shutil.copytree(finished_run[0], folder / "done")
    shutil.copytree(finished_run[0], folder / "going")
    (folder / "going" / "summary.json").unlink()
    rows = (folder / "going" / "metrics.jsonl").read_text().splitlines(keepends=True)
    ends = [i for i, row in enumerate(rows) if json.loads(row)["kind"] == "epoch"]
    (folder / "going" / "metrics.jsonl").write_text("".join(rows[: ends[0] + 3]))
    (folder / "secret.txt").write_text("secret")
    with serving(folder, ["done", "going"]) as running:
        yield running


# Reading


def test_the_page_and_all_its_files_are_served_by_this_server_alone(demo: Demo) -> None:
    page = demo.ask("GET", "/")
    assert page.status == 200 and page.headers["Content-Type"].startswith("text/html")
    named = re.findall(r'(?:src|href)="(/[^"]+)"', page.body.decode())
    scripts = [name for name in named if name.endswith(".js")]
    for name in scripts:
        body = demo.ask("GET", name).body.decode()
        named += [found for found in re.findall(r'from "(/[^"]+)"', body) if found not in named]
    assert {"/page.css", "/report.css", "/page.js", "/pictures.js", "/text.js", "/runs.js"} <= set(
        named
    )
    for name in named:
        answer = demo.ask("GET", name)
        assert answer.status == 200 and answer.body, name
        assert not EXTERNAL.search(answer.body), name


def test_every_answer_carries_a_policy_that_runs_nothing_else(demo: Demo) -> None:
    for method, path in (
        ("GET", "/"),
        ("GET", "/nowhere"),
        ("GET", "/api/state"),
        ("POST", "/api/look"),
    ):
        headers = demo.ask(method, path).headers
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "script-src 'self'" in policy
        assert "unsafe" not in policy and "frame-ancestors 'none'" in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert "Access-Control-Allow-Origin" not in headers and "Server" not in headers


def test_the_page_has_no_inline_script_or_style(demo: Demo) -> None:
    text = demo.ask("GET", "/").body.decode()
    assert re.findall(r"<script(?![^>]*src=)", text) == []
    assert "<style" not in text and " style=" not in text and not re.search(r"\son\w+=", text)


def test_runs_and_embedded_models_are_offered(demo: Demo) -> None:
    offers = {o["name"]: o for o in demo.ask("GET", "/api/state").json["offers"]}
    assert offers["done"]["group"] == "runs" and offers["done"]["kind"] == "pictures"
    assert offers["resnet20"]["group"] == "models" and offers["resnet20"]["kind"] == "pictures"
    assert offers["gpt_shakespeare"]["kind"] == "text"
    assert "resnet50" not in offers  # it would need a download


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt", "/static/../../app.py",
        "//etc/passwd", "/api/runs/../../secret.txt", "/api/runs/..%2f..%2fsecret.txt",
        "/api/runs/done", "/api/runs/99", "/secret.txt", "/app.py", "/page.css/../app.py",
    ],
)  # fmt: skip
def test_no_path_leads_to_a_file_of_the_disk(demo: Demo, path: str) -> None:
    answer = demo.ask("GET", path)
    assert answer.status in (403, 404) and "error" in answer.json
    assert b"secret" not in answer.body.replace(b"secret.txt", b"")


# Who may ask


def test_other_names_of_this_machine_are_not_answered(demo: Demo) -> None:
    for host in (
        "evil.example",
        f"evil.example:{demo.port}",
        "127.0.0.1.evil.example",
        "0.0.0.0",
        "",
    ):
        answer = demo.ask("GET", "/api/state", headers={"Host": host})
        assert answer.status in (400, 403), host
        assert b"offers" not in answer.body
    assert demo.ask("GET", "/", headers={"Host": "localhost:9"}).status == 200  # an SSH tunnel


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"X-Zoo": ""},
    ],
)
def test_other_pages_are_not_answered(demo: Demo, headers: dict[str, str]) -> None:
    wanted = json.dumps({"model": demo.key("gpt_shakespeare"), "prompt": "x"}).encode()
    answer = demo.ask("POST", "/api/write", wanted, headers)
    assert answer.status == 403 and answer.error


def test_a_link_to_the_page_may_be_followed_and_nothing_else(demo: Demo) -> None:
    followed = {
        "Sec-Fetch-Site": "cross-site",
        "Sec-Fetch-Mode": "navigate",
        "Sec-Fetch-Dest": "document",
    }
    assert demo.ask("GET", "/", headers=followed).status == 200
    assert demo.ask("GET", "/", headers={**followed, "Sec-Fetch-Dest": "iframe"}).status == 403
    assert demo.ask("GET", "/api/state", headers=followed).status == 403
    assert demo.ask("POST", "/", headers=followed).status == 403


def test_a_preflight_is_never_granted(demo: Demo) -> None:
    answer = demo.ask("OPTIONS", "/api/look", headers={"Origin": "https://evil.example"})
    assert answer.status == 403
    assert not [name for name in answer.headers if name.startswith("Access-Control")]


def test_the_page_itself_is_answered() -> None:
    asked = {
        "REQUEST_METHOD": "POST",
        "HTTP_HOST": "localhost:8765",
        "HTTP_ORIGIN": "http://localhost:8765",
        "HTTP_SEC_FETCH_SITE": "same-origin",
        "HTTP_X_ZOO": "page",
    }
    assert why_refused(asked) is None
    assert why_refused({**asked, "HTTP_HOST": "[::1]:1", "HTTP_ORIGIN": "http://[::1]:1"}) is None
    assert why_refused({**asked, "HTTP_HOST": "["}) is not None


@pytest.mark.skipif(sys.platform != "linux", reason="only there is all of 127.0.0.0/8 this machine")
def test_it_listens_on_loopback_alone(demo: Demo) -> None:
    with socket.socket() as other, pytest.raises(ConnectionRefusedError):
        other.connect(("127.0.0.2", demo.port))


# Pictures


def test_a_picture_gets_what_predict_says_and_where_the_model_looked(
    demo: Demo, tmp_path: Path
) -> None:
    data = picture(40)
    (tmp_path / "a.png").write_bytes(data)
    answer = demo.look(data)
    assert answer.status == 200
    said = [(row["class"], row["probability"]) for row in answer.json["top"]]
    expected = zoo.load("resnet20").predict(tmp_path / "a.png", topk=5).top
    assert [name for name, _ in said] == [name for name, _ in expected]
    assert [p for _, p in said] == pytest.approx([p for _, p in expected], rel=1e-5)
    assert (answer.json["width"], answer.json["height"]) == (40, 40)
    for address in (answer.json["seen"], answer.json["heat"]):
        assert address.startswith("data:image/jpeg;base64,")
    assert answer.json["seen"] != answer.json["heat"]
    assert answer.json["explained"] == said[0][0]


def test_another_class_can_be_explained(demo: Demo) -> None:
    first = demo.look(picture()).json
    other = first["top"][3]
    again = demo.look(picture(), more=f"&explain={other['number']}").json
    assert again["explained"] == other["class"] and again["heat"] != first["heat"]
    refused = demo.look(picture(), more="&explain=9999")
    assert refused.status == 400 and "9999" in refused.error


def test_a_run_that_is_in_progress_answers_too(demo: Demo) -> None:
    answer = demo.look(picture(), model="going")
    assert {row["class"] for row in answer.json["top"]} == {"red", "blue"}


def bomb() -> bytes:
    """A PNG of 100 kB that unpacks to 300 MB."""
    return file_of(Image.new("1", (10_000, 10_000)))


@pytest.mark.parametrize(
    ("name", "data", "status", "says"),
    [
        ("large.jpg", lambda: b"\xff" * 50_000_000, 413, "large.jpg: 50 MB; expected at most"),
        ("notes.txt", lambda: b"just some words\n" * 40, 415, "notes.txt: not a picture"),
        ("empty.png", bytes, 400, "empty.png: the file is empty"),
        ("cut.png", lambda: picture(64)[:900], 415, "cut.png: damaged or truncated"),
        ("page.svg", lambda: b"<svg xmlns='http://www.w3.org/2000/svg'/>", 415, "not a picture"),
        ("bomb.png", bomb, 415, "megapixels"),
        ("photo.heic", lambda: b"\0\0\0\x18ftypheic" + b"\0" * 40, 415, "HEIC"),
    ],
)
def test_what_is_no_picture_is_refused_with_a_reason(
    demo: Demo, name: str, data: Callable[[], bytes], status: int, says: str
) -> None:
    answer = demo.look(data(), name)
    assert (answer.status, says in answer.error) == (status, True), answer.error
    assert demo.ask("GET", "/api/state").status == 200  # it goes on


def test_more_than_the_server_takes_is_refused_before_it_arrives(demo: Demo) -> None:
    connection = demo.connect()
    connection.putrequest("POST", f"/api/look?model={demo.key('resnet20')}&name=huge.png")
    connection.putheader("X-Zoo", "page")
    connection.putheader("Content-Length", str(10**12))
    connection.endheaders()
    assert connection.getresponse().status == 413
    connection.close()


def test_twenty_pictures_are_answered_each(demo: Demo) -> None:
    tops = [demo.look(picture(32, seed=i), f"{i}.png").json for i in range(20)]
    assert [top["name"] for top in tops] == [f"{i}.png" for i in range(20)]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("../../outside.png", "outside.png"),
        ("..\\..\\outside.png", "outside.png"),
        ("/etc/passwd", "passwd"),
        ("..", "picture"),
        ("", "picture"),
        ("a\x00b\u202egnp.png", "a\ufffdb\ufffdgnp.png"),
        ("x" * 5000, "x" * 100),
    ],
)
def test_a_name_is_a_label_and_never_a_path(demo: Demo, name: str, shown: str) -> None:
    before = sorted(path for path in demo.folder.parent.rglob("*"))
    assert shown_name(name) == shown
    answer = demo.look(picture(), name)
    assert (answer.status, answer.json["name"]) == (200, shown)
    assert sorted(path for path in demo.folder.parent.rglob("*")) == before  # nothing was written


def test_a_model_that_is_not_offered_is_refused(demo: Demo) -> None:
    for model in ("99", "../done", "resnet50", ""):
        answer = demo.ask("POST", f"/api/look?model={model}&name=a.png", picture())
        assert answer.status == 404 and "not offered" in answer.error


def test_a_picture_for_a_language_model_is_refused(demo: Demo) -> None:
    answer = demo.look(picture(), model="gpt_shakespeare")
    assert answer.status == 400 and "writes text" in answer.error


# Text


def test_text_comes_in_pieces_and_is_what_generate_gives(demo: Demo) -> None:
    answer = demo.write(prompt="ROMEO:", max_tokens=30, temperature=0.8, seed=3)
    assert answer.headers["Content-Type"].startswith("text/event-stream")
    *pieces, (last, end) = answer.events
    assert len(pieces) > 5 and {name for name, _ in pieces} == {"piece"}
    expected = zoo.load("gpt_shakespeare").generate(
        "ROMEO:", max_tokens=30, temperature=0.8, seed=3, window=True
    )
    assert "".join(value["text"] for _, value in pieces) == "".join(expected)
    assert last == "end" and end["reason"] == "end"


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"max_tokens": 100_000}, "expected 1 to 500"),
        ({"max_tokens": True}, "expected 1 to 500"),
        ({"temperature": -1}, "temperature=-1"),
        ({"temperature": "hot"}, "temperature='hot'"),
        ({"prompt": "x" * 20_001}, "20,001 characters"),
        ({"prompt": ["x"]}, "no text"),
        ({"beams": 50}, "unknown settings: beams"),
    ],
)
def test_settings_that_cannot_work_are_refused(
    demo: Demo, settings: dict[str, object], says: str
) -> None:
    answer = demo.write(**{"prompt": "x", **settings})
    assert answer.status == 400 and says in answer.error


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"[" * 50_000, b'"x"', b"\xff\xfe"])
def test_what_is_no_json_is_refused(demo: Demo, body: bytes) -> None:
    answer = demo.ask("POST", "/api/write", body)
    assert answer.status == 400 and "JSON" in answer.error


def test_text_of_a_model_of_pictures_is_refused(demo: Demo) -> None:
    answer = demo.write(model="resnet20", prompt="x")
    assert answer.status == 400 and "looks at pictures" in answer.error


def test_whoever_leaves_ends_the_text_and_the_page_goes_on(demo: Demo) -> None:
    wanted = {"model": demo.key("gpt_shakespeare"), "prompt": "x", "max_tokens": 500}
    leaving = []
    for _ in range(8):  # more than there are threads: one that went on would block the page
        connection = demo.connect()
        connection.request("POST", "/api/write", json.dumps(wanted), PAGE)
        reply = connection.getresponse()
        assert reply.readline().startswith(b"event: ")
        leaving.append(connection)
        connection.sock.close() if connection.sock else None
        reply.close()
        connection.close()
    started = time.monotonic()
    assert demo.look(picture()).status == 200
    assert time.monotonic() - started < 20


# Runs


def test_a_finished_run_is_shown(demo: Demo) -> None:
    live = demo.ask("GET", f"/api/runs/{demo.key('done')}").json
    assert (live["state"], live["epoch"], live["epochs"], live["share"]) == ("finished", 3, 3, 1.0)
    assert live["result"]["accuracy"] > 0 and live["secondsLeft"] is None
    assert live["charts"].count("<svg") == 3 and "<script" not in live["charts"]


def test_a_run_in_progress_is_shown_with_what_is_left(demo: Demo) -> None:
    live = demo.ask("GET", f"/api/runs/{demo.key('going')}").json
    assert (live["state"], live["epoch"], live["epochs"]) == ("running", 1, 3)
    assert 1 / 3 < live["share"] < 2 / 3 and live["secondsLeft"] >= 0


def test_the_report_of_a_run_is_shown_and_can_do_nothing(demo: Demo) -> None:
    assert demo.ask("GET", f"/api/runs/{demo.key('done')}").json["report"]
    answer = demo.ask("GET", f"/runs/{demo.key('done')}/report")
    assert answer.status == 200 and answer.body == (demo.folder / "done/report.html").read_bytes()
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("sandbox; default-src 'none'") and "script" not in policy
    (demo.folder / "going" / "report.html").unlink()
    (demo.folder / "going" / "report.html").symlink_to(demo.folder / "secret.txt")
    for name in ("going", "resnet20"):
        answer = demo.ask("GET", f"/runs/{demo.key(name)}/report")
        assert answer.status == 404 and "no report" in answer.error


def test_a_model_is_no_run(demo: Demo) -> None:
    answer = demo.ask("GET", f"/api/runs/{demo.key('resnet20')}")
    assert answer.status == 400 and "not a run" in answer.error


# The command


def command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return finish(start_in(folder, environment_in(folder), ("demo", "--no-browser", *arguments)))


def test_a_run_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for name, code in (("empty", 1), ("no/such/run", 1), ("resnet5O", 2)):
        result = command(tmp_path, name)
        assert result.returncode == code and name in result.stderr, result.stderr


def test_a_port_that_is_taken_is_refused(demo: Demo, tmp_path: Path) -> None:
    result = command(tmp_path, "--port", str(demo.port))
    assert result.returncode == 2 and "--port 0" in result.stderr


def test_without_its_packages_it_says_what_to_install(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['bottle'] = None\n"
        "from cli.main import main; sys.exit(main(['demo']))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], env=environment_in(tmp_path), cwd=tmp_path,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 1 and "pip install 'zoo[demo]'" in result.stderr


def test_runs_in_the_working_folder_are_offered(
    finished_run: tuple[Path, Path], tmp_path: Path
) -> None:
    shutil.copytree(finished_run[0], tmp_path / "runs" / "colours-1")
    (tmp_path / "runs" / "not-a-run").mkdir()
    with serving(tmp_path) as here:
        names = [offer["name"] for offer in here.ask("GET", "/api/state").json["offers"]]
    assert names[0] == "runs/colours-1" and "resnet20" in names


def test_ctrl_c_ends_it(tmp_path: Path) -> None:
    with serving(tmp_path) as here:
        pass
    assert here.process.returncode == 0


def test_limits_are_those_that_the_page_tells(demo: Demo) -> None:
    assert demo.ask("GET", "/api/state").json["limits"]["bytes"] == MOST_BYTES
