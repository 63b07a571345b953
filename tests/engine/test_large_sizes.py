"""Tensors of more than 2^31 elements: counts and offsets that no 32-bit number holds.

    python -m pytest -m slow tests/engine/test_large_sizes.py      # takes 5 GB of memory and disk

uint8, so that one takes 2.2 GB; each test frees what it made before the next begins.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import engine
import hub

pytestmark = pytest.mark.slow
ROWS, COLUMNS = 33_000, 65_600  # 2^31 + 17,316,352
COUNT = ROWS * COLUMNS
# Elements on both sides of 2^31, and the last.
PLACES = (0, 2**31 - 1, 2**31, 2**31 + 1, COUNT - 1)


@pytest.fixture
def large() -> Iterator[engine.Tensor]:
    """(ROWS, COLUMNS) of 0, but for 1, 2, 3, ... at PLACES."""
    x = engine.zeros((COUNT,), dtype=engine.uint8)
    for value, place in enumerate(PLACES, 1):
        x[place] = value
    yield x.reshape((ROWS, COLUMNS))
    del x
    gc.collect()
    engine.empty_cache()


def at(place: int) -> tuple[int, int]:
    return divmod(place, COLUMNS)


def test_single_elements(large: engine.Tensor) -> None:
    assert COUNT > 2**31
    assert [int(large[at(place)]) for place in PLACES] == [1, 2, 3, 4, 5]
    flat = large.reshape((-1,))
    assert flat.shape == (COUNT,) and int(flat[-1]) == 5 and int(flat[2**31]) == 3
    large[at(2**31 + 7)] = 9
    assert int(flat[2**31 + 7]) == 9


def test_parts(large: engine.Tensor) -> None:
    row = large[2**31 // COLUMNS]
    assert row.numpy().sum() == 2 + 3 + 4
    last = large.reshape((-1,))[2**31 - 2 :]
    assert last.shape == (COUNT - 2**31 + 2,)
    assert last[:5].numpy().tolist() == [0, 2, 3, 4, 0]
    stepped = large.reshape((-1,))[:: 2**31]
    assert stepped.numpy().tolist() == [1, 3]
    assert int(large.mT[at(2**31)[1], at(2**31)[0]]) == 3


def test_indices_behind_2_to_the_31(large: engine.Tensor) -> None:
    picked = engine.take(large.reshape((-1,)), engine.asarray(list(PLACES)))
    assert picked.numpy().tolist() == [1, 2, 3, 4, 5]


def test_copies(large: engine.Tensor) -> None:
    copy = large.clone()
    assert [int(copy[at(place)]) for place in PLACES] == [1, 2, 3, 4, 5]
    large[at(COUNT - 1)] = 0
    assert int(copy[at(COUNT - 1)]) == 5


def test_reductions(large: engine.Tensor) -> None:
    assert int(large.sum()) == 15
    assert int(large.max()) == 5
    assert int(engine.argmax(large)) == COUNT - 1
    rows = large.sum(axis=1).numpy()
    assert rows.sum() == 15 and rows[-1] == 5 and rows.shape == (ROWS,)
    columns = large.sum(axis=0).numpy()
    assert columns.sum() == 15 and columns[at(2**31)[1]] >= 3
    assert int(engine.count_nonzero(large)) == 5


def test_elementwise_in_place(large: engine.Tensor) -> None:
    large += engine.asarray(1, dtype=engine.uint8)
    assert [int(large[at(place)]) for place in PLACES] == [2, 3, 4, 5, 6]
    assert int(large.sum()) == COUNT + 15


def test_saved_and_mapped(large: engine.Tensor, tmp_path: Path) -> None:
    path = tmp_path / "large.safetensors"
    hub.write_safetensors(path, {"x": large.numpy()}, {})
    assert path.stat().st_size > 2**31
    mapped = hub.read_safetensors(path)[0]["x"]
    assert [int(mapped[at(place)]) for place in PLACES] == [1, 2, 3, 4, 5]
    back = engine.from_numpy(np.asarray(mapped))
    assert int(back[at(COUNT - 1)]) == 5
    path.unlink()
