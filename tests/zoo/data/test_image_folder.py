"""Folder scans: layouts, names, links, what is skipped, and every way a folder can be wrong."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from zoo.data import (
    DataError,
    MissingFolder,
    NoClassFolders,
    NoPictures,
    NotAFolder,
    OneClassOnly,
    StrayClasses,
    prepare_evaluation,
    prepare_folder,
    scan,
)


def names(pictures: Any) -> list[str]:
    return [p.name for p in pictures]


def test_a04_hidden_folders_and_non_pictures_are_nobodys_class(picture: Any) -> None:
    root = picture.classes({"a": 2, "b": 2})
    hidden = root / ".ipynb_checkpoints"
    hidden.mkdir()
    shutil.copy(root / "a" / "00.png", hidden / "00-checkpoint.png")
    for folder in (root, root / "a"):
        for junk in (".DS_Store", "Thumbs.db"):
            (folder / junk).write_bytes(b"junk")
    folder = scan(root)
    assert folder.class_to_index == {"a": 0, "b": 1}
    assert names(folder.train) == ["a/00.png", "a/01.png", "b/00.png", "b/01.png"]
    assert {(s.name, s.reason) for s in folder.skipped} == {
        (".ipynb_checkpoints/", "hidden or system folder"),
        (".DS_Store", "hidden"),
        ("Thumbs.db", "not a picture"),
        ("a/.DS_Store", "hidden"),
        ("a/Thumbs.db", "not a picture"),
    }


def test_hidden_pictures_and_system_folders_inside_a_class_are_skipped(picture: Any) -> None:
    root = picture.classes({"a": 1, "b": 1})
    picture("a/._00.png")
    picture("a/__MACOSX/00.png")
    picture("__MACOSX/a/00.png")
    assert names(scan(root).train) == ["a/00.png", "b/00.png"]


def test_a07_numbered_folders_keep_their_names(picture: Any) -> None:
    root = picture.classes({str(i): 1 for i in range(12)})
    folder = scan(root)
    assert folder.classes == ("0", "1", "10", "11", "2", "3", "4", "5", "6", "7", "8", "9")
    assert folder.class_to_index["10"] == 2


def test_a08_any_suffix_case_spaces_and_letters_are_found_and_decoded(
    picture: Any, tmp_path: Path
) -> None:
    picture("кошки и 猫/IMG 1.JPG")
    picture("кошки и 猫/B.Jpeg")
    picture("кошки и 猫/c.PNG")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for i in range(2):
        picture.noise().save(elsewhere / f"{i}.png")
    (picture.root / "linked").symlink_to(elsewhere, target_is_directory=True)
    prepared = prepare_folder(picture.root)
    assert sum(prepared.audit.train_counts) + sum(prepared.audit.val_counts) == 5
    assert prepared.audit.lines()[0].startswith(f"{picture.root}: 5 pictures in 2 classes")
    found = prepared.train.pictures + prepared.val.pictures
    assert sorted(p.name for p in found if p.class_name != "linked") == [
        "кошки и 猫/B.Jpeg",
        "кошки и 猫/IMG 1.JPG",
        "кошки и 猫/c.PNG",
    ]
    for images in (prepared.train, prepared.val):
        assert all(images.load(i).size == (48, 40) for i in range(len(images)))


def test_pictures_in_subfolders_belong_to_the_class(picture: Any) -> None:
    picture("cat/2023/may/1.png")
    picture("cat/2.png")
    picture("dog/1.png")
    assert names(scan(picture.root).train) == ["cat/2.png", "cat/2023/may/1.png", "dog/1.png"]


def test_a_link_loop_ends_and_is_reported(picture: Any) -> None:
    root = picture.classes({"a": 1, "b": 1})
    (root / "a" / "self").symlink_to(root / "a", target_is_directory=True)
    (root / "a" / "up").symlink_to(root, target_is_directory=True)
    (root / "a" / "knot").symlink_to(root / "a" / "knot")
    (root / "a" / "gone.png").symlink_to(root / "nowhere.png")
    folder = scan(root)
    assert names(folder.train) == ["a/00.png", "b/00.png"]
    assert {(s.name, s.reason) for s in folder.skipped} == {
        ("a/self/", "link to a folder already read"),
        ("a/up/", "link to a folder already read"),
        ("a/knot", "broken link"),
        ("a/gone.png", "broken link"),
    }


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
def test_a_named_pipe_is_skipped_not_waited_for(picture: Any) -> None:
    root = picture.classes({"a": 1, "b": 1})
    os.mkfifo(root / "a" / "pipe.png")
    assert [s.reason for s in scan(root).skipped] == ["not a regular file"]


def test_an_empty_class_folder_is_named_and_gets_no_index(picture: Any) -> None:
    root = picture.classes({"a": 2, "c": 2})
    (root / "b").mkdir()
    folder = scan(root)
    assert folder.classes == ("a", "c")
    assert folder.empty_classes == ("b",)


@pytest.mark.parametrize("name", ["val", "valid", "validation", "test", "Val"])
def test_a_validation_folder_is_used_as_it_is(picture: Any, name: str) -> None:
    picture.classes({"a": 3, "b": 2}, "train")
    root = picture.classes({"a": 1}, name)
    folder = scan(root)
    assert folder.classes == ("a", "b")
    assert len(folder.train) == 5
    assert folder.val is not None and names(folder.val) == [f"{name}/a/00.png"]


def test_val_is_preferred_to_test_which_is_reported(picture: Any) -> None:
    for part in ("train", "test", "val"):
        picture.classes({"a": 1, "b": 1}, part)
    folder = scan(picture.root)
    assert folder.val is not None and names(folder.val) == ["val/a/00.png", "val/b/00.png"]
    assert [(s.name, s.reason) for s in folder.skipped] == [
        ("test/", "folder beside the training part")
    ]


def test_a_train_folder_alone_is_the_training_part(picture: Any) -> None:
    root = picture.classes({"a": 1, "b": 1}, "train")
    folder = scan(root)
    assert folder.classes == ("a", "b")
    assert folder.val is None


def test_train_may_be_a_class_among_vehicles(picture: Any) -> None:
    picture.classes({"car": 1, "plane": 1})
    picture("train/steam/1.png")
    assert scan(picture.root).classes == ("car", "plane", "train")


def test_class_names_written_with_combining_accents_are_the_same_class(picture: Any) -> None:
    picture("train/caf\u00e9/1.png")
    picture("train/tea/1.png")
    picture("val/cafe\u0301/1.png")
    folder = scan(picture.root)
    assert folder.classes == ("caf\u00e9", "tea")
    assert folder.val is not None and folder.val[0].class_name == "caf\u00e9"


def test_validation_labels_use_the_training_mapping_by_name(picture: Any) -> None:
    picture.classes({"a": 1, "b": 1, "c": 1}, "train")
    picture.classes({"c": 2}, "val")
    prepared = prepare_folder(picture.root)
    assert prepared.val.labels.tolist() == [2, 2]
    assert prepared.val.classes == prepared.train.classes == ("a", "b", "c")


def test_validation_classes_unknown_to_training_are_named(picture: Any) -> None:
    picture.classes({"a": 1, "b": 1}, "train")
    picture.classes({"a": 1, "bee": 1, "cat": 1}, "val")
    with pytest.raises(StrayClasses, match="bee, cat") as caught:
        scan(picture.root)
    assert caught.value.names == ("bee", "cat")


def test_an_empty_validation_folder_is_an_error(picture: Any) -> None:
    root = picture.classes({"a": 1, "b": 1}, "train")
    (root / "val" / "a").mkdir(parents=True)
    with pytest.raises(NoPictures, match="Fill it, or remove it"):
        scan(root)


def test_a_missing_folder_says_what_to_make(tmp_path: Path) -> None:
    with pytest.raises(MissingFolder, match="absent: no such folder"):
        scan(tmp_path / "absent")


def test_a_file_instead_of_a_folder_points_to_predict(picture: Any) -> None:
    path = picture("cat.png")
    with pytest.raises(NotAFolder, match=r"cat.png: is a file.*\n.*zoo predict RUN .*cat.png"):
        scan(path)


def test_an_empty_folder_says_what_is_expected(tmp_path: Path) -> None:
    with pytest.raises(NoPictures, match="no pictures found"):
        scan(tmp_path)


def test_class_folders_without_pictures_are_named(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "notes.txt").write_text("no picture")
    with pytest.raises(NoPictures, match="without pictures: a, b"):
        scan(tmp_path)


def test_pictures_without_class_folders_are_an_error_of_their_own(picture: Any) -> None:
    picture("1.png")
    picture("2.png")
    with pytest.raises(NoClassFolders, match=r"2 picture\(s\) lie in no class folder.*\n.*mkdir"):
        scan(picture.root)


def test_one_class_is_refused(picture: Any) -> None:
    root = picture.classes({"cat": 3})
    with pytest.raises(OneClassOnly, match=r"3 picture\(s\), all of one class, 'cat'"):
        scan(root)


def test_one_class_that_holds_the_classes_says_which_folder_to_give(picture: Any) -> None:
    root = picture.classes({"photos/cat": 2, "photos/dog": 2})
    with pytest.raises(OneClassOnly) as caught:
        scan(root)
    assert f'--data "{root / "photos"}"' in str(caught.value)


def test_every_scan_error_is_a_data_error() -> None:
    kinds = (MissingFolder, NotAFolder, NoPictures, NoClassFolders, OneClassOnly, StrayClasses)
    assert all(issubclass(kind, DataError) for kind in kinds)


def test_evaluation_uses_the_models_mapping_and_the_validation_part(picture: Any) -> None:
    picture.classes({"a": 1, "c": 1}, "train")
    picture.classes({"c": 2}, "val")
    images, audit, unknown = prepare_evaluation(picture.root, ["a", "b", "c"])
    assert images.labels.tolist() == [2, 2]
    assert audit.val_counts == (0, 0, 2)
    assert unknown == {}


def test_evaluation_takes_the_whole_folder_where_it_has_no_parts(picture: Any) -> None:
    root = picture.classes({"b": 3})
    images, _, _ = prepare_evaluation(root, ["a", "b"])
    assert images.labels.tolist() == [1, 1, 1]
    assert images.classes == ("a", "b")


def test_evaluation_counts_pictures_of_classes_the_model_does_not_know(picture: Any) -> None:
    root = picture.classes({"a": 1, "z": 2})
    (root / "a" / "broken.png").write_bytes(b"")
    images, _, unknown = prepare_evaluation(root, ["a", "b"])
    assert [images.name(i) for i in range(len(images))] == ["a/00.png"]
    assert unknown == {"z": 2}
    with pytest.raises(StrayClasses, match="(?s)no class called z.*--strict"):
        prepare_evaluation(root, ["a", "b"], strict=True)


def test_evaluation_refuses_where_the_model_knows_none_of_the_classes(picture: Any) -> None:
    root = picture.classes({"y": 1, "z": 1})
    with pytest.raises(StrayClasses, match="the model has no class called y, z"):
        prepare_evaluation(root, ["a", "b"])
