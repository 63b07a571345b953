"""The bill of materials lists what is there, and the check of a wheel sees what should not be."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sys
import zipfile
from pathlib import Path

import pytest

import hub
from tests.supply_chain import (
    ROOT,
    UNANSWERED,
    audit,
    bill_of_materials,
    differences,
    native_module,
    wheel_faults,
)

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@pytest.fixture(scope="module")
def bill() -> dict:
    return bill_of_materials()


def test_every_dependency_is_listed_with_its_version(bill: dict) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = {
        re.split(r"[>=<;\[ ]", line)[0]
        for line in project["dependencies"]
        if "python_version" not in line
    }
    listed = {c["name"]: c["version"] for c in bill["components"] if c["type"] == "library"}
    assert wanted <= listed.keys() and all(listed.values())
    assert "certifi" in listed  # which requests needs, and zoo does not name


def test_packaged_weights_are_listed_with_the_digest_of_their_card(bill: dict) -> None:
    listed = {c["name"]: c["hashes"][0]["content"] for c in bill["components"] if "hashes" in c}
    for card in hub.load_cards().values():
        for file in card.files:
            if file.packaged:
                assert listed[file.packaged] == file.sha256
    assert "zoo/assets/gpt2.merges.txt.bz2" in listed


def test_equal_environments_give_equal_bytes(bill: dict) -> None:
    assert json.dumps(bill) == json.dumps(bill_of_materials())


def wheel(path: Path, files: dict[str, bytes], untrue: str = "") -> Path:
    files = {"zoo/__init__.py": b"", "engine/_C.cpython-311-x86_64-linux-gnu.so": b"elf", **files}
    rows = []
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
            digest = base64.urlsafe_b64encode(
                hashlib.sha256(b"?" if name == untrue else content).digest()
            )
            rows.append(f"{name},sha256={digest.rstrip(b'=').decode()},{len(content)}")
        archive.writestr("zoo-1.dist-info/RECORD", "\n".join([*rows, "zoo-1.dist-info/RECORD,,\n"]))
    return path


def audited(*rows: dict) -> tuple[int, list[str]]:
    return audit(json.dumps({"dependencies": rows}))


def test_an_audit_lists_faults_and_what_it_could_not_ask() -> None:
    sound = {"name": "a", "version": "1", "vulns": []}
    faulty = {"name": "b", "version": "2", "vulns": [{"id": "X-1", "fix_versions": ["3"]}]}
    unknown = {"name": "c", "skip_reason": "not found"}
    assert audited(sound) == (0, ["a 1: no known fault"])
    assert audited(sound, faulty) == (1, ["a 1: no known fault", "b 2: X-1, mended in 3"])
    assert audited(sound, unknown)[0] == UNANSWERED
    assert audited(faulty, unknown)[0] == audited(unknown, faulty)[0] == 1
    for nothing in ("", "Traceback ...", "{}"):
        code, lines = audit(nothing)
        assert code == UNANSWERED and "NOT AUDITED" in lines[0]


def test_two_builds_are_compared_byte_for_byte(tmp_path: Path) -> None:
    modules = []
    for name, content in (("one", b"abcd"), ("same", b"abcd"), ("other", b"abXdY")):
        folder = tmp_path / name / "lib/python3.11/site-packages/engine"
        folder.mkdir(parents=True)
        (folder / "_C.cpython-311-x86_64-linux-gnu.so").write_bytes(content)
        (folder / "_C.pyi").write_bytes(b"")
        (tmp_path / name / "lib64").symlink_to("lib")
        modules.append(native_module(tmp_path / name))
    assert differences(modules[0], modules[1]) == []
    assert "differ in 2 bytes, the first at 0x2" in differences(modules[0], modules[2])[0]
    with pytest.raises(SystemExit, match="found 0"):
        native_module(tmp_path / "nowhere")


def test_a_sound_wheel(tmp_path: Path) -> None:
    assert wheel_faults(wheel(tmp_path / "a.whl", {"hub/model_cards/x.y.md": b"x"})) == []


@pytest.mark.parametrize(
    ("files", "untrue", "says"),
    [
        ({"evil.pth": b"import os"}, "", "evil.pth: not expected"),
        ({"zoo/.env": b"KEY=1"}, "", "zoo/.env: not expected"),
        ({"engine/_D.so": b""}, "", "engine/_D.so: not expected"),
        ({"engine/_C.cpython-310-x86_64-linux-gnu.so": b""}, "", "not exactly one"),
        ({}, "zoo/__init__.py", "zoo/__init__.py: not as RECORD says"),
    ],
)
def test_what_should_not_be_in_a_wheel(
    tmp_path: Path, files: dict[str, bytes], untrue: str, says: str
) -> None:
    assert any(says in fault for fault in wheel_faults(wheel(tmp_path / "a.whl", files, untrue)))
