"""Lists of pictures beside folders."""

from __future__ import annotations

import json

import pytest
from PIL import Image

from zoo.data import NoPictures, prepare_evaluation, prepare_folder, scan
from zoo.data.manifest import ManifestError, read_manifest


@pytest.fixture
def write(tmp_path):
    """A list with this text beside six pictures: write("labels.csv", text)."""
    (tmp_path / "pictures").mkdir()
    for i in range(6):
        Image.new("RGB", (40, 40), (40 * i, 200 - 30 * i, 90)).save(tmp_path / f"pictures/{i}.png")

    def make(name, text):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
        return path

    return make


def csv_text(head="path,label,split", separator=","):
    rows = [
        separator.join(
            (f"pictures/{i}.png", "cat" if i % 2 else "dog", "val" if i > 3 else "train")
        )
        for i in range(6)
    ]
    return "\n".join([head.replace(",", separator), *rows]) + "\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", csv_text()),
        ("a.csv", "\ufeff" + csv_text().replace("\n", "\r\n")),
        ("a.csv", csv_text(separator=";")),
        ("a.tsv", csv_text(separator="\t")),
        ("a.CSV", csv_text("Image, Class ,SPLIT")),
        (
            "a.jsonl",
            "\n\n".join(
                json.dumps({"file": f"pictures/{i}.png", "label": "cat" if i % 2 else "dog",
                            "split": "validation" if i > 3 else "Train", "width": 40})
                for i in range(6)
            ),
        ),
    ],
    ids=["csv", "bom and crlf", "semicolons", "tabs", "other names", "json lines"],
)  # fmt: skip
def test_lists_of_each_kind_say_the_same(write, name, text):
    folder = scan(write(name, text))
    assert folder.classes == ("cat", "dog")
    assert [p.name for p in folder.train] == [f"pictures/{i}.png" for i in range(4)]
    assert [(p.name, p.class_name) for p in folder.val] == [
        ("pictures/4.png", "dog"), ("pictures/5.png", "cat")
    ]  # fmt: skip


def test_without_a_split_a_part_is_split_off(write):
    text = "\n".join(line.rsplit(",", 1)[0] for line in csv_text().splitlines())
    prepared = prepare_folder(write("a.csv", text), val_fraction=0.34)
    assert (len(prepared.train), len(prepared.val)) == (4, 2)


def test_numbers_may_be_classes(write):
    path = write("a.jsonl", '{"path": "pictures/0.png", "label": 3}')
    assert read_manifest(path)[0][1] == "3"


def test_a_list_measures_by_the_names_of_a_models_classes(write):
    images, _, strays = prepare_evaluation(write("a.csv", csv_text()), ["zebra", "dog", "cat"])
    assert images.labels.tolist() == [1, 2] and not strays


def test_pictures_that_are_not_there_are_skipped_and_named(write):
    folder = scan(write("a.csv", csv_text() + "pictures/9.png,cat,train\n"))
    assert len(folder.train) == 4
    assert [(s.name, s.reason) for s in folder.skipped] == [("pictures/9.png", "no such file")]


def test_a_list_of_absent_pictures_is_refused_with_their_folder(write):
    with pytest.raises(NoPictures, match=r"(?s)x/1\.png.*relative to its folder"):
        scan(write("a.csv", "path,label\nx/1.png,cat\nx/2.png,dog\n"))


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.csv", "picture,label\n1.png,cat\n", "no column path.*'picture,label'"),
        ("a.csv", "1.png,cat\n2.png,dog\n", "no column path"),
        ("a.csv", "", "no column path"),
        ("a.csv", "path,label\n1.png,\n", "line 2: no label"),
        ("a.csv", "path,label,split\n1.png,a,holdout\n", "line 2: split 'holdout'"),
        ("a.csv", "path,label,split\n1.png,a,train\n2.png,b,\n", "line 3: no split"),
        ("a.csv", "path,label\n1.png,a\n1.png,b\n", "line 3: 1.png is 'b' here and 'a' in line 2"),
        ("a.csv", b"path,label\n\xff.png,a\n", "not UTF-8 text .byte 11"),
        ("a.jsonl", '{"path": "1.png", "label": "a"}\n{"path"', "line 2: no JSON"),
        ("a.jsonl", "[1, 2]", "line 1: expected an object"),
        ("a.jsonl", '{"path": "1.png", "label": {"a": 1}}', "line 1: no label"),
    ],
)
def test_a_list_that_cannot_be_used_is_refused_by_line(write, name, text, says):
    with pytest.raises(ManifestError, match=says) as caught:
        scan(write(name, text))
    assert name in str(caught.value)
