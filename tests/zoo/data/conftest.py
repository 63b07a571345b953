"""Small picture files, made on the spot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image


class PictureMaker:
    """Writes pictures under a folder; every picture has a content of its own unless given one."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._made = 0

    def __call__(
        self, name: str, image: Image.Image | None = None, format: str | None = None, **save: Any
    ) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if image is None:
            image = self.noise()
        image.save(path, format, **save)
        return path

    def noise(self, width: int = 48, height: int = 40) -> Image.Image:
        """A new picture of smooth random colours."""
        self._made += 1
        coarse = np.random.default_rng(self._made).integers(0, 256, (5, 6, 3), dtype=np.uint8)
        return Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC)

    def classes(self, counts: dict[str, int], part: str = "") -> Path:
        """PNG files `part/class/NN.png` with these counts; returns the root."""
        for name, count in counts.items():
            for i in range(count):
                self(f"{part}/{name}/{i:02}.png".lstrip("/"))
        return self.root


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache folder of each test, empty at first."""
    home = tmp_path_factory.mktemp("zoo-home")
    monkeypatch.setenv("ZOO_HOME", str(home))
    return home


@pytest.fixture
def picture(tmp_path: Path) -> PictureMaker:
    return PictureMaker(tmp_path / "data")
