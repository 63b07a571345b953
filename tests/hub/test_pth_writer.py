"""hub.write_pth: what it writes is read back by our reader and, with marker peer, by PyTorch."""

from __future__ import annotations

import importlib.util
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest

import hub

DTYPES = ("?", "u1", "i1", "i2", "i4", "i8", "f2", "f4", "f8")


def arrays() -> dict[str, np.ndarray]:
    draw = np.random.default_rng(0)
    found = {f"of.{name}": (draw.standard_normal((3, 4)) * 9).astype(name) for name in DTYPES}
    found["bf16"] = np.array([0x3FC0, 0xC000], np.uint16).view(hub.BFLOAT16)
    found |= {"number": np.array(7), "empty": np.empty((0, 3), "f4"), "имя": np.ones(1, "f4")}
    return found | {"turned": draw.standard_normal((4, 5)).astype("f4").T}


def test_our_reader_gives_everything_back(tmp_path: Path) -> None:
    given = arrays()
    hub.write_pth(tmp_path / "w.pth", given)
    found = hub.read_state_dict(tmp_path / "w.pth", widen_bfloat16=False)
    assert list(found) == list(given)
    for name, array in given.items():
        assert found[name].dtype == array.dtype and found[name].shape == array.shape, name
        assert found[name].tobytes() == array.tobytes(), name


def test_arrays_are_mapped_not_copied_because_they_are_aligned(tmp_path: Path) -> None:
    hub.write_pth(tmp_path / "w.pth", arrays())
    with zipfile.ZipFile(tmp_path / "w.pth") as archive:
        for info in archive.infolist():
            start = info.header_offset + 30 + len(info.filename.encode()) + len(info.extra)
            assert start % 64 == 0 and info.compress_type == zipfile.ZIP_STORED
        assert archive.testzip() is None


def test_equal_input_gives_equal_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        hub.write_pth(tmp_path / name, arrays())
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_dtype_that_the_format_lacks_is_refused_and_nothing_written(tmp_path: Path) -> None:
    with pytest.raises(hub.UnsupportedFormat, match="'w' has dtype uint16.*expected one of F64"):
        hub.write_pth(tmp_path / "w.pth", {"w": np.zeros(2, np.uint16)})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.peer
def test_torch_loads_it_without_running_anything(tmp_path: Path) -> None:
    if importlib.util.find_spec("torch") is None:
        if os.environ.get("ZOO_REQUIRE_PEERS") == "1":
            pytest.fail("torch is not installed, and ZOO_REQUIRE_PEERS=1 asks for it")
        pytest.skip("torch is not installed")
    import torch

    given = arrays()
    hub.write_pth(tmp_path / "w.pth", given)
    for mapped in (False, True):
        found = torch.load(tmp_path / "w.pth", weights_only=True, mmap=mapped)
        assert found["bf16"].tolist() == [1.5, -2.0] and found["bf16"].dtype == torch.bfloat16
        for name in given.keys() - {"bf16"}:
            assert np.array_equal(found[name].numpy(), given[name]), name
