"""The pre-flight audit: what it finds, what it says, and its policy on unreadable files."""

from __future__ import annotations

import io
import json
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import zoo.data.facts as facts_module
from zoo.data import NoPictures, UnreadableImages, prepare_folder
from zoo.data.threads import THREAD_NAME


@pytest.fixture
def broken(picture: Any) -> Path:
    """Two classes of good pictures, three files that are none, and a BMP under a JPEG's name."""
    root: Path = picture.classes({"a": 4, "b": 4})
    whole = picture("a/cut.jpg", picture.noise(200, 200)).read_bytes()
    (root / "a" / "cut.jpg").write_bytes(whole[: len(whole) // 2])
    (root / "b" / "zero.jpg").write_bytes(b"")
    (root / "b" / "text.png").write_text("these are words")
    picture("b/bitmap.jpg", format="BMP")
    return root


def test_a05_unreadable_files_are_named_and_left_out(broken: Path) -> None:
    prepared = prepare_folder(broken)
    assert dict(prepared.audit.unreadable).keys() == {"a/cut.jpg", "b/text.png", "b/zero.jpg"}
    used = {p.name for p in prepared.train.pictures + prepared.val.pictures}
    assert len(used) == 9
    assert "b/bitmap.jpg" in used
    report = "\n".join(prepared.audit.lines())
    assert "Unreadable, left out: 3 file(s)" in report
    assert "  b/zero.jpg: the file is empty (0 bytes)" in report


def test_a05_strict_refuses_and_lists_every_file(broken: Path) -> None:
    with pytest.raises(UnreadableImages, match="3 file") as caught:
        prepare_folder(broken, strict=True)
    assert {Path(f.path) for f in caught.value.failures} == {
        broken / "a" / "cut.jpg",
        broken / "b" / "zero.jpg",
        broken / "b" / "text.png",
    }


def test_strict_accepts_a_folder_without_fault(picture: Any) -> None:
    prepared = prepare_folder(picture.classes({"a": 2, "b": 2}), strict=True)
    assert prepared.audit.unreadable == ()


def test_a_class_of_unreadable_files_only_loses_its_index(picture: Any) -> None:
    root = picture.classes({"a": 2, "c": 2})
    (root / "b").mkdir()
    (root / "b" / "1.png").write_bytes(b"")
    prepared = prepare_folder(root)
    assert prepared.train.classes == ("a", "c")
    assert prepared.audit.empty_classes == ("b",)
    assert prepared.train.labels.tolist() == [0, 1]


def test_a_folder_of_unreadable_files_only_says_so(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / "1.png").write_bytes(b"")
    with pytest.raises(NoPictures, match=r"(?s)no pictures found.*Unreadable.*1\.png: the file is"):
        prepare_folder(tmp_path)


def test_counts_are_given_for_each_class_and_part(picture: Any) -> None:
    audit = prepare_folder(picture.classes({"a": 10, "b": 20})).audit
    assert audit.train_counts == (8, 16)
    assert audit.val_counts == (2, 4)
    table = [line.split() for line in audit.lines()[1:4]]
    assert table == [
        ["index", "class", "train", "val"],
        ["0", "a", "8", "2"],
        ["1", "b", "16", "4"],
    ]


def test_imbalance_is_remarked_on(picture: Any) -> None:
    audit = prepare_folder(picture.classes({"a": 15, "b": 3})).audit
    assert audit.imbalance == 6
    assert any("6.0 times" in line for line in audit.lines())


def test_even_classes_are_not_remarked_on(picture: Any) -> None:
    lines = prepare_folder(picture.classes({"a": 5, "b": 5})).audit.lines()
    assert not any("Uneven" in line for line in lines)


def test_a_class_that_is_not_validated_is_named(picture: Any) -> None:
    lines = prepare_folder(picture.classes({"a": 5, "rare": 1})).audit.lines()
    assert "Not validated, for lack of pictures: rare" in lines


def test_skipped_files_are_counted_by_reason(picture: Any) -> None:
    root = picture.classes({"a": 2, "b": 2})
    for i in range(5):
        (root / "a" / f"{i}.txt").write_text("notes")
    lines = prepare_folder(root).audit.lines()
    assert "Skipped, not a picture: 5 (a/0.txt, a/1.txt, a/2.txt and 2 more)" in lines


def test_identical_files_are_grouped_by_where_they_are(picture: Any) -> None:
    picture.classes({"a": 2, "b": 2}, "train")
    root = picture.classes({"a": 1, "b": 1}, "val")
    shutil.copy(root / "train/a/00.png", root / "train/a/copy.png")
    shutil.copy(root / "train/a/01.png", root / "train/b/copy.png")
    shutil.copy(root / "train/b/00.png", root / "val/b/copy.png")
    audit = prepare_folder(root).audit
    assert audit.duplicates_across_classes == (("train/a/01.png", "train/b/copy.png"),)
    assert audit.duplicates_across_parts == (("train/b/00.png", "val/b/copy.png"),)
    assert set(audit.duplicates_in_class) == {
        ("train/a/00.png", "train/a/copy.png"),
        ("train/b/00.png", "val/b/copy.png"),
    }
    report = "\n".join(audit.lines())
    assert "one label is wrong: 1 group(s), such as train/a/01.png, train/b/copy.png" in report
    assert "in both training and validation" in report


def test_turned_pictures_are_counted(picture: Any) -> None:
    root = picture.classes({"a": 2, "b": 2})
    exif = Image.Exif()
    exif[0x0112] = 6
    picture("a/phone.jpg", exif=exif)
    audit = prepare_folder(root).audit
    assert audit.rotated == 1
    assert "Turned upright by their EXIF orientation: 1" in audit.lines()


def test_tiny_pictures_are_named(picture: Any) -> None:
    root = picture.classes({"a": 2, "b": 2})
    picture("a/icon.png", picture.noise(64, 16))
    assert prepare_folder(root).audit.tiny == ("a/icon.png",)


def test_the_fingerprint_follows_content_and_class(picture: Any) -> None:
    root = picture.classes({"a": 3, "b": 3})
    prints = {prepare_folder(root).audit.fingerprint}
    (root / "a").rename(root / "c")
    prints.add(prepare_folder(root).audit.fingerprint)
    picture("b/00.png")
    prints.add(prepare_folder(root).audit.fingerprint)
    assert len(prints) == 3


def test_the_report_is_plain_json(broken: Path) -> None:
    audit = prepare_folder(broken).audit
    stored = json.loads(json.dumps(audit.to_dict()))
    assert stored["classes"] == ["a", "b"]
    assert ["b/zero.jpg", "the file is empty (0 bytes)"] in stored["unreadable"]
    assert stored["imbalance"] == audit.imbalance


def test_many_classes_are_summed_up(picture: Any) -> None:
    lines = prepare_folder(picture.classes({f"c{i:02}": 2 for i in range(45)})).audit.lines()
    assert "  ... and 5 more classes" in lines


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stream, shown", [(Terminal(), True), (io.StringIO(), False)])
def test_progress_is_drawn_on_the_error_stream_where_that_is_a_terminal(
    stream: io.StringIO, shown: bool, picture: Any, capsys: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr("sys.stderr", stream)
    prepare_folder(picture.classes({"a": 2, "b": 2}), progress=True)
    assert ("Checking pictures" in stream.getvalue() and "0/4" in stream.getvalue()) == shown
    assert capsys.readouterr().out == ""


def test_an_interrupt_stops_the_audit_and_its_threads(picture: Any, monkeypatch: Any) -> None:
    root = picture.classes({"a": 40, "b": 40})
    read: list[str] = []

    def interrupted(path: str, **_: Any) -> bytes:
        read.append(path)
        raise KeyboardInterrupt

    monkeypatch.setattr(facts_module, "read_bytes", interrupted)
    with pytest.raises(KeyboardInterrupt):
        prepare_folder(root, threads=2)
    assert len(read) < 80
    assert not [t for t in threading.enumerate() if t.name.startswith(THREAD_NAME)]
