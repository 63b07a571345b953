"""Batches of pictures, prepared on threads while the engine computes.

What a batch holds depends on the seed, the epoch and the batch's number only: not on threads, on
timing, on the cache, or on where iteration began. A run that resumes in the middle of an epoch
therefore sees exactly the batches that an uninterrupted run would have seen.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Generator, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zoo.data.errors import DataError, LoaderError
from zoo.data.image_set import ImageSet
from zoo.data.threads import default_threads, ordered_map
from zoo.data.transforms import Transform, philox, sample_rng

if TYPE_CHECKING:
    from PIL import Image

DEFAULT_CACHE_BYTES = 256 << 20
_ORDER_STREAM = 1  # apart from the samples' own random numbers
_BYTES_PER_PIXEL = 4  # Pillow pads RGB to four bytes
_Planned = tuple[NDArray[np.int64], NDArray[np.int64]]  # indices, and how often each came before
_LARGEST_CHUNK = 8  # pictures a thread prepares in one go; what an interrupt has to wait for


class Batch(NamedTuple):
    """Pictures with their labels. The arrays are never written again, so they may be kept.

    Attributes:
        images: (N, size, size, 3) uint8.
        labels: (N,) int64.
        indices: (N,) int64, positions in the image set.

    >>> batch = Batch(np.zeros((2, 8, 8, 3), np.uint8), np.array([0, 1]), np.array([5, 3]))
    >>> batch.images.shape
    (2, 8, 8, 3)
    """

    images: NDArray[np.uint8]
    labels: NDArray[np.int64]
    indices: NDArray[np.int64]


def epoch_batches(
    count: int,
    batch_size: int,
    *,
    training: bool,
    seed: int = 0,
    epoch: int = 0,
    odds: NDArray[np.float64] | None = None,
) -> list[NDArray[np.int64]]:
    """Which samples each batch of an epoch holds: one int64 index array per batch.

    In training the order is random, from (seed, epoch) alone, and a last batch of one sample is
    merged into the batch before it, because a batch norm over one sample has no variance. Otherwise
    the order is kept and every sample comes once, in batches as cut.

    With `odds`, (count,) positive numbers, an epoch of training has `count` samples drawn by them,
    some of them several times: sample i comes floor or ceil of count * odds[i] / sum(odds) times.

    >>> [b.tolist() for b in epoch_batches(5, 2, training=False)]
    [[0, 1], [2, 3], [4]]
    >>> [len(b) for b in epoch_batches(5, 2, training=True)]
    [2, 3]
    """
    order = np.arange(count, dtype=np.int64)
    if training:
        # Sorting uniform numbers rather than `Generator.permutation`, whose stream may change from
        # one NumPy to the next.
        rng = philox(seed, _ORDER_STREAM, epoch)
        order = np.argsort(rng.random(count), kind="stable")
        if odds is not None:
            order = order[_drawn(odds[order], rng)]
    starts = list(range(0, count, batch_size))
    if training and batch_size > 1 and len(starts) > 1 and count - starts[-1] == 1:
        starts.pop()
    return np.split(order, starts[1:]) if starts else []


def occurrences(order: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many times each entry came before in the same array: 0 for the first time.

    >>> occurrences(np.array([7, 3, 7, 7])).tolist()
    [0, 0, 1, 2]
    """
    by_value = np.argsort(order, kind="stable")
    values = order[by_value]
    starts = np.flatnonzero(np.r_[True, values[1:] != values[:-1]]) if len(order) else by_value
    runs = np.diff(np.r_[starts, len(order)])
    counted = np.empty_like(order)
    counted[by_value] = np.arange(len(order)) - np.repeat(starts, runs)
    return counted


def _drawn(odds: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    """len(odds) positions, each with a frequency of its odds, in random order: one comb of equal
    teeth over the odds laid end to end (systematic sampling)."""
    count = len(odds)
    ends = np.cumsum(odds) / odds.sum()
    teeth = (np.arange(count) + rng.random()) / count
    drawn = np.minimum(np.searchsorted(ends, teeth, side="right"), count - 1)
    return drawn[np.argsort(rng.random(count), kind="stable")].astype(np.int64)


class Loader:
    """Iterates over an image set in batches, epoch by epoch.

    Args:
        images: the pictures.
        transform: a `TrainAugmentation` or a `Preprocessing`.
        batch_size: pictures a batch.
        training: shuffle anew each epoch and merge a last batch of one; see `epoch_batches`.
        seed: of the order and of the augmentation, 0 to 2**64 - 1.
        threads: that decode and resize; None takes one per CPU, at most 8.
        prefetch: batches prepared ahead of the one in use.
        odds: how often each picture shall come in training; see `epoch_batches`.
        cache_bytes: memory for pictures whose deterministic part is done (decoded, and resized
            where the transform allows), so that later epochs need not decode them again; 0: none.
        share: (r, n): of what n loaders share out, that of loader r. In training the r-th of n
            stretches of every batch, which may be empty; otherwise batches r, r + n, r + 2 n ...

    Raises:
        ValueError: an argument out of range, by name.

    >>> with Loader(images, augmentation, 32, training=True) as loader:      # doctest: +SKIP
    ...     for batch in loader.epoch(0):
    ...         loss = step(to_tensor(batch.images), batch.labels)
    """

    def __init__(
        self,
        images: ImageSet,
        transform: Transform,
        batch_size: int,
        *,
        training: bool = False,
        seed: int = 0,
        threads: int | None = None,
        prefetch: int = 2,
        odds: NDArray[np.float64] | None = None,
        cache_bytes: int = DEFAULT_CACHE_BYTES,
        share: tuple[int, int] = (0, 1),
    ) -> None:
        threads = default_threads() if threads is None else threads
        checks = (
            ("batch_size", batch_size, 1),
            ("threads", threads, 1),
            ("prefetch", prefetch, 1),
            ("seed", seed, 0),
            ("cache_bytes", cache_bytes, 0),
        )
        for name, value, least in checks:
            if value < least:
                raise ValueError(f"Loader: {name}={value}; expected {least} or more")
        self.images = images
        self.transform = transform
        self.batch_size = batch_size
        self.training = training
        self.seed = seed
        self.threads = threads
        self.prefetch = prefetch
        self.odds = odds
        self.share = share
        self._cache = PictureCache(cache_bytes)
        self._running: weakref.WeakSet[Generator[Batch, None, None]] = weakref.WeakSet()

    def __len__(self) -> int:
        """Batches in an epoch, those of all shares."""
        return len(epoch_batches(len(self.images), self.batch_size, training=self.training))

    def epoch(self, epoch: int = 0, start_batch: int = 0) -> Generator[Batch, None, None]:
        """The batches of one epoch, from number `start_batch` on.

        Raises, while iterating:
            UnreadableImage: a picture's file cannot be decoded (any more), by path.
            LoaderError: preparing a picture failed otherwise, by name.
        """
        batches = self._epoch(epoch, start_batch)
        self._running.add(batches)
        return batches

    def close(self) -> None:
        """Stop all iteration; when this returns no thread of the loader is left."""
        for batches in list(self._running):
            batches.close()

    def __enter__(self) -> Loader:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _epoch(self, epoch: int, start_batch: int) -> Generator[Batch, None, None]:
        plan = epoch_batches(
            len(self.images),
            self.batch_size,
            training=self.training,
            seed=self.seed,
            epoch=epoch,
            odds=self.odds,
        )
        repeats = np.split(
            occurrences(np.concatenate(plan)), np.cumsum([len(b) for b in plan])[:-1]
        )
        chunk = min(max(self.batch_size // (4 * self.threads), 1), _LARGEST_CHUNK)

        def chunks() -> Iterator[_Chunk]:
            for indices, repeat in self._own(list(zip(plan, repeats, strict=True))[start_batch:]):
                if not len(indices):
                    yield _Chunk(_Pending(indices, indices, epoch), 0, 0)
                # A picture that comes again in an epoch is another view: it counts as if further
                # copies of the whole set followed the set.
                batch = _Pending(indices, indices + repeat * len(self.images), epoch)
                for start in range(0, len(indices), chunk):
                    yield _Chunk(batch, start, min(start + chunk, len(indices)))

        chunks_ahead = (self.prefetch + 1) * -(-self.batch_size // chunk)
        done = ordered_map(self._fill, chunks(), self.threads, chunks_ahead)
        try:
            for filled in done:
                batch = filled.batch
                if filled.stop == len(batch.indices):  # chunks come in order: this is the last
                    if batch.images is None:  # an empty share: nothing says how large it would be
                        batch.allocate((0, 0, 3))
                    assert batch.images is not None
                    yield Batch(batch.images, self.images.labels[batch.indices], batch.indices)
        finally:
            done.close()

    def _own(self, batches: list[_Planned]) -> list[_Planned]:
        """This loader's share of some batches."""
        number, count = self.share
        if not self.training:
            return batches[number::count]
        parts = []
        for indices, repeat in batches:
            part = slice(len(indices) * number // count, len(indices) * (number + 1) // count)
            parts.append((indices[part], repeat[part]))
        return parts

    def _fill(self, chunk: _Chunk) -> _Chunk:
        """Prepare the pictures of one chunk in place."""
        batch = chunk.batch
        for row in range(chunk.start, chunk.stop):
            index = int(batch.indices[row])
            try:
                view = self._view(index, int(batch.samples[row]), batch.epoch)
                batch.allocate(view.shape)[row] = view
            except (DataError, MemoryError):
                raise
            except Exception as error:
                raise LoaderError(f"{self.images.name(index)}: {error}") from error
        return chunk

    def _view(self, index: int, sample: int, epoch: int) -> NDArray[np.uint8]:
        return view_of(
            self.images,
            index,
            self.transform,
            lambda: sample_rng(self.seed, epoch, sample),
            self._cache,
        )


def view_of(
    images: ImageSet,
    index: int,
    transform: Transform,
    make_rng: Callable[[], np.random.Generator],
    cache: PictureCache | None = None,
) -> NDArray[np.uint8]:
    """The view of a picture that a transform draws: decoded no finer than this view needs, or taken
    from a cache, which makes no difference to its pixels.

    Args:
        images, index: the picture.
        transform: of it.
        make_rng: gives the view's random numbers, from their start each time it is called.
        cache: of prepared pictures.

    >>> view_of(images, 3, augmentation, lambda: sample_rng(0, 0, 3)).shape      # doctest: +SKIP
    (224, 224, 3)
    """
    size = None if cache is None else cache.sizes.get(index)
    least = None if size is None else transform.min_side(*size, make_rng())
    prepared = None if cache is None or size is None else cache.get(index, least)
    if prepared is None:

        def min_side(width: int, height: int) -> int | None:
            nonlocal size, least
            size, least = (width, height), transform.min_side(width, height, make_rng())
            return least

        image = images.load(index, min_side)
        size = size or image.size  # sets that reduce nothing do not ask
        prepared = transform.prepare(image)
        if cache is not None:
            cache.offer(index, least, size, prepared)
    return transform.draw(prepared, make_rng(), size)


def to_tensor(images: NDArray[np.uint8]) -> Any:
    """A batch (N, H, W, 3) uint8 as an engine tensor of logical shape (N, 3, H, W), without a copy:
    its strides stay those of the array, which is the layout the engine's kernels prefer.

    >>> to_tensor(batch.images).shape      # doctest: +SKIP
    (32, 3, 224, 224)
    """
    from engine import from_numpy

    return from_numpy(images).permute_dims((0, 3, 1, 2))


class _Pending:
    """A batch being filled. Its array is made by the first picture, which knows the size."""

    def __init__(self, indices: NDArray[np.int64], samples: NDArray[np.int64], epoch: int) -> None:
        self.indices = indices
        self.samples = samples  # numbers of the random streams
        self.epoch = epoch
        self.images: NDArray[np.uint8] | None = None
        self._lock = threading.Lock()

    def allocate(self, shape: tuple[int, ...]) -> NDArray[np.uint8]:
        with self._lock:
            if self.images is None:
                self.images = np.empty((len(self.indices), *shape), dtype=np.uint8)
            return self.images


class _Chunk(NamedTuple):
    """Rows `start` to `stop` of a batch: what one thread prepares in one go."""

    batch: _Pending
    start: int
    stop: int


class PictureCache:
    """Prepared pictures, first come, first kept, until `budget` bytes are full.

    Nothing is ever evicted: an epoch visits every picture once, so keeping the latest would find
    none of them again, while keeping the first finds as many as fit.
    """

    def __init__(self, budget: int) -> None:
        self._budget = self._free = budget
        self._lock = threading.Lock()
        self._pictures: dict[tuple[int, int | None], Image.Image] = {}
        self.sizes: dict[int, tuple[int, int]] = {}  # of pictures met, before any reduction

    @property
    def held(self) -> int:
        """Bytes in use."""
        return self._budget - self._free

    def get(self, index: int, least: int | None) -> Image.Image | None:
        """A picture as it is for that least shorter side."""
        return self._pictures.get((index, least))

    def offer(
        self, index: int, least: int | None, full_size: tuple[int, int], picture: Image.Image
    ) -> None:
        """Keep a picture, if there is room."""
        self.sizes[index] = full_size
        needed = picture.width * picture.height * _BYTES_PER_PIXEL
        with self._lock:
            if needed <= self._free and (index, least) not in self._pictures:
                self._pictures[index, least] = picture
                self._free -= needed
