"""The pre-flight audit: what the pictures of a folder are like, said before any work starts."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any

from zoo.data.collector import without_collector
from zoo.data.errors import listed
from zoo.data.facts import PictureFacts
from zoo.data.image_folder import Folder, Picture
from zoo.data.likeness import groups_of_near

TINY_SIDE = 32
"""Pictures whose shorter side is under this many pixels are counted as tiny."""
HUGE_PIXELS = 24_000_000
"""Pictures of more pixels are counted as huge: most of an epoch would go into decoding them."""
IMBALANCE = 3.0
"""A largest class of at least this many times the smallest is remarked on."""

_MOST_ROWS = 40  # classes printed before the rest is summed up


@dataclass(frozen=True)
class Several:
    """How pictures that may have several labels or none are distributed."""

    train: int  # pictures
    val: int
    unlabelled: int  # pictures without a label
    most: int  # labels of a picture


@dataclass(frozen=True, repr=False)
class Audit:
    """What a data folder holds. Names are paths relative to it, "/" between parts.

    Attributes:
        root: the folder as it was given.
        classes: class names in index order.
        train_counts, val_counts: pictures of each class; of several, once for each.
        unreadable: (name, reason) of files that claim to be pictures and are none; left out.
        skipped: (name, reason) of everything else that was left out.
        empty_classes: class folders without a readable picture; they have no index.
        duplicates_in_class: groups of identical files within a class.
        duplicates_across_classes: groups of identical files with different labels.
        duplicates_across_parts: groups of identical files on both sides of the split.
        near_duplicates_across_parts: groups of pictures on both sides of the split that look the
            same though their files differ; see zoo.data.likeness.
        rotated: number of pictures turned upright by their EXIF orientation.
        tiny: pictures with a side under `TINY_SIDE` pixels.
        huge: pictures of more than `HUGE_PIXELS` pixels.
        fingerprint: SHA-256 (hex) over the content, class and part of every picture used, whatever
            the names and their order: equal for equal data.
        several: of pictures that may have several labels or none; None: each has one class.

    >>> sum(zoo.demo.prepare_digits().audit.train_counts)
    1438
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
    near_duplicates_across_parts: tuple[tuple[str, ...], ...] = ()
    huge: tuple[str, ...] = ()
    several: Several | None = None

    @property
    def imbalance(self) -> float:
        """Pictures to train on in the largest class over those in the smallest; 1 is even."""
        counts = [n for n in self.train_counts if n > 0]
        return max(counts) / min(counts) if counts else 1.0

    def __repr__(self) -> str:
        remarks = sum(not line.startswith(" ") for line in self.remarks())
        return f"<Audit of {self.headline}; {remarks} remarks>"

    def lines(self) -> list[str]:
        """The report for people, one string a line."""
        return [self.headline, *self._class_table(), *self.remarks()]

    @property
    def headline(self) -> str:
        """How many pictures and classes there are."""
        train, val = sum(self.train_counts), sum(self.val_counts)
        if self.several is not None:
            labels = (train + val) / (self.several.train + self.several.val)
            train, val = self.several.train, self.several.val
            return (
                f"{self.root}: {train + val} pictures with {len(self.classes)} different labels, "
                f"{labels:.1f} a picture on average and {self.several.most} at most ({train} to "
                f"train, {val} to validate)"
            )
        return (
            f"{self.root}: {train + val} pictures in {len(self.classes)} classes "
            f"({train} to train, {val} to validate)"
        )

    def remarks(self) -> list[str]:
        """What a person should know before training on it, one string a line."""
        lines: list[str] = []
        if self.several is not None and self.several.unlabelled:
            lines.append(f"Without any label: {self.several.unlabelled} pictures")
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
        if self.near_duplicates_across_parts:
            groups = self.near_duplicates_across_parts
            lines.append(
                "Alike, though not identical, in both training and validation, which flatters it: "
                f"{len(groups)} group(s), such as {listed(groups[0], 3)}"
            )
        if self.rotated:
            lines.append(f"Turned upright by their EXIF orientation: {self.rotated}")
        if self.tiny:
            lines.append(f"Under {TINY_SIDE} pixels: {len(self.tiny)} ({listed(self.tiny, 3)})")
        if self.huge:
            lines.append(
                f"Over {HUGE_PIXELS / 1e6:.0f} megapixels, slow to read: {len(self.huge)} "
                f"({listed(self.huge, 3)})"
            )
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


@without_collector
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
    counts = [folder.counts(part) for part in (train, val)]
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
        near_duplicates_across_parts=_alike_across_parts(train, val, facts),
        huge=tuple(
            p.name for p in used if facts[p.name].width * facts[p.name].height > HUGE_PIXELS
        ),
        several=_several(folder, train, val) if folder.several else None,
    )


def _several(folder: Folder, train: Sequence[Picture], val: Sequence[Picture]) -> Several:
    labels = [len(folder.labels_of(picture)) for picture in (*train, *val)]
    return Several(len(train), len(val), labels.count(0), max(labels, default=0))


_Groups = tuple[tuple[str, ...], ...]


def _duplicates(
    train: Sequence[Picture], val: Sequence[Picture], facts: dict[str, PictureFacts]
) -> tuple[_Groups, _Groups, _Groups]:
    """Groups of identical files: within a class, across classes, across the two parts."""
    groups: defaultdict[bytes, list[tuple[Picture, str]]] = defaultdict(list)
    times = Counter(facts[picture.name].digest for picture in chain(train, val))
    for part, pictures in (("train", train), ("val", val)):
        for picture in pictures:
            if times[digest := facts[picture.name].digest] > 1:
                groups[digest].append((picture, part))
    in_class: list[tuple[str, ...]] = []
    across_classes: list[tuple[str, ...]] = []
    across_parts: list[tuple[str, ...]] = []
    for group in groups.values():
        names = tuple(p.name for p, _ in group)
        labelled_apart = len({p.class_name for p, _ in group}) > 1
        (across_classes if labelled_apart else in_class).append(names)
        if len({part for _, part in group}) > 1:
            across_parts.append(names)
    return tuple(in_class), tuple(across_classes), tuple(across_parts)


def _alike_across_parts(
    train: Sequence[Picture], val: Sequence[Picture], facts: dict[str, PictureFacts]
) -> _Groups:
    """Groups of pictures that look the same, on both sides; identical files are not counted."""
    used = [*train, *val]
    first_val = len(train)
    found = []
    for group in groups_of_near([facts[p.name].likeness for p in used]):
        if group[0] >= first_val or group[-1] < first_val:
            continue  # all on one side
        # Of identical files on one side, the first stands for all.
        first = {(facts[used[i].name].digest, i >= first_val): i for i in reversed(group)}
        if len({digest for digest, _ in first}) > 1:
            found.append(tuple(used[i].name for i in sorted(first.values())))
    return tuple(found)


def _fingerprint(
    train: Sequence[Picture], val: Sequence[Picture], facts: dict[str, PictureFacts]
) -> str:
    rows = sorted(
        f"{part}\0{p.class_name}\0{facts[p.name].digest.hex()}\n"
        for part, p in chain((("train", p) for p in train), (("val", p) for p in val))
    )
    return hashlib.sha256("".join(rows).encode()).hexdigest()
