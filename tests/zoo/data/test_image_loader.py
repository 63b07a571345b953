"""The loader: the same batches whatever the threads, cache or starting point; clean ends."""

from __future__ import annotations

import functools
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from zoo.data import (
    ArrayImages,
    FolderImages,
    Loader,
    LoaderError,
    Picture,
    Preprocessing,
    TrainAugmentation,
    UnreadableImage,
    prepare_folder,
    to_tensor,
)
from zoo.data.loader import Batch, epoch_batches, view_of
from zoo.data.threads import THREAD_NAME, default_threads, ordered_map
from zoo.data.transforms import sample_rng

PREPROCESSING = Preprocessing(size=16, resize=20)
AUGMENTATION = TrainAugmentation(PREPROCESSING)


def array_images(n: int = 37) -> ArrayImages:
    images = np.random.default_rng(0).integers(0, 256, (n, 24, 30, 3), np.uint8)
    return ArrayImages(images, np.arange(n) % 5, list("abcde"))


def loader(images: Any = None, **options: Any) -> Loader:
    options = {"training": True, "seed": 3, "threads": 2, **options}
    return Loader(images or array_images(), AUGMENTATION, 8, **options)


def assert_same(found: list[Batch], expected: list[Batch]) -> None:
    assert len(found) == len(expected) > 0
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one.images, other.images)
        np.testing.assert_array_equal(one.labels, other.labels)
        np.testing.assert_array_equal(one.indices, other.indices)


def live_threads() -> list[str]:
    return [t.name for t in threading.enumerate() if t.name.startswith(THREAD_NAME)]


class SlowOrBroken(ArrayImages):
    """Counts loads; may be slow, and fails at one index."""

    def __init__(self, n: int = 40, seconds: float = 0.0, fail_at: int | None = None) -> None:
        base = array_images(n)
        super().__init__(base.images, base.labels, base.classes)
        self.seconds, self.fail_at, self.loads = seconds, fail_at, 0

    def load(self, index: int, min_side: Any = None) -> Image.Image:
        self.loads += 1
        time.sleep(self.seconds)
        if index == self.fail_at:
            raise ZeroDivisionError("planted")
        return super().load(index, min_side)


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("cache_bytes", [0, 3 * 24 * 30 * 4, 1 << 20], ids=str)
def test_threads_and_cache_do_not_change_the_batches(threads: int, cache_bytes: int) -> None:
    reference = loader(threads=1, cache_bytes=0)
    tested = loader(threads=threads, cache_bytes=cache_bytes)
    for epoch in (0, 1):
        assert_same(list(tested.epoch(epoch)), list(reference.epoch(epoch)))


@pytest.mark.parametrize("start", [1, 3])
def test_resuming_within_an_epoch_gives_the_same_batches(start: int) -> None:
    assert_same(list(loader().epoch(2, start_batch=start)), list(loader().epoch(2))[start:])


def test_resuming_after_the_last_batch_gives_none() -> None:
    tested = loader()
    assert list(tested.epoch(0, start_batch=len(tested))) == []


def test_epochs_and_seeds_differ_in_order_and_views() -> None:
    first = next(loader().epoch(0))
    for other in (next(loader().epoch(1)), next(loader(seed=4).epoch(0))):
        assert first.indices.tolist() != other.indices.tolist()


def test_one_sample_gets_another_view_each_epoch() -> None:
    views = []
    for epoch in (0, 1):
        batches = list(loader().epoch(epoch))
        images = np.concatenate([b.images for b in batches])
        indices = np.concatenate([b.indices for b in batches])
        views.append(images[indices == 5][0])
    assert not np.array_equal(*views)


def test_every_sample_comes_once_an_epoch_with_its_label() -> None:
    images = array_images()
    batches = list(loader(images).epoch(0))
    indices = np.concatenate([b.indices for b in batches])
    assert sorted(indices) == list(range(37))
    np.testing.assert_array_equal(
        np.concatenate([b.labels for b in batches]), images.labels[indices]
    )


def test_a_batch_is_uint8_pictures_and_int64_labels() -> None:
    batch = next(loader().epoch(0))
    assert (batch.images.shape, batch.images.dtype) == ((8, 16, 16, 3), np.uint8)
    assert batch.images.flags.c_contiguous
    assert batch.labels.dtype == batch.indices.dtype == np.int64


def test_evaluation_keeps_the_order_and_applies_the_preprocessing() -> None:
    images = array_images(9)
    tested = Loader(images, PREPROCESSING, 4, threads=2)
    for _ in range(2):  # the second time from the cache
        batches = list(tested.epoch())
        assert [b.indices.tolist() for b in batches] == [[0, 1, 2, 3], [4, 5, 6, 7], [8]]
        for batch in batches:
            for view, index in zip(batch.images, batch.indices, strict=True):
                expected = PREPROCESSING.apply(images.load(int(index)))
                np.testing.assert_array_equal(view, expected)


@pytest.mark.parametrize(
    ("count", "sizes"), [(33, [33]), (34, [32, 2]), (65, [32, 33]), (1, [1]), (64, [32, 32])]
)
def test_c01_a_last_batch_of_one_is_merged_in_training(count: int, sizes: list[int]) -> None:
    batches = epoch_batches(count, 32, training=True)
    assert [len(b) for b in batches] == sizes
    assert sorted(np.concatenate(batches)) == list(range(count))


def test_c01_the_merged_batch_is_delivered_whole() -> None:
    tested = loader(array_images(33))
    sizes = [len(b.images) for b in tested.epoch(0)]
    assert sizes == [8, 8, 8, 9]
    assert len(tested) == 4


def test_evaluation_does_not_merge() -> None:
    assert [len(b) for b in epoch_batches(33, 32, training=False)] == [32, 1]


def test_a_batch_size_of_one_stays_one() -> None:
    assert [len(b) for b in epoch_batches(3, 1, training=True)] == [1, 1, 1]


def test_an_empty_set_has_no_batches() -> None:
    assert epoch_batches(0, 4, training=True) == []


def test_the_order_is_uniform() -> None:
    first = [int(epoch_batches(4, 4, training=True, epoch=e)[0][0]) for e in range(2000)]
    assert np.abs(np.bincount(first, minlength=4) / 2000 - 0.25).max() < 0.04


def test_a_failure_in_a_thread_names_the_picture_and_leaves_no_thread() -> None:
    tested = loader(SlowOrBroken(fail_at=11))
    with pytest.raises(LoaderError, match="image 11: planted") as caught:
        list(tested.epoch(0))
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert live_threads() == []


def test_batches_before_a_failure_are_delivered() -> None:
    images = SlowOrBroken(fail_at=20)
    tested = Loader(images, PREPROCESSING, 8, threads=2)
    delivered = 0
    with pytest.raises(LoaderError):
        for _ in tested.epoch():
            delivered += 1
    assert delivered == 2


def test_a05_a_file_that_breaks_after_the_audit_is_named_by_path(picture: Any) -> None:
    prepared = prepare_folder(picture.classes({"a": 4, "b": 4}))
    victim = Path(prepared.train.pictures[3].path)
    victim.write_bytes(victim.read_bytes()[:60])
    with pytest.raises(UnreadableImage) as caught:
        list(loader(prepared.train).epoch(0))
    assert caught.value.path == str(victim)


def test_leaving_the_loop_and_the_context_leaves_no_thread() -> None:
    with loader(SlowOrBroken(seconds=0.005)) as tested:
        for _ in tested.epoch(0):
            break
    assert live_threads() == []


def test_closing_stops_iteration_that_is_still_held() -> None:
    tested = loader(SlowOrBroken(seconds=0.005))
    batches = tested.epoch(0)
    next(batches)
    assert live_threads() != []
    tested.close()
    assert live_threads() == []
    assert list(batches) == []


def test_an_exception_in_the_loop_leaves_no_thread() -> None:
    with pytest.raises(KeyboardInterrupt):
        with loader(SlowOrBroken(seconds=0.005)) as tested:
            for _ in tested.epoch(0):
                raise KeyboardInterrupt
    assert live_threads() == []


def test_closing_drops_work_that_has_not_begun() -> None:
    images = SlowOrBroken(n=400, seconds=0.005)
    with loader(images, prefetch=20) as tested:
        next(tested.epoch(0))
    assert images.loads < 40


def test_look_ahead_is_bounded() -> None:
    images = SlowOrBroken(n=400)
    tested = loader(images, prefetch=2)
    batches = tested.epoch(0)
    next(batches)
    time.sleep(0.3)
    assert 8 < images.loads <= 8 * (1 + 2 + 1)
    tested.close()


def test_the_cache_saves_decoding_from_the_second_epoch_on() -> None:
    images = SlowOrBroken()
    tested = loader(images)
    for epoch in range(3):
        list(tested.epoch(epoch))
    assert images.loads == 40


def test_a_full_cache_keeps_what_it_has() -> None:
    images = SlowOrBroken()
    tested = loader(images, cache_bytes=10 * 24 * 30 * 4)
    for epoch in range(3):
        list(tested.epoch(epoch))
    assert images.loads == 40 + 2 * 30


def test_batches_are_never_written_again() -> None:
    kept, copies = [], []
    for batch in loader().epoch(0):
        kept.append(batch.images)
        copies.append(batch.images.copy())
    for array, copy in zip(kept, copies, strict=True):
        np.testing.assert_array_equal(array, copy)


@pytest.fixture
def photos(picture: Any) -> FolderImages:
    """Eight JPEGs of 640x480, one of them turned."""
    exif = Image.Exif()
    exif[0x0112] = 6
    paths = [picture(f"{c}/{i}.jpg", picture.noise(640, 480)) for c in "ab" for i in range(4)]
    picture("a/1.jpg", picture.noise(640, 480), exif=exif)
    pictures = [Picture(str(p), p.name, p.parent.name) for p in paths]
    return FolderImages(pictures, ["a", "b"], {})


def test_large_camera_files_give_the_same_views_with_and_without_cache(
    photos: FolderImages,
) -> None:
    cached, plain = loader(photos), loader(photos, cache_bytes=0)
    for epoch in range(4):
        assert_same(list(cached.epoch(epoch)), list(plain.epoch(epoch)))


def test_views_of_reduced_pictures_are_those_of_whole_ones_within_a_bound(
    photos: FolderImages, monkeypatch: pytest.MonkeyPatch
) -> None:
    augmentation = TrainAugmentation(Preprocessing(size=64, resize=64), scale=(0.2, 1.0))
    reduced, whole = [], []
    asked: list[int] = []
    with monkeypatch.context() as patch:
        for i in range(len(photos)):
            rng = functools.partial(sample_rng, 0, 0, i)
            reduced.append(view_of(photos, i, augmentation, rng))
            asked.append(augmentation.min_side(640, 480, rng()) or 480)
        patch.setattr(TrainAugmentation, "min_side", lambda *_: None)
        for i in range(len(photos)):
            whole.append(view_of(photos, i, augmentation, functools.partial(sample_rng, 0, 0, i)))
    assert min(asked) <= 120  # decoded at a quarter, or less
    difference = np.abs(np.stack(reduced).astype(int) - np.stack(whole).astype(int))
    assert difference.max() > 0
    assert difference.mean() < 1.0 and np.percentile(difference, 99) <= 4


@pytest.mark.parametrize("name", ["threads", "prefetch", "seed", "cache_bytes"])
def test_an_argument_out_of_range_is_named(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name}=-1; expected"):
        loader(**{name: -1})


def test_default_threads_follow_the_cpus_this_process_may_use() -> None:
    assert 1 <= default_threads() <= 8


def test_ordered_map_keeps_order_when_later_items_finish_first() -> None:
    def slow_first(i: int) -> int:
        time.sleep(0.05 if i == 0 else 0)
        return i

    assert list(ordered_map(slow_first, range(20), threads=4, ahead=8)) == list(range(20))


def test_ordered_map_takes_no_more_than_it_looks_ahead() -> None:
    taken = []

    def items() -> Any:
        for i in range(100):
            taken.append(i)
            yield i

    results = ordered_map(abs, items(), threads=2, ahead=5)
    next(results)
    assert len(taken) == 5
    results.close()


def test_to_tensor_hands_over_channels_last_without_a_copy() -> None:
    batch = next(loader().epoch(0))
    tensor = to_tensor(batch.images)
    assert tensor.shape == (8, 3, 16, 16)
    assert tensor.is_contiguous(memory_format="channels_last")
    np.testing.assert_array_equal(tensor.numpy(), batch.images.transpose(0, 3, 1, 2))
    assert np.shares_memory(tensor.numpy(), batch.images)
