"""Moving files out of a data set: what is proposed, and that it can be undone."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from zoo.data import prepare_folder
from zoo.data.set_aside import aside_folder, proposals, set_aside


def proposed(root: Path) -> dict[str, tuple[str, ...]]:
    prepared = prepare_folder(root)
    names = [picture.name for picture in prepared.train.pictures]
    return {p.why: p.names for p in proposals(prepared.audit, names)}


def test_each_file_is_proposed_once_for_the_surest_reason(picture: Any) -> None:
    root = picture.classes({"a": 3, "b": 3}, part="train")
    picture.classes({"a": 2, "b": 2}, part="val")
    image = picture.noise(200, 160)
    for name in ("train/a/x.png", "train/a/y.png", "val/a/x.png", "train/b/x.png"):
        picture(name, image)
    shutil.copy(root / "train/b/00.png", root / "train/b/copy.png")
    picture("train/a/small.jpg", image.resize((100, 80)))
    (root / "train/b/cut.png").write_bytes(b"\x89PNG")
    assert proposed(root) == {
        "not readable as pictures": ("train/b/cut.png",),
        "identical to validation pictures": ("train/a/x.png", "train/a/y.png", "train/b/x.png"),
        "identical to others of their class": ("train/b/copy.png",),
        "alike validation pictures": ("train/a/small.jpg",),
    }


def test_one_picture_under_two_labels_is_left_to_people(picture: Any) -> None:
    root = picture.classes({"a": 2, "b": 2})
    shutil.copy(root / "a/00.png", root / "b/same.png")
    assert proposed(root) == {}


def test_moved_files_keep_their_paths_and_can_be_moved_back(picture: Any) -> None:
    root = picture.classes({"a": 2, "b": 2})
    content = (root / "a/00.png").read_bytes()
    target = aside_folder(root)
    assert target == root.with_name("data.aside")
    assert set_aside(root, ["a/00.png", "gone.png"], target) == 1
    assert not (root / "a/00.png").exists()
    assert (target / "a/00.png").read_bytes() == content
    assert aside_folder(root) == root.with_name("data.aside-2")
    assert set_aside(target, ["a/00.png"], root) == 1
    assert (root / "a/00.png").read_bytes() == content


def test_nothing_is_ever_overwritten(picture: Any) -> None:
    root = picture.classes({"a": 2, "b": 2})
    target = aside_folder(root)
    (target / "a").mkdir(parents=True)
    (target / "a/00.png").write_text("older")
    assert set_aside(root, ["a/00.png"], target) == 0
    assert (root / "a/00.png").exists() and (target / "a/00.png").read_text() == "older"
