"""What is remembered of files, when it is believed, and pictures that look the same."""

from __future__ import annotations

import io
import os
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import zoo.data.facts as facts_module
import zoo.data.facts_cache as cache_module
from zoo.data import prepare_folder, scan
from zoo.data.likeness import (
    HASH_BYTES,
    NEAR_BITS,
    difference_hash,
    groups_of_near,
    near_pairs,
)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the files that were read; files are old enough to be remembered at once."""
    monkeypatch.setattr(cache_module, "_RACY_NS", -(10**18))
    read: list[str] = []
    original = facts_module.read_bytes

    def counted(path: str) -> bytes:
        read.append(Path(path).name)
        return original(path)

    monkeypatch.setattr(facts_module, "read_bytes", counted)
    return read


def audit_of(root: Path) -> dict[str, Any]:
    return prepare_folder(root).audit.to_dict()


def test_files_are_read_once_and_say_the_same_again(picture: Any, reads: list[str]) -> None:
    root = picture.classes({"a": 4, "b": 4})
    exif = Image.Exif()
    exif[0x0112] = 6
    picture("a/phone.jpg", exif=exif)
    (root / "b" / "cut.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    first = audit_of(root)
    assert len(reads) == 10
    assert audit_of(root) == first
    assert len(reads) == 10
    assert first["rotated"] == 1 and first["unreadable"][0][0] == "b/cut.png"


def test_only_what_changed_is_read_again(picture: Any, reads: list[str]) -> None:
    root = picture.classes({"a": 3, "b": 3})
    before = audit_of(root)
    reads.clear()
    picture("a/01.png")
    picture("b/new.png")
    (root / "a" / "02.png").unlink()
    after = audit_of(root)
    assert sorted(reads) == ["01.png", "new.png"]
    assert after["fingerprint"] != before["fingerprint"]
    reads.clear()
    assert audit_of(root) == after and reads == []


def test_new_content_of_the_same_size_and_time_is_noticed(picture: Any, reads: list[str]) -> None:
    root = picture.classes({"a": 2, "b": 2})
    path = picture("a/00.bmp")
    audit_of(root)
    status = path.stat()
    picture("a/00.bmp")  # other pixels, as many bytes
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert path.stat().st_size == status.st_size
    reads.clear()
    audit_of(root)
    assert reads == ["00.bmp"]


def test_files_that_changed_just_now_are_not_remembered(picture: Any, own_cache: Path) -> None:
    prepare_folder(picture.classes({"a": 2, "b": 2}))
    assert not list(own_cache.rglob("*.safetensors"))


@pytest.mark.parametrize("damage", [b"", b"garbage", None])
def test_a_damaged_memory_is_none(
    picture: Any, reads: list[str], own_cache: Path, damage: bytes | None
) -> None:
    root = picture.classes({"a": 2, "b": 2})
    before = audit_of(root)
    (file,) = own_cache.rglob("*.safetensors")
    file.write_bytes(file.read_bytes()[:-9] if damage is None else damage)
    reads.clear()
    assert audit_of(root) == before
    assert len(reads) == 4
    reads.clear()
    audit_of(root)
    assert reads == []  # it was written anew


def test_a_cache_folder_that_cannot_be_written_costs_no_more_than_time(
    picture: Any, reads: list[str], own_cache: Path
) -> None:
    own_cache.rmdir()
    own_cache.write_text("a file in its place")
    root = picture.classes({"a": 2, "b": 2})
    assert audit_of(root) == audit_of(root)
    assert len(reads) == 8


def test_what_is_kept_of_a_damaged_file_does_not_hold_its_content(picture: Any) -> None:
    root = picture.classes({"a": 2, "b": 2})
    (root / "a" / "cut.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(1000))
    facts = facts_module.inspect(scan(root).train, root, threads=1)
    failure = facts["a/cut.png"].failure
    assert failure is not None
    assert failure.__traceback__ is failure.__cause__ is failure.__context__ is None


def saved(image: Image.Image, **options: Any) -> Image.Image:
    buffer = io.BytesIO()
    image.save(buffer, **options)
    return Image.open(buffer)


def apart(a: Image.Image, b: Image.Image) -> int:
    hashes = [difference_hash(image.convert("RGB")) for image in (a, b)]
    return (int.from_bytes(hashes[0]) ^ int.from_bytes(hashes[1])).bit_count()


def test_saving_and_resizing_keep_the_hash_near_and_other_pictures_have_a_far_one(
    picture: Any,
) -> None:
    for _ in range(20):
        image = picture.noise(300, 200)
        assert apart(image, saved(image, format="JPEG", quality=60)) <= NEAR_BITS
        assert apart(image, image.resize((120, 80))) <= NEAR_BITS
        assert apart(image, saved(image, format="WEBP", quality=50)) <= NEAR_BITS
        assert apart(image, picture.noise(300, 200)) > 3 * NEAR_BITS


def test_near_pairs_are_those_that_comparing_all_finds() -> None:
    rng = np.random.default_rng(0)
    hashes = rng.integers(0, 256, (300, HASH_BYTES), dtype=np.uint8)
    for i in range(100):  # copies of the first hundred with up to 12 bits flipped
        bits = np.unpackbits(hashes[i])
        bits[rng.choice(128, i % 13, replace=False)] ^= 1
        hashes[200 + i] = np.packbits(bits)
    distance = np.unpackbits(hashes[:, None] ^ hashes[None], axis=2).sum(axis=2)
    expected = [(i, j) for i, j in np.argwhere(distance <= NEAR_BITS).tolist() if i < j]
    assert len(expected) > 50
    assert list(map(tuple, near_pairs(hashes).tolist())) == expected


def test_groups_join_through_others_and_even_pictures_are_alike_to_nothing() -> None:
    def flipped(*bits: int) -> bytes:
        value = 0
        for bit in bits:
            value |= 1 << bit
        return value.to_bytes(HASH_BYTES, "big")

    chain = [flipped(*range(k)) for k in (0, 6, 12)]
    assert groups_of_near([chain[0], b"", chain[2], b"", chain[1]]) == [[0, 2, 4]]
    assert difference_hash(Image.new("RGB", (50, 40), (200, 30, 30))) == b""


def test_the_audit_names_pictures_alike_on_both_sides(picture: Any) -> None:
    root = picture.classes({"a": 3, "b": 3}, part="train")
    picture.classes({"a": 2, "b": 2}, part="val")
    image = picture.noise(200, 160)
    picture("train/a/full.png", image)
    picture("val/a/small.jpg", image.resize((100, 80)), quality=70)
    picture("train/b/other.png", image.resize((150, 120)))
    audit = prepare_folder(root).audit
    assert audit.near_duplicates_across_parts == (
        ("train/a/full.png", "train/b/other.png", "val/a/small.jpg"),
    )
    assert any("Alike, though not identical" in line for line in audit.lines())


def test_identical_files_are_not_counted_as_alike(picture: Any) -> None:
    root = picture.classes({"a": 2, "b": 2}, part="train")
    image = picture.noise()
    for part in ("train", "val"):
        picture(f"{part}/a/same.png", image)
    picture("val/b/1.png")
    audit = prepare_folder(root).audit
    assert len(audit.duplicates_across_parts) == 1
    assert audit.near_duplicates_across_parts == ()


def test_huge_pictures_are_named(picture: Any) -> None:
    root = picture.classes({"a": 2, "b": 2})
    picture("a/poster.png", Image.new("1", (6000, 4100)))
    assert prepare_folder(root).audit.huge == ("a/poster.png",)


@pytest.mark.slow
@pytest.mark.parametrize("count", [100_000, 1_000_000])
def test_100_000_files_take_a_minute_at_first_and_two_seconds_then(
    tmp_path: Path, count: int
) -> None:
    """python -m pytest -m slow tests/zoo/data/test_image_facts.py; two idle cores. A million, a
    quarter of an hour and 4 GB of disk, may take ten times that."""
    times = count / 100_000
    rng = np.random.default_rng(0)
    for number in range(count):
        folder = tmp_path / f"class{number % 10}"
        folder.mkdir(exist_ok=True)
        coarse = rng.integers(0, 256, (6, 6, 3), dtype=np.uint8)
        image = Image.fromarray(coarse).resize((64, 64), Image.Resampling.BICUBIC)
        image.save(folder / f"{number}.jpg", quality=85)
    time.sleep(2)  # files of this very moment are not remembered
    seconds, audits = [], []
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(2):
        started = time.process_time()
        audits.append(prepare_folder(tmp_path, threads=1).audit)
        seconds.append(time.process_time() - started)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"first {seconds[0]:.1f} s, then {seconds[1]:.1f} s of processor time, {grown:.0f} MiB")
    assert audits[0] == audits[1]
    # 2 s of two idle cores; more where they are shared.
    assert seconds[0] < 60 * times and seconds[1] < 4 * times
    assert grown < 300 * times
