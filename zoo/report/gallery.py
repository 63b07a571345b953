"""Pictures beside where a model looked, for notebooks: one PNG that any viewer shows."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import overload

import numpy as np
from numpy.typing import NDArray

from zoo.report.pictures import heat_image, scaled

_COLUMNS = 6  # pairs of picture and heat in a row
_RIGHT, _WRONG = "#1b998b", "#d1495b"


@dataclass(frozen=True)
class Shown:
    """One labelled picture and what a model said of it.

    Attributes:
        name: of the picture.
        label, said: its class, and the one that the model gives it.
        confidence: probability of the class that the model gives, 0 to 1.
        square: (H, W, 3) uint8, the picture as the model sees it.
        heat: (h, w) float32, 0 to 1, where the model looked for that class (Grad-CAM); None for a
            model without maps.
    """

    name: str
    label: str
    said: str
    confidence: float
    square: NDArray[np.uint8] = field(repr=False)
    heat: NDArray[np.float32] | None = field(repr=False)


class Gallery(Sequence[Shown]):
    """Pictures in a grid, each beside its heat. A notebook shows it; elsewhere `png()` has the
    bytes of the file.

    >>> gallery = result.validation.mistakes()                     # doctest: +SKIP
    >>> gallery[0].label, gallery[0].said                          # doctest: +SKIP
    ('bishop', 'pawn')
    >>> Path("mistakes.png").write_bytes(gallery.png())            # doctest: +SKIP
    """

    def __init__(self, shown: Sequence[Shown], title: str) -> None:
        self._shown = tuple(shown)
        self.title = title

    def __len__(self) -> int:
        return len(self._shown)

    def __iter__(self) -> Iterator[Shown]:
        return iter(self._shown)

    @overload
    def __getitem__(self, index: int) -> Shown: ...
    @overload
    def __getitem__(self, index: slice) -> Gallery: ...
    def __getitem__(self, index: int | slice) -> Shown | Gallery:
        if isinstance(index, slice):
            return Gallery(self._shown[index], self.title)
        return self._shown[index]

    def __repr__(self) -> str:
        return f"<{self.title}: {len(self)} pictures>"

    def _repr_png_(self) -> bytes | None:
        return self.png() if self._shown else None

    def png(self) -> bytes:
        """The grid as a PNG file. Matplotlib loads when it is called.

        Raises:
            ValueError: there is no picture to show.
        """
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        if not self._shown:
            raise ValueError(f"{self.title}: no picture to show")
        columns = min(len(self), _COLUMNS)
        rows = -(-len(self) // columns)
        figure = Figure(figsize=(1.9 * columns, 1.35 * rows + 0.35), dpi=72, layout="constrained")
        FigureCanvasAgg(figure)  # not pyplot: no display, no global state
        figure.suptitle(self.title, x=0.01, ha="left", fontsize=10)
        grid = figure.subplots(rows, columns, squeeze=False)
        for axes in grid.flat:
            axes.set_axis_off()
        for axes, one in zip(grid.flat, self._shown, strict=False):
            axes.imshow(_pair(one))
            right = one.said == one.label
            text = f"{one.said} {one.confidence:.0%}" + ("" if right else f"\nis {one.label}")
            axes.set_title(text, fontsize=8, color=_RIGHT if right else _WRONG)
        file = io.BytesIO()
        figure.savefig(file, format="png")
        return file.getvalue()


def _pair(one: Shown) -> NDArray[np.uint8]:
    picture = np.asarray(scaled(one.square))
    if one.heat is None:
        return picture
    gap = np.full((len(picture), 6, 3), 255, np.uint8)
    return np.concatenate([picture, gap, np.asarray(heat_image(one.square, one.heat))], axis=1)
