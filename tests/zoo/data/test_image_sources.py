"""Pictures as people have them, and that all ways to them end at the same pixels."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from zoo.data import UnreadableImage, decode
from zoo.data.sources import many_sources, name_of, open_source, picture_paths


def names(paths: Any) -> list[str]:
    return [Path(path).name for path in paths]


def test_a_folder_gives_its_pictures_in_order_without_hidden_ones(picture: Any) -> None:
    for name in ("b/2.PNG", "b/1.jpg", "a/x.png", ".hidden/no.png", "b/.no.png"):
        picture(name, format="PNG")
    (picture.root / "b" / "notes.txt").write_text("none")
    (picture.root / "b" / "loop").symlink_to(picture.root, target_is_directory=True)
    assert names(picture_paths([str(picture.root)])) == ["x.png", "1.jpg", "2.PNG"]


def test_patterns_lines_and_plain_files_may_be_mixed(picture: Any, tmp_path: Path) -> None:
    picture("a/1.png")
    picture("a/b/2.png")
    odd = picture("a/[3].png")
    root = picture.root
    arguments = [str(odd), f"{root}/**/[12].png", "-", f"{root}/none*.png"]
    found = names(picture_paths(arguments, ["x y.jpg\n", "\n", "z.jpg\r\n"]))
    assert found == ["[3].png", "1.png", "2.png", "x y.jpg", "z.jpg", "none*.png"]


def test_lines_are_taken_one_by_one() -> None:
    taken: list[int] = []

    def lines() -> Any:
        for number in range(1000):
            taken.append(number)
            yield f"{number}.jpg\n"

    paths = picture_paths(["-"], lines())
    assert [next(paths), next(paths)] == ["0.jpg", "1.jpg"]
    assert len(taken) == 2


def test_an_empty_folder_is_an_unreadable_picture(tmp_path: Path) -> None:
    (found,) = picture_paths([str(tmp_path)])
    with pytest.raises(UnreadableImage, match="a folder without pictures"):
        open_source(found, found)


def photo(picture: Any, orientation: int) -> Path:
    exif = Image.Exif()
    exif[0x0112] = orientation
    path: Path = picture(f"phone{orientation}.jpg", picture.noise(60, 40), exif=exif)
    return path


@pytest.mark.parametrize("orientation", [1, 6])
def test_a_file_its_pil_image_and_its_pixels_are_one_picture(
    picture: Any, orientation: int
) -> None:
    path = photo(picture, orientation)
    expected = np.asarray(decode(path))
    with Image.open(path) as opened:
        for source in (path, str(path), opened, expected):
            assert np.array_equal(np.asarray(open_source(source, "x")), expected)


def test_every_mode_of_a_pil_image_is_taken_as_its_file_is(picture: Any) -> None:
    image = picture.noise(30, 20)
    clear = image.convert("RGBA")
    clear.putalpha(100)
    keyed = image.convert("P")
    keyed.info["transparency"] = 3
    for number, (made, kind) in enumerate(
        [
            (image.convert("L"), "PNG"),
            (clear, "PNG"),
            (keyed, "PNG"),
            (image.convert("CMYK"), "JPEG"),
        ]
    ):
        path = picture(f"{number}.{kind.lower()}", made, kind)
        with Image.open(path) as opened:
            info = dict(opened.info)
            assert np.array_equal(np.asarray(open_source(opened, "x")), np.asarray(decode(path)))
            assert opened.info == info  # what was given stays as it was


def test_gray_and_translucent_arrays(picture: Any) -> None:
    gray = np.full((4, 6), 100, np.uint8)
    for array in (gray, gray[:, :, None]):
        assert np.asarray(open_source(array, "x")).tolist() == [[[100] * 3] * 6] * 4
    glass = np.zeros((4, 6, 4), np.uint8)
    assert np.asarray(open_source(glass, "x")).min() == 255  # all clear: the white behind it


@pytest.mark.parametrize(
    ("source", "kind", "said"),
    [
        (np.zeros((4, 4, 3)), ValueError, "astype"),
        (np.zeros((4, 4, 3), np.int64), ValueError, "uint8"),
        (np.zeros((3, 4, 4), np.uint8), None, ""),  # four columns: RGBA, three rows
        (np.zeros((4, 4, 5), np.uint8), ValueError, "(4, 4, 5)"),
        (np.zeros((0, 4, 3), np.uint8), ValueError, "no pixel"),
        (3.5, TypeError, "float"),
        (None, TypeError, "NoneType"),
    ],
)
def test_what_is_no_picture_is_refused(source: Any, kind: Any, said: str) -> None:
    if kind is None:
        assert open_source(source, "x").size == (4, 3)
        return
    with pytest.raises(kind) as caught:
        open_source(source, "image 7")
    assert said in str(caught.value) and "image 7" in str(caught.value)


def test_what_counts_as_one_source_and_what_as_many() -> None:
    one = np.zeros((2, 2, 3), np.uint8)
    assert all(
        many_sources(s) is None for s in ("a.jpg", Path("a.jpg"), one, Image.new("L", (1, 1)))
    )
    for many in (["a.jpg"], (one, one), iter(["a"]), np.stack([one, one]), []):
        assert many_sources(many) is not None


def test_names_can_be_printed_whatever_their_bytes() -> None:
    assert name_of(os.fsdecode(b"a\xff.jpg"), 0) == "a\\xff.jpg"
    assert name_of(np.zeros((1, 1)), 4) == "image 4"
