"""What `zoo doctor` finds: each thing that can be wrong is made wrong here."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

import hub
from cli.commands import doctor as command
from cli.main import main
from zoo.doctor import Finding, examine, installation, machine, storage

Run = Callable[[], tuple[int, dict[str, Finding]]]


@pytest.fixture(autouse=True)
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ZOO_HOME", str(tmp_path / "cache"))
    for name in (
        "ZOO_OFFLINE", "ZOO_LOCK", "ZOO_MIRROR", "ZOO_SHARED", "ZOO_CPU_ISA", "ZOO_NUM_THREADS",
        "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_ENDPOINT", "HTTPS_PROXY", "https_proxy",
    ):  # fmt: skip
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """run() -> (exit code, findings by name) of `zoo doctor --json`."""

    def run() -> tuple[int, dict[str, Finding]]:
        code = main(["doctor", "--json"])
        facts = json.loads(capsys.readouterr().out)
        assert facts["ok"] == (code == 0)
        return code, {row["name"]: Finding(**row) for row in facts["findings"]}

    return run


def test_a_sound_machine_is_told_so(run: Run) -> None:
    code, found = run()
    broken = [finding for finding in found.values() if finding.state == "broken"]
    assert (code, broken) == (0, [])
    assert {"system", "processor", "instruction set", "threads", "memory", "GPU", "arithmetic",
            "cache", "disk", "mode", "zoo", "Python", "numpy"} <= found.keys()  # fmt: skip
    assert found["mode"].value == "online"


def test_nothing_is_made_by_looking(tmp_path: Path) -> None:
    examine()
    assert list(tmp_path.iterdir()) == []


def test_every_finding_that_is_not_ok_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZOO_NUM_THREADS", "many")
    monkeypatch.setenv("ZOO_CPU_ISA", "mmx")
    monkeypatch.setenv("ZOO_MIRROR", "gopher://mirror")
    monkeypatch.setenv("ZOO_SHARED", "/nowhere")
    bad = [finding for finding in examine() if finding.state != "ok"]
    assert {f.name for f in bad} >= {"threads", "instruction set", "mirror", "shared cache"}
    assert all(finding.advice for finding in bad)


def test_a_lowered_instruction_set_is_noticed() -> None:
    best = machine._best_isa()
    code = "from zoo.doctor.machine import findings; print(*findings(), sep='\\n')"
    environment = {"ZOO_CPU_ISA": "baseline", "PYTHONPATH": ":".join(sys.path)}
    out = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    ).stdout
    (line,) = (line for line in out.splitlines() if "instruction set" in line)
    assert f"baseline in use, {best} available" in line or best == "baseline"


def test_more_threads_than_cpus_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = SimpleNamespace(get_num_threads=lambda: 64)
    monkeypatch.setattr(machine, "usable_cpus", lambda: 4)
    finding = machine._threads(engine)  # type: ignore[arg-type]
    assert finding.state == "note" and "ZOO_NUM_THREADS=4" in finding.advice


def test_a_container_with_less_time_than_cpus_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = SimpleNamespace(get_num_threads=lambda: 4)
    monkeypatch.setattr(machine, "usable_cpus", lambda: 4)
    monkeypatch.setattr(machine, "cpu_quota", lambda: 1.5)
    finding = machine._threads(engine)  # type: ignore[arg-type]
    assert finding.state == "note" and "ZOO_NUM_THREADS=2" in finding.advice


def test_an_engine_that_computes_wrongly_is_broken() -> None:
    import engine

    class Wrong:
        @staticmethod
        def asarray(array: object) -> object:
            return engine.asarray(array) * 1.01

    finding = machine._sums(Wrong)  # type: ignore[arg-type]
    assert finding.state == "broken" and "ZOO_CPU_ISA=baseline" in finding.advice
    assert machine._sums(engine).state == "ok"


def test_an_engine_that_cannot_be_loaded_is_broken(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "engine", None)  # type: ignore[arg-type]
    code = machine.findings()
    (finding,) = (finding for finding in code if finding.name == "engine")
    assert finding.state == "broken" and "install" in finding.advice


@pytest.mark.parametrize(
    ("rows", "states"),
    [
        ([("NVIDIA driver", "missing", "no driver", "install one")], ["ok"]),
        (
            [("NVIDIA driver", "found", "12", ""), ("cuDNN", "missing", "absent", "pip")],
            ["ok", "note"],
        ),
        ([("NVIDIA driver", "wrong", "11", "newer"), ("GPU", "found", "x", "")], ["note", "ok"]),
    ],
)
def test_what_the_engine_says_of_a_gpu_is_passed_on(
    rows: list[tuple[str, str, str, str]], states: list[str]
) -> None:
    keys = ("name", "state", "detail", "advice")
    found = machine._of_cuda([SimpleNamespace(**dict(zip(keys, row, strict=True))) for row in rows])
    assert [finding.state for finding in found] == states


def test_a_cache_that_is_a_file_is_broken(run: Run, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("")
    code, found = run()
    assert code == 1
    assert found["cache"].state == "broken" and "ZOO_HOME" in found["cache"].advice


def test_a_cache_below_a_file_is_broken(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ZOO_HOME", str(tmp_path / "file" / "cache"))
    code, found = run()
    assert code == 1 and found["cache"].state == "broken"


def test_a_cache_without_permission_is_broken(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cache").mkdir()
    # The superuser may write anywhere: ask as somebody else would be answered.
    monkeypatch.setattr(storage.os, "access", lambda path, mode: False)
    code, found = run()
    assert code == 1 and "no permission" in found["cache"].value


def test_damaged_digests_are_broken_and_named(run: Run, tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "lock.json").write_text("{")
    code, found = run()
    assert code == 1 and "lock.json" in found["digests"].value and "rm " in found["digests"].advice


def test_a_file_of_the_wrong_size_is_broken(run: Run, tmp_path: Path) -> None:
    card = next(
        file for card in hub.load_cards().values() for file in card.files
        if file.bytes and file.sha256 and len(file.sha256) == 64
    )  # fmt: skip
    blobs = tmp_path / "cache" / "blobs"
    blobs.mkdir(parents=True)
    (blobs / card.sha256).write_bytes(b"short")
    code, found = run()
    assert code == 1 and "wrong size" in found["cache"].value
    assert card.sha256[:12] in found["cache"].advice


def test_unfinished_downloads_are_noticed(run: Run, tmp_path: Path) -> None:
    parts = tmp_path / "cache" / "parts"
    parts.mkdir(parents=True)
    (parts / "abc.part").write_bytes(b"x" * 10)
    code, found = run()
    assert code == 0 and found["unfinished"].state == "note"
    assert "zoo cache rm --unfinished" in found["unfinished"].advice


def test_a_damaged_zoo_lock_is_broken(run: Run, tmp_path: Path) -> None:
    (tmp_path / "zoo.lock").write_text("[]")
    code, found = run()
    assert code == 1 and found["zoo.lock"].state == "broken"


def test_little_room_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage.shutil, "disk_usage", lambda path: SimpleNamespace(free=1e9))
    (disk,) = (finding for finding in storage.findings() if finding.name == "disk")
    assert disk.state == "note" and "1.0 GB" in disk.value


def test_settings_of_the_network_are_shown_without_secrets(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZOO_MIRROR", "https://me:secret@mirror.example/zoo")
    monkeypatch.setenv("https_proxy", "http://me:secret@proxy.example:3128")
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    monkeypatch.setenv("ZOO_OFFLINE", "1")
    _, found = run()
    assert found["mirror"].value == "https://mirror.example/zoo"
    assert found["HTTPS_PROXY"].value == "http://proxy.example:3128"
    assert found["HF_TOKEN"].value == "set (not shown)"
    assert found["mode"].value.startswith("offline")
    assert "secret" not in str(found)


def test_a_token_that_is_none_is_broken_and_not_shown(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "two words")
    code, found = run()
    assert code == 1 and found["HF_TOKEN"].state == "broken"
    assert "two words" not in str(found)


@pytest.mark.parametrize(
    ("have", "state"), [(None, "broken"), ("1.25.9", "broken"), ("1.26", "ok"), ("2.4.1", "ok")]
)
def test_versions_are_compared_with_what_is_needed(
    monkeypatch: pytest.MonkeyPatch, have: str | None, state: str
) -> None:
    monkeypatch.setattr(installation, "version_of", lambda name: have)
    (finding,) = installation._required("numpy>=1.26")
    assert finding.state == state
    assert state == "ok" or "pip install" in finding.advice


def test_what_is_for_other_pythons_is_not_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "version_of", lambda name: None)
    assert list(installation._required("tomli>=2.0; python_version < '3.11'")) == []


def test_damaged_weights_of_the_package_are_broken(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    copy = tmp_path / "weights"
    copy.write_bytes(b"not them")
    monkeypatch.setattr(installation, "packaged_path", lambda file: copy if file.packaged else None)
    found = list(installation._packaged())
    assert found and all(finding.state == "broken" for finding in found)
    assert all("damaged" in finding.value for finding in found)


def test_the_page_marks_what_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    found = [
        Finding("machine", "threads", "64 for 4 CPUs", "note", "type: export ZOO_NUM_THREADS=4"),
        Finding("weights", "cache", "/c is a file", "broken", "Set ZOO_HOME " + "word " * 30),
    ]
    lines = list(command._lines(found))
    assert "~ threads  64 for 4 CPUs" in lines and "! cache    /c is a file" in lines
    assert lines[-1] == "1 thing broken, marked with !"
    assert max(map(len, lines)) <= 80
