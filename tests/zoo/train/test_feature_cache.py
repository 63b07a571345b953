"""Features computed once: found by content, whole or not at all, within a limit."""

from __future__ import annotations

import os

import numpy as np
import pytest

from zoo.train.feature_cache import FeatureCache


def names(count, view=0):
    return [(bytes([i]) * 32, view) for i in range(count)]


def values(count, seed=0):
    return np.random.default_rng(seed).standard_normal((count, 5)).astype(np.float32)


@pytest.fixture
def filled(tmp_path):
    """A folder with four features of one key."""
    cache = FeatureCache(tmp_path, "key", limit=10**6)
    cache.add(names(4), values(4))
    cache.flush()
    return tmp_path


def segment_of(folder):
    (path,) = (folder / "key").glob("*.safetensors")
    return path


def test_features_are_found_again_in_any_order(filled):
    cache = FeatureCache(filled, "key", limit=10**6)
    order = [2, 0, 3]
    assert np.array_equal(cache.rows([names(4)[i] for i in order]), values(4)[order])


def test_other_keys_and_other_views_do_not_find_them(filled):
    assert names(4)[0] not in FeatureCache(filled, "other", limit=10**6)
    assert names(4, view=1)[0] not in FeatureCache(filled, "key", limit=10**6)


def test_features_on_the_disk_are_read_through_a_map(filled):
    cache = FeatureCache(filled, "key", limit=10**6)
    (segment,) = cache._segments.values()
    assert isinstance(segment.base if segment.base is not None else segment, np.memmap) or (
        not segment.flags.owndata
    )


def test_what_is_not_flushed_is_there_but_not_on_the_disk(tmp_path):
    cache = FeatureCache(tmp_path, "key", limit=10**6)
    cache.add(names(2), values(2))
    assert np.array_equal(cache.rows(names(2)), values(2))
    assert names(2)[0] not in FeatureCache(tmp_path, "key", limit=10**6)


@pytest.mark.parametrize("where", ["digests", "views", "sums", "features"])
def test_a_flipped_bit_costs_its_row_only(filled, where):
    import hub

    path = segment_of(filled)
    arrays = {k: np.array(v) for k, v in hub.read_safetensors(path)[0].items()}
    arrays[where].reshape(4, -1).view(np.uint8)[1, 0] ^= 4
    hub.write_safetensors(path, arrays, {})
    cache = FeatureCache(filled, "key", limit=10**6)
    assert cache.damaged == 1
    kept = [name in cache for name in names(4)]
    assert kept == [True, False, True, True]
    others = [0, 2, 3]
    assert np.array_equal(cache.rows([names(4)[i] for i in others]), values(4)[others])


@pytest.mark.parametrize("content", [b"", b"\x00" * 100, None])
def test_a_segment_that_is_no_segment_is_removed(filled, content):
    path = segment_of(filled)
    path.write_bytes(path.read_bytes()[:-3] if content is None else content)
    cache = FeatureCache(filled, "key", limit=10**6)
    assert cache.damaged == 1 and names(4)[0] not in cache
    assert not path.exists()


def test_keys_used_longest_ago_go_when_the_limit_is_reached(tmp_path):
    size = None
    for age, key in ((300, "old"), (200, "middle"), (100, "new")):
        cache = FeatureCache(tmp_path, key, limit=10**6)
        cache.add(names(4), values(4))
        cache.flush()
        size = sum(p.stat().st_size for p in (tmp_path / key).iterdir())
        os.utime(tmp_path / key, (10**9 - age, 10**9 - age))
    FeatureCache(tmp_path, "old", limit=10**6)  # used again: now the newest
    cache = FeatureCache(tmp_path, "newest", limit=3 * size)
    cache.add(names(4), values(4))
    cache.flush()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["new", "newest", "old"]


def test_what_is_over_the_limit_by_itself_stays_in_memory(tmp_path):
    cache = FeatureCache(tmp_path, "key", limit=10)
    cache.add(names(4), values(4))
    cache.flush()
    assert np.array_equal(cache.rows(names(4)), values(4))
    assert not list(tmp_path.rglob("*.safetensors"))


def test_a_folder_that_cannot_be_written_costs_the_reuse_only(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    cache = FeatureCache(blocked, "key", limit=10**6)
    cache.add(names(2), values(2))
    cache.flush()
    assert np.array_equal(cache.rows(names(2)), values(2))


def test_many_segments_become_one(tmp_path):
    cache = FeatureCache(tmp_path, "key", limit=10**6)
    for i in range(18):
        cache.add([(bytes([i]) * 32, 0)], values(1, seed=i))
        cache.flush()
    assert len(list((tmp_path / "key").glob("*.safetensors"))) <= 2
    again = FeatureCache(tmp_path, "key", limit=10**6)
    for source in (cache, again):
        for i in range(18):
            assert np.array_equal(source.rows([(bytes([i]) * 32, 0)]), values(1, seed=i))
