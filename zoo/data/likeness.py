"""Pictures that look the same though their files differ: other sizes, qualities, formats.

Each picture gets a difference hash of 128 bits: it is shrunk to 9 x 9 grey pixels, and each bit
says whether a pixel is darker than the one to its right (64 bits) or below it (64 bits). Saving a
picture again or resizing it flips a few bits; two different photographs differ in about 64.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from PIL import Image

HASH_BYTES = 16
NEAR_BITS = 7
"""Hashes that differ in at most this many of their 128 bits are of pictures that look the same."""

_SIDE = 9
_LEAST_CONTRAST = 12  # grey levels between the darkest and the lightest of the 9 x 9 pixels
_STRIDE = 53
_BANDS = 8  # of 16 bits: more than NEAR_BITS, so near hashes agree in at least one
_MOST_IN_BUCKET = 64  # hashes compared with each other; more in one bucket say nothing of likeness


def difference_hash(image: Image.Image) -> bytes:
    """The hash of an RGB picture, 16 bytes; b"" where it is too even to say what it shows.

    >>> from PIL import Image
    >>> difference_hash(Image.new("RGB", (20, 20)))
    b''
    """
    from PIL.Image import Resampling

    small = image.convert("L").resize((_SIDE, _SIDE), Resampling.BILINEAR)
    gray = np.frombuffer(small.tobytes(), dtype=np.uint8).reshape(_SIDE, _SIDE)
    if int(gray.max()) - int(gray.min()) < _LEAST_CONTRAST:
        return b""
    right = gray[:-1, :-1] < gray[:-1, 1:]  # (8, 8)
    below = gray[:-1, :-1] < gray[1:, :-1]
    return np.packbits(np.stack([right, below])).tobytes()


def near_pairs(hashes: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Pairs of different hashes that differ in at most `NEAR_BITS` bits.

    Two such hashes have at least one of eight bands of 16 bits in common, so only hashes that share
    a band are compared: a million take seconds.

    Args:
        hashes: (N, 16), each different from the others.

    Returns:
        (P, 2) positions, the smaller first, in increasing order.

    >>> near_pairs(np.array([[0] * 16, [255] * 16, [0] * 15 + [3]], np.uint8)).tolist()
    [[0, 2]]
    """
    if len(hashes) < 2:
        return np.zeros((0, 2), dtype=np.int64)
    # Neighbouring bits say much the same, so a band takes its bits from all over the picture: fewer
    # hashes then share one by chance. Strides prime to 128 reach every bit once.
    spread = np.arange(128) * _STRIDE % 128
    mixed = np.packbits(np.unpackbits(hashes, axis=1)[:, spread], axis=1)
    mixed = np.ascontiguousarray(mixed)
    words, bands = mixed.view(np.uint64), mixed.view(np.uint16)  # (N, 2), (N, 8)
    found = [_near_in_band(words, bands[:, band]) for band in range(_BANDS)]
    return np.unique(np.concatenate(found), axis=0)


def _bits_set(words: NDArray[np.uint64]) -> NDArray[np.uint8]:
    if hasattr(np, "bitwise_count"):  # numpy 2
        return np.bitwise_count(words)
    bits = np.unpackbits(words.view(np.uint8), axis=1).reshape(*words.shape, 64)
    return bits.sum(axis=2, dtype=np.uint8)


def _near_in_band(words: NDArray[np.uint64], band: NDArray[np.uint16]) -> NDArray[np.int64]:
    order = np.argsort(band, kind="stable")
    values, words = band[order], words[order]
    same = np.arange(len(values))
    pairs = []
    # Each with the next in its bucket, then with the one after that, ...
    for step in range(1, _MOST_IN_BUCKET):
        same = same[: np.searchsorted(same, len(values) - step)]
        same = same[values[same] == values[same + step]]
        if len(same) == 0:
            break
        near = _bits_set(words[same] ^ words[same + step]).sum(axis=1) <= NEAR_BITS
        pair = np.stack([order[same[near]], order[same[near] + step]], axis=1)
        pairs.append(np.sort(pair, axis=1))
    return np.concatenate(pairs) if pairs else np.zeros((0, 2), dtype=np.int64)


def groups_of_near(hashes: list[bytes]) -> list[list[int]]:
    """Positions of hashes that are equal or near, directly or through others; groups of two or
    more, in order. b"" is near to nothing.

    >>> groups_of_near([b"a" * 16, b"", b"", b"a" * 16])
    [[0, 3]]
    """
    times = Counter(hashes)
    del times[b""]
    distinct = list(times)
    packed = np.frombuffer(b"".join(distinct), dtype=np.uint8).reshape(-1, HASH_BYTES)
    leader = list(range(len(distinct)))

    def lead(i: int) -> int:
        while leader[i] != i:
            leader[i] = leader[leader[i]]
            i = leader[i]
        return i

    near = near_pairs(packed)
    for a, b in near.tolist():
        a, b = lead(a), lead(b)
        leader[max(a, b)] = min(a, b)
    repeated = [i for i, count in enumerate(times.values()) if count > 1]
    members = sorted({*repeated, *near.ravel().tolist()})
    at: dict[bytes, list[int]] = {distinct[i]: [] for i in members}
    for position, value in enumerate(hashes):
        if value in at:
            at[value].append(position)
    groups: dict[int, list[int]] = {}
    for i in members:
        groups.setdefault(lead(i), []).extend(at[distinct[i]])
    return sorted(sorted(group) for group in groups.values())
