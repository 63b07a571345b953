"""The automatic split: by content, stratified, deterministic."""

from __future__ import annotations

import shutil
from typing import Any

import numpy as np
import pytest

from zoo.data import ArrayImages, DataError, prepare_folder, split, split_by_content


def digests(n: int, prefix: str = "") -> list[bytes]:
    return [f"{prefix}{i}".encode() for i in range(n)]


def test_the_same_seed_gives_the_same_split() -> None:
    labels = np.arange(100) % 3
    first, again = (split_by_content(labels, digests(100), 0.2, seed=5) for _ in range(2))
    np.testing.assert_array_equal(first[0], again[0])
    np.testing.assert_array_equal(first[1], again[1])


def test_another_seed_gives_another_split() -> None:
    labels = np.arange(100) % 3
    one, other = (split_by_content(labels, digests(100), 0.2, seed=s)[1] for s in (0, 1))
    assert not np.array_equal(one, other)


def test_the_parts_hold_every_picture_once() -> None:
    train, val = split_by_content(np.arange(57) % 4, digests(57))
    assert sorted([*train, *val]) == list(range(57))


def test_each_class_gives_its_fraction() -> None:
    labels = np.repeat([0, 1, 2], [100, 50, 10])
    _, val = split_by_content(labels, digests(160), 0.2)
    assert np.bincount(labels[val]).tolist() == [20, 10, 2]


def test_a_class_of_two_gives_one_and_a_class_of_one_gives_none() -> None:
    labels = np.array([0, 0, 1])
    _, val = split_by_content(labels, digests(3), 0.2)
    assert np.bincount(labels[val], minlength=2).tolist() == [1, 0]


def test_a_class_is_never_all_validation() -> None:
    labels = np.zeros(3, int)
    train, _ = split_by_content(labels, digests(3), 0.99)
    assert len(train) == 1


def test_order_does_not_matter() -> None:
    labels, contents = np.arange(40) % 2, digests(40)
    _, val = split_by_content(labels, contents)
    shuffled = np.random.default_rng(0).permutation(40)
    _, val_shuffled = split_by_content(labels[shuffled], [contents[i] for i in shuffled])
    assert {contents[i] for i in val} == {contents[shuffled[i]] for i in val_shuffled}


def test_duplicates_fall_on_the_same_side() -> None:
    contents = digests(30) * 2
    train, val = split_by_content(np.zeros(60, int), contents)
    assert not {contents[i] for i in train} & {contents[i] for i in val}


def test_duplicates_across_classes_fall_on_the_same_side() -> None:
    contents = digests(30) + digests(20) + digests(10, "own")
    labels = np.repeat([0, 1], [30, 30])
    train, val = split_by_content(labels, contents, 0.3)
    assert not {contents[i] for i in train} & {contents[i] for i in val}
    assert np.bincount(labels[val]).tolist() == [9, 9]


def test_adding_a_picture_moves_at_most_one_other() -> None:
    contents = digests(51)
    _, before = split_by_content(np.zeros(50, int), contents[:50])
    _, after = split_by_content(np.zeros(51, int), contents)
    assert len(set(before) ^ set(after)) <= 2


@pytest.mark.parametrize("fraction", [0.0, 1.0, -0.1, 20])
def test_a_fraction_out_of_range_is_refused(fraction: float) -> None:
    with pytest.raises(ValueError, match=r"val_fraction=.*above 0 and below 1"):
        split_by_content([0, 0], digests(2), fraction)


def test_renaming_files_does_not_move_pictures(picture: Any) -> None:
    root = picture.classes({"a": 10, "b": 10})
    before = prepare_folder(root)
    for path in sorted((root / "a").iterdir()):
        path.rename(path.with_name(f"z{99 - int(path.stem)}.png"))
    after = prepare_folder(root)

    def contents(images: Any) -> set[bytes]:
        return {images.digest(i) for i in range(len(images))}

    assert contents(before.val) == contents(after.val)
    assert before.audit.fingerprint == after.audit.fingerprint


def test_a_copy_under_another_name_does_not_leak_into_validation(picture: Any) -> None:
    root = picture.classes({"a": 10, "b": 10})
    for path in sorted((root / "a").iterdir()):
        shutil.copy(path, path.with_name(f"copy of {path.name}"))
    prepared = prepare_folder(root)
    assert prepared.audit.duplicates_across_parts == ()
    assert len(prepared.audit.duplicates_in_class) == 10


def test_nothing_to_validate_on_is_an_error(picture: Any) -> None:
    root = picture.classes({"a": 1, "b": 1})
    with pytest.raises(DataError, match="no class has two distinct pictures"):
        prepare_folder(root)


def test_a_class_of_copies_with_nothing_left_to_train_on_is_an_error() -> None:
    images = np.arange(40, dtype=np.uint8).reshape(10, 2, 2)
    first = ArrayImages(images, [0] * 10, ["a", "b"])
    _, val = split(first)
    copies = np.concatenate([images, val.images])
    both = ArrayImages(copies, [0] * 10 + [1] * len(val), ["a", "b"])
    with pytest.raises(DataError, match="no training picture is left for b"):
        split(both)


def test_an_array_set_splits_like_a_folder() -> None:
    images = np.random.default_rng(0).integers(0, 256, (100, 8, 8), np.uint8)
    train, val = split(ArrayImages(images, np.arange(100) % 10, [str(i) for i in range(10)]))
    assert train.counts().tolist() == [8] * 10
    assert val.counts().tolist() == [2] * 10


@pytest.mark.parametrize(
    ("images", "labels", "message"),
    [
        (np.zeros((2, 4, 4), np.float32), [0, 1], "images are float32"),
        (np.zeros((2, 4, 4, 4), np.uint8), [0, 1], r"expected uint8 \(N, H, W\)"),
        (np.zeros((2, 4, 4), np.uint8), [0], "labels have shape"),
        (np.zeros((2, 4, 4), np.uint8), [0, 2], r"0\.\.2; expected 0\.\.1"),
        (np.zeros((2, 4, 4), np.uint8), [-1, 0], r"-1\.\.0; expected"),
    ],
    ids=["dtype", "shape", "length", "label", "negative"],
)
def test_array_images_refuses_what_does_not_fit(images: Any, labels: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ArrayImages(images, labels, ["a", "b"])


def test_array_images_loads_gray_and_rgb_as_rgb() -> None:
    gray = ArrayImages(np.full((1, 4, 5), 9, np.uint8), [0], ["a"])
    assert (gray.load(0).mode, gray.load(0).size) == ("RGB", (5, 4))
    rgb = ArrayImages(np.full((1, 4, 5, 3), 9, np.uint8), [0], ["a"])
    np.testing.assert_array_equal(np.asarray(rgb.load(0)), rgb.images[0])
