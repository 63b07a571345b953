"""The pre-flight audit: read every picture once and say what is there before any work starts.

Every file is decoded to its end, because a header says nothing about a truncated tail. JPEGs are
decoded at an eighth of their size, which still reads every byte and saves most of the time.
"""

from __future__ import annotations

import hashlib
import warnings
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any

from zoo.data.decode import decode_with_facts, read_bytes
from zoo.data.errors import UnreadableImage, listed
from zoo.data.image_folder import Folder, Picture
from zoo.data.threads import default_threads, ordered_map

TINY_SIDE = 32
"""Pictures whose shorter side is under this many pixels are counted as tiny."""
IMBALANCE = 3.0
"""A largest class of at least this many times the smallest is remarked on."""

_AUDIT_MIN_SIDE = 64  # decode no finer than this where the format allows, pixels
_MOST_ROWS = 40  # classes printed before the rest is summed up
_CHUNK = 8  # files a thread reads in one go


@dataclass(frozen=True)
class PictureFacts:
    """What reading one file showed.

    Attributes:
        digest: SHA-256 of the file; b"" where it could not be read.
        width, height: of the upright picture, pixels; 0 where it is unreadable.
        orientation: EXIF orientation, 1 to 8.
        failure: why the file is no picture, or None.
    """

    digest: bytes
    width: int
    height: int
    orientation: int
    failure: UnreadableImage | None


def inspect(
    pictures: Sequence[Picture], *, threads: int | None = None, progress: bool = False
) -> dict[str, PictureFacts]:
    """Read and decode every file; facts by picture name.

    Unreadable files are reported in the facts, not raised. Ctrl-C stops it at once.

    Args:
        pictures: from a scan.
        threads: None takes one per CPU, at most 8.
        progress: show a progress bar on the error stream.
    """
    from tqdm import tqdm

    threads = default_threads() if threads is None else threads
    chunks = [pictures[i : i + _CHUNK] for i in range(0, len(pictures), _CHUNK)]
    facts: dict[str, PictureFacts] = {}
    disable = None if progress else True  # None: unless the error stream is no terminal
    bar = tqdm(total=len(pictures), desc="Checking pictures", unit="", leave=False, disable=disable)
    # Pillow warns of damaged metadata on the error stream, file unnamed; damage that matters fails.
    with warnings.catch_warnings(), bar:
        warnings.filterwarnings("ignore", module=r"PIL\.")
        done = ordered_map(_inspect_chunk, chunks, threads, ahead=4 * threads)
        for chunk, found in zip(chunks, done, strict=True):
            facts.update(zip((p.name for p in chunk), found, strict=True))
            bar.update(len(chunk))
    return facts


def _inspect_chunk(pictures: Sequence[Picture]) -> list[PictureFacts]:
    return [_inspect_one(picture) for picture in pictures]


def _inspect_one(picture: Picture) -> PictureFacts:
    digest = b""
    try:
        data = read_bytes(picture.path)
        digest = hashlib.sha256(data).digest()
        found = decode_with_facts(data, min_side=_AUDIT_MIN_SIDE, name=picture.path)
    except UnreadableImage as failure:
        return PictureFacts(digest, 0, 0, 1, failure)
    return PictureFacts(digest, found.width, found.height, found.orientation, None)


@dataclass(frozen=True)
class Audit:
    """What a data folder holds. Names are paths relative to it, "/" between parts.

    Attributes:
        root: the folder as it was given.
        classes: class names in index order.
        train_counts, val_counts: pictures of each class.
        unreadable: (name, reason) of files that claim to be pictures and are none; left out.
        skipped: (name, reason) of everything else that was left out.
        empty_classes: class folders without a readable picture; they have no index.
        duplicates_in_class: groups of identical files within a class.
        duplicates_across_classes: groups of identical files with different labels.
        duplicates_across_parts: groups of identical files on both sides of the split.
        rotated: number of pictures turned upright by their EXIF orientation.
        tiny: pictures with a side under `TINY_SIDE` pixels.
        fingerprint: SHA-256 (hex) over the content, class and part of every picture used, whatever
            the names and their order: equal for equal data.
    """

    root: str
    classes: tuple[str, ...]
    train_counts: tuple[int, ...]
    val_counts: tuple[int, ...]
    unreadable: tuple[tuple[str, str], ...]
    skipped: tuple[tuple[str, str], ...]
    empty_classes: tuple[str, ...]
    duplicates_in_class: tuple[tuple[str, ...], ...]
    duplicates_across_classes: tuple[tuple[str, ...], ...]
    duplicates_across_parts: tuple[tuple[str, ...], ...]
    rotated: int
    tiny: tuple[str, ...]
    fingerprint: str

    @property
    def imbalance(self) -> float:
        """Pictures to train on in the largest class over those in the smallest; 1 is even."""
        counts = [n for n in self.train_counts if n > 0]
        return max(counts) / min(counts) if counts else 1.0

    def lines(self) -> list[str]:
        """The report for people, one string a line."""
        return [self.headline, *self._class_table(), *self.remarks()]

    @property
    def headline(self) -> str:
        """How many pictures and classes there are."""
        train, val = sum(self.train_counts), sum(self.val_counts)
        return (
            f"{self.root}: {train + val} pictures in {len(self.classes)} classes "
            f"({train} to train, {val} to validate)"
        )

    def remarks(self) -> list[str]:
        """What a person should know before training on it, one string a line."""
        lines: list[str] = []
        if self.imbalance >= IMBALANCE:
            lines.append(
                f"Uneven: the largest class has {self.imbalance:.1f} times the training pictures "
                "of the smallest."
            )
        unseen = [c for c, n in zip(self.classes, self.val_counts, strict=True) if n == 0]
        if unseen and any(self.val_counts):
            lines.append(f"Not validated, for lack of pictures: {listed(unseen)}")
        if self.empty_classes:
            lines.append(f"Left out, no readable picture: {listed(self.empty_classes)}")
        if self.unreadable:
            lines.append(f"Unreadable, left out: {len(self.unreadable)} file(s)")
            lines += [f"  {name}: {reason}" for name, reason in self.unreadable]
        for reason, count in sorted(Counter(reason for _, reason in self.skipped).items()):
            names = [name for name, why in self.skipped if why == reason]
            lines.append(f"Skipped, {reason}: {count} ({listed(names, 3)})")
        for groups, what in (
            (self.duplicates_across_classes, "with different classes, so one label is wrong"),
            (self.duplicates_across_parts, "in both training and validation, which flatters it"),
            (self.duplicates_in_class, "within a class"),
        ):
            if groups:
                example = listed(groups[0], 3)
                lines.append(f"Identical files {what}: {len(groups)} group(s), such as {example}")
        if self.rotated:
            lines.append(f"Turned upright by their EXIF orientation: {self.rotated}")
        if self.tiny:
            lines.append(f"Under {TINY_SIDE} pixels: {len(self.tiny)} ({listed(self.tiny, 3)})")
        return lines

    def _class_table(self) -> list[str]:
        shown = list(zip(self.classes, self.train_counts, self.val_counts, strict=True))
        width = max([len("class"), *(len(c) for c in self.classes[:_MOST_ROWS])])
        rows = [f"  index  {'class':<{width}}  train    val"]
        rows += [
            f"  {index:>5}  {name:<{width}}  {train:>5}  {val:>5}"
            for index, (name, train, val) in enumerate(shown[:_MOST_ROWS])
        ]
        if len(shown) > _MOST_ROWS:
            rows.append(f"  ... and {len(shown) - _MOST_ROWS} more classes")
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, for logs and `--json`."""
        return {**_plain(asdict(self)), "imbalance": self.imbalance}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(v) for key, v in value.items()}
    return [_plain(v) for v in value] if isinstance(value, (tuple, list)) else value


def audit(
    folder: Folder,
    train: Sequence[Picture],
    val: Sequence[Picture],
    facts: dict[str, PictureFacts],
) -> Audit:
    """Sum up a scan, what reading its files showed, and the parts they were split into.

    Args:
        folder: without its unreadable files.
        train, val: the two parts.
        facts: from `inspect`, of every file including unreadable ones.
    """
    used = [*train, *val]
    counts = [Counter(p.class_name for p in part) for part in (train, val)]
    in_class, across_classes, across_parts = _duplicates(train, val, facts)
    return Audit(
        root=str(folder.root),
        classes=folder.classes,
        train_counts=tuple(counts[0][name] for name in folder.classes),
        val_counts=tuple(counts[1][name] for name in folder.classes),
        unreadable=tuple(
            (name, fact.failure.reason) for name, fact in facts.items() if fact.failure is not None
        ),
        skipped=tuple((s.name, s.reason) for s in folder.skipped),
        empty_classes=folder.empty_classes,
        duplicates_in_class=in_class,
        duplicates_across_classes=across_classes,
        duplicates_across_parts=across_parts,
        rotated=sum(facts[p.name].orientation != 1 for p in used),
        tiny=tuple(
            p.name for p in used if min(facts[p.name].width, facts[p.name].height) < TINY_SIDE
        ),
        fingerprint=_fingerprint(train, val, facts),
    )


_Groups = tuple[tuple[str, ...], ...]


def _duplicates(
    train: Sequence[Picture], val: Sequence[Picture], facts: dict[str, PictureFacts]
) -> tuple[_Groups, _Groups, _Groups]:
    """Groups of identical files: within a class, across classes, across the two parts."""
    groups: defaultdict[bytes, list[tuple[Picture, str]]] = defaultdict(list)
    for part, pictures in (("train", train), ("val", val)):
        for picture in pictures:
            groups[facts[picture.name].digest].append((picture, part))
    in_class: list[tuple[str, ...]] = []
    across_classes: list[tuple[str, ...]] = []
    across_parts: list[tuple[str, ...]] = []
    for group in groups.values():
        if len(group) == 1:
            continue
        names = tuple(p.name for p, _ in group)
        labelled_apart = len({p.class_name for p, _ in group}) > 1
        (across_classes if labelled_apart else in_class).append(names)
        if len({part for _, part in group}) > 1:
            across_parts.append(names)
    return tuple(in_class), tuple(across_classes), tuple(across_parts)


def _fingerprint(
    train: Sequence[Picture], val: Sequence[Picture], facts: dict[str, PictureFacts]
) -> str:
    rows = sorted(
        f"{part}\0{p.class_name}\0{facts[p.name].digest.hex()}\n"
        for part, p in chain((("train", p) for p in train), (("val", p) for p in val))
    )
    return hashlib.sha256("".join(rows).encode()).hexdigest()
